/*===- transport.c - Messages of MPI -----------------------------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "transport.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Requests under way stand side by side, as MPI_Testsome wants them. */
struct Messages {
  MPI_Comm comm;
  int capacity, active;
  MPI_Request *requests; /* of the active ones */
  int *numbers;          /* likewise: what the caller calls them */
  int *receives;         /* likewise: whether they do */
  int *indices;          /* room for MPI_Testsome */
  MPI_Status *statuses;
  char text[MPI_MAX_ERROR_STRING];
};

static int allGather(void *context, const void *mine, void *all, size_t bytes) {
  struct Messages *messages = context;
  return bytes > INT_MAX ||
         MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
                       messages->comm) != MPI_SUCCESS;
}

/* Makes `*array` longer; returns whether there is memory. */
static int grow(void **array, size_t count, size_t size) {
  void *longer = realloc(*array, count * size);
  if (longer)
    *array = longer;
  return longer != NULL;
}

static int reserve(void *context, int numRequests) {
  struct Messages *messages = context;
  size_t count = (size_t)numRequests;
  if (numRequests <= messages->capacity)
    return 0;
  if (!grow((void **)&messages->requests, count, sizeof(MPI_Request)) ||
      !grow((void **)&messages->numbers, count, sizeof(int)) ||
      !grow((void **)&messages->receives, count, sizeof(int)) ||
      !grow((void **)&messages->indices, count, sizeof(int)) ||
      !grow((void **)&messages->statuses, count, sizeof(MPI_Status)))
    return MPI_ERR_NO_MEM;
  messages->capacity = numRequests;
  return 0;
}

static int note(struct Messages *messages, int request, int receives,
                int error) {
  if (error != MPI_SUCCESS)
    return error;
  messages->numbers[messages->active] = request;
  messages->receives[messages->active] = receives;
  ++messages->active;
  return 0;
}

static int sendMessage(void *context, int request, const void *data,
                       size_t bytes, int peer, int tag) {
  struct Messages *messages = context;
  if (bytes > INT_MAX)
    return MPI_ERR_COUNT;
  return note(messages, request, 0,
              MPI_Isend(data, (int)bytes, MPI_BYTE, peer, tag, messages->comm,
                        &messages->requests[messages->active]));
}

static int sendAsking(void *context, int request, const void *data,
                      size_t bytes, int peer, int tag) {
  struct Messages *messages = context;
  if (bytes > INT_MAX)
    return MPI_ERR_COUNT;
  return note(messages, request, 0,
              MPI_Issend(data, (int)bytes, MPI_BYTE, peer, tag, messages->comm,
                         &messages->requests[messages->active]));
}

static int receiveMessage(void *context, int request, void *data, size_t bytes,
                          int peer, int tag) {
  struct Messages *messages = context;
  if (bytes > INT_MAX)
    return MPI_ERR_COUNT;
  return note(messages, request, 1,
              MPI_Irecv(data, (int)bytes, MPI_BYTE,
                        peer == SCCL_ANY_RANK ? MPI_ANY_SOURCE : peer, tag,
                        messages->comm, &messages->requests[messages->active]));
}

static void report(const struct Messages *messages, int index, int error,
                   MPI_Status *status, scclCompletion *ended) {
  int bytes = 0;
  ended->request = messages->numbers[index];
  ended->error = error;
  ended->peer = status->MPI_SOURCE;
  if (error == MPI_SUCCESS && messages->receives[index])
    MPI_Get_count(status, MPI_BYTE, &bytes);
  ended->bytes = (size_t)bytes;
}

/* Closes the gaps of those that have ended. */
static void removeEnded(struct Messages *messages) {
  int kept = 0;
  for (int i = 0; i < messages->active; ++i) {
    if (messages->numbers[i] < 0)
      continue;
    messages->requests[kept] = messages->requests[i];
    messages->numbers[kept] = messages->numbers[i];
    messages->receives[kept++] = messages->receives[i];
  }
  messages->active = kept;
}

static int pollMessages(void *context, scclCompletion *ended, int most,
                        int *count) {
  struct Messages *messages = context;
  int done = 0, error;
  /* MPI knows no limit to what it returns: test no more than there is room for,
   * other ones each time. */
  int tested = messages->active < most ? messages->active : most;
  *count = 0;
  error = MPI_Testsome(tested, messages->requests, &done, messages->indices,
                       messages->statuses);
  if (error != MPI_SUCCESS && error != MPI_ERR_IN_STATUS)
    return error;
  if (done == MPI_UNDEFINED)
    return 0;
  for (int i = 0; i < done; ++i) {
    int index = messages->indices[i];
    report(messages, index,
           error == MPI_SUCCESS ? MPI_SUCCESS : messages->statuses[i].MPI_ERROR,
           &messages->statuses[i], &ended[(*count)++]);
    messages->numbers[index] = -1;
  }
  if (done > 0)
    removeEnded(messages);
  return 0;
}

static void freeMessages(struct Messages *messages) {
  free(messages->requests);
  free(messages->numbers);
  free(messages->receives);
  free(messages->indices);
  free(messages->statuses);
  free(messages);
}

/* Nobody waits for a peer here: it may be gone. What is still under way keeps
 * its memory. */
static void closeMessages(void *context, int failed) {
  struct Messages *messages = context;
  for (int i = 0; i < messages->active; ++i)
    if (messages->receives[i]) {
      MPI_Cancel(&messages->requests[i]);
      if (!failed)
        MPI_Wait(&messages->requests[i], MPI_STATUS_IGNORE);
    }
  if (failed)
    return;
  MPI_Comm_free(&messages->comm);
  freeMessages(messages);
}

static const char *errorText(void *context, int error) {
  struct Messages *messages = context;
  int length;
  if (MPI_Error_string(error, messages->text, &length) != MPI_SUCCESS)
    return "an unknown error of MPI";
  return messages->text;
}

/* The lowest rank of those that share memory with this one, or -1 if MPI does
 * not say. */
static int hostOf(MPI_Comm comm, int rank) {
  MPI_Comm host;
  int first = rank;
  if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL,
                          &host) != MPI_SUCCESS)
    return -1;
  if (MPI_Bcast(&first, 1, MPI_INT, 0, host) != MPI_SUCCESS)
    first = -1;
  MPI_Comm_free(&host);
  return first;
}

static int splitMessages(void *context, int color, int key,
                         scclTransport *result) {
  struct Messages *messages = context;
  MPI_Comm part;
  scclResult made;
  int error = MPI_Comm_split(messages->comm, color < 0 ? MPI_UNDEFINED : color,
                             key, &part);
  if (error != MPI_SUCCESS || color < 0)
    return error;
  made = scclMpiTransport(part, result);
  MPI_Comm_free(&part);
  return made == scclSuccess ? MPI_SUCCESS : MPI_ERR_OTHER;
}

scclResult scclMpiTransport(MPI_Comm comm, scclTransport *transport) {
  int isReady = 0, isFinished = 0, hasLimit = 0, *limit = NULL;
  int threads = MPI_THREAD_SINGLE;
  struct Messages *messages;
  memset(transport, 0, sizeof(*transport));
  if (MPI_Initialized(&isReady) != MPI_SUCCESS || !isReady ||
      MPI_Finalized(&isFinished) != MPI_SUCCESS || isFinished)
    return scclErrorInvalidArgument;
  messages = calloc(1, sizeof(*messages));
  if (!messages)
    return scclErrorOutOfMemory;
  if (MPI_Comm_dup(comm, &messages->comm) != MPI_SUCCESS) {
    freeMessages(messages);
    return scclErrorSystem;
  }
  MPI_Comm_set_errhandler(messages->comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(messages->comm, &transport->rank);
  MPI_Comm_size(messages->comm, &transport->numRanks);
  transport->host = hostOf(messages->comm, transport->rank);
  MPI_Comm_get_attr(messages->comm, MPI_TAG_UB, &limit, &hasLimit);
  transport->size = sizeof(*transport);
  transport->context = messages;
  transport->numTags = hasLimit && *limit < INT_MAX ? *limit + 1 : 32768;
  transport->allGather = allGather;
  transport->reserve = reserve;
  transport->send = sendMessage;
  transport->sendAsking = sendAsking;
  transport->receive = receiveMessage;
  transport->poll = pollMessages;
  transport->close = closeMessages;
  transport->errorText = errorText;
  transport->split = splitMessages;
  MPI_Query_thread(&threads);
  transport->anyThread = threads == MPI_THREAD_MULTIPLE;
  return scclSuccess;
}
