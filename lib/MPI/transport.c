/*===- transport.c - Messages of MPI -----------------------------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "transport.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Errors that are not of MPI, whose own are positive. */
enum { transportFinalized = -2 };

/* Requests under way stand side by side, as MPI_Testsome wants them. */
struct Messages {
  MPI_Comm comm;
  double limit;    /* seconds that an all-gather may take */
  int isStuck;     /* one has taken longer, and is still under way */
  int hasThreads;  /* MPI_THREAD_MULTIPLE */
  int isFinalized; /* MPI_Finalize was called: MPI must not be used any more */
  struct Messages *next, **previous; /* of all that are open */
  int capacity, active;
  MPI_Request *requests; /* of the active ones */
  int *numbers;          /* likewise: what the caller calls them */
  int *receives;         /* likewise: whether they do */
  int *indices;          /* room for MPI_Testsome */
  MPI_Status *statuses;
  char text[MPI_MAX_ERROR_STRING];
};

/* What comes late is not to overwrite what the caller has freed. */
static int allGather(void *context, const void *mine, void *all, size_t bytes) {
  struct Messages *messages = context;
  MPI_Request request;
  char *room;
  int size, error;
  if (messages->isFinalized || messages->isStuck)
    return messages->isStuck ? SCCL_ERROR_LATE : transportFinalized;
  MPI_Comm_size(messages->comm, &size);
  if (bytes > INT_MAX)
    return MPI_ERR_COUNT;
  room = malloc(bytes * ((size_t)size + 1));
  if (!room)
    return MPI_ERR_NO_MEM;
  memcpy(room, mine, bytes);
  error = MPI_Iallgather(room, (int)bytes, MPI_BYTE, room + bytes, (int)bytes,
                         MPI_BYTE, messages->comm, &request);
  if (error == MPI_SUCCESS)
    error = scclMpiAwait(&request, messages->limit);
  if (error == MPI_SUCCESS)
    memcpy(all, room + bytes, bytes * (size_t)size);
  messages->isStuck = error != MPI_SUCCESS;
  if (!messages->isStuck)
    free(room);
  return error;
}

/* MPICH raises errors of requests on MPI_COMM_WORLD, whatever communicator they
 * are of. There they would end the job; meanwhile they are returned. Only with
 * MPI_THREAD_MULTIPLE others may be here. */
#ifdef MPICH_VERSION
static pthread_mutex_t heldLock = PTHREAD_MUTEX_INITIALIZER;
static unsigned numHeld;
static MPI_Errhandler heldHandler;

static void holdErrors(const struct Messages *messages) {
  if (messages->hasThreads)
    pthread_mutex_lock(&heldLock);
  if (numHeld++ == 0) {
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &heldHandler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }
  if (messages->hasThreads)
    pthread_mutex_unlock(&heldLock);
}

static void releaseErrors(const struct Messages *messages) {
  if (messages->hasThreads)
    pthread_mutex_lock(&heldLock);
  if (--numHeld == 0) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, heldHandler);
    MPI_Errhandler_free(&heldHandler);
  }
  if (messages->hasThreads)
    pthread_mutex_unlock(&heldLock);
}
#else
static void holdErrors(const struct Messages *messages) { (void)messages; }
static void releaseErrors(const struct Messages *messages) { (void)messages; }
#endif

/* Transports that are open. MPI_Finalize begins by deleting the attributes of
 * MPI_COMM_SELF, one of which is here for that. */
static pthread_mutex_t openLock = PTHREAD_MUTEX_INITIALIZER;
static struct Messages *firstOpen;
static int finalizeKey = MPI_KEYVAL_INVALID;

static void removeOpen(struct Messages *messages) {
  *messages->previous = messages->next;
  if (messages->next)
    messages->next->previous = messages->previous;
}

static void cancelReceives(struct Messages *messages, int awaits);

static int closeAll(MPI_Comm comm, int key, void *value, void *extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  pthread_mutex_lock(&openLock);
  for (; firstOpen; firstOpen = firstOpen->next) {
    cancelReceives(firstOpen, /*awaits=*/0);
    firstOpen->isFinalized = 1;
  }
  pthread_mutex_unlock(&openLock);
  return MPI_SUCCESS;
}

static void addOpen(struct Messages *messages) {
  pthread_mutex_lock(&openLock);
  if (finalizeKey == MPI_KEYVAL_INVALID &&
      MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, closeAll, &finalizeKey,
                             NULL) == MPI_SUCCESS)
    MPI_Comm_set_attr(MPI_COMM_SELF, finalizeKey, NULL);
  messages->next = firstOpen;
  messages->previous = &firstOpen;
  if (firstOpen)
    firstOpen->previous = &messages->next;
  firstOpen = messages;
  pthread_mutex_unlock(&openLock);
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
  if (bytes > INT_MAX || messages->isFinalized)
    return messages->isFinalized ? transportFinalized : MPI_ERR_COUNT;
  return note(messages, request, 0,
              MPI_Isend(data, (int)bytes, MPI_BYTE, peer, tag, messages->comm,
                        &messages->requests[messages->active]));
}

static int sendAsking(void *context, int request, const void *data,
                      size_t bytes, int peer, int tag) {
  struct Messages *messages = context;
  if (bytes > INT_MAX || messages->isFinalized)
    return messages->isFinalized ? transportFinalized : MPI_ERR_COUNT;
  return note(messages, request, 0,
              MPI_Issend(data, (int)bytes, MPI_BYTE, peer, tag, messages->comm,
                         &messages->requests[messages->active]));
}

static int receiveMessage(void *context, int request, void *data, size_t bytes,
                          int peer, int tag) {
  struct Messages *messages = context;
  if (bytes > INT_MAX || messages->isFinalized)
    return messages->isFinalized ? transportFinalized : MPI_ERR_COUNT;
  return note(messages, request, 1,
              MPI_Irecv(data, (int)bytes, MPI_BYTE,
                        peer == SCCL_ANY_RANK ? MPI_ANY_SOURCE : peer, tag,
                        messages->comm, &messages->requests[messages->active]));
}

/* A message that was too long is no error of MPI, but one of the caller's. */
static void report(const struct Messages *messages, int index, int error,
                   MPI_Status *status, scclCompletion *ended) {
  int bytes = 0, class = MPI_SUCCESS;
  if (error != MPI_SUCCESS)
    MPI_Error_class(error, &class);
  ended->request = messages->numbers[index];
  ended->error = class == MPI_ERR_TRUNCATE ? 0 : error;
  ended->peer = status->MPI_SOURCE;
  if (error == MPI_SUCCESS && messages->receives[index])
    MPI_Get_count(status, MPI_BYTE, &bytes);
  ended->bytes = class == MPI_ERR_TRUNCATE ? SIZE_MAX : (size_t)bytes;
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
  if (messages->isFinalized)
    return transportFinalized;
  if (most == 0)
    return 0;
  holdErrors(messages);
  error = MPI_Testsome(tested, messages->requests, &done, messages->indices,
                       messages->statuses);
  releaseErrors(messages);
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
static void cancelReceives(struct Messages *messages, int awaits) {
  holdErrors(messages);
  for (int i = 0; i < messages->active; ++i)
    if (messages->receives[i]) {
      MPI_Cancel(&messages->requests[i]);
      if (awaits)
        MPI_Wait(&messages->requests[i], MPI_STATUS_IGNORE);
    }
  releaseErrors(messages);
}

static void closeMessages(void *context, int failed) {
  struct Messages *messages = context;
  int isFinalized;
  failed |= messages->isStuck;
  pthread_mutex_lock(&openLock);
  isFinalized = messages->isFinalized;
  if (!isFinalized)
    removeOpen(messages);
  pthread_mutex_unlock(&openLock);
  if (!isFinalized) {
    cancelReceives(messages, !failed);
    if (failed)
      return;
    MPI_Comm_free(&messages->comm);
  }
  freeMessages(messages);
}

static const char *errorText(void *context, int error) {
  struct Messages *messages = context;
  int length;
  if (error == transportFinalized)
    return "MPI_Finalize was called";
  if (error == SCCL_ERROR_LATE)
    return "not all ranks have come in time";
  if (messages->isFinalized)
    return "an error of MPI before MPI_Finalize";
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

static void makeTransport(struct Messages *messages, double limit,
                          scclTransport *transport);

static int splitMessages(void *context, int color, int key,
                         scclTransport *result) {
  struct Messages *messages = context, *part;
  int error;
  if (messages->isFinalized)
    return transportFinalized;
  part = calloc(1, sizeof(*part));
  if (!part)
    return MPI_ERR_NO_MEM;
  error = MPI_Comm_split(messages->comm, color < 0 ? MPI_UNDEFINED : color, key,
                         &part->comm);
  if (error == MPI_SUCCESS && color >= 0)
    makeTransport(part, messages->limit, result);
  else
    free(part);
  return error;
}

/* Open MPI and MPICH say whether they take memory of GPUs; older ones, and some
 * that are built without it, have no function to ask. */
#ifdef MPIX_GPU_SUPPORT_CUDA
static uint64_t knownDevices(void) {
  int cuda = 0, hip = 0;
  if (MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &cuda) != MPI_SUCCESS)
    cuda = 0;
  if (MPIX_GPU_query_support(MPIX_GPU_SUPPORT_HIP, &hip) != MPI_SUCCESS)
    hip = 0;
  return (uint64_t)(cuda != 0) << scclDeviceCUDA | (uint64_t)(hip != 0)
                                                       << scclDeviceHIP;
}
#else
extern int MPIX_Query_cuda_support(void) __attribute__((weak));
extern int MPIX_Query_rocm_support(void) __attribute__((weak));

static uint64_t knownDevices(void) {
  uint64_t devices = 0;
  if (MPIX_Query_cuda_support && MPIX_Query_cuda_support())
    devices |= 1 << scclDeviceCUDA;
  if (MPIX_Query_rocm_support && MPIX_Query_rocm_support())
    devices |= 1 << scclDeviceHIP;
  return devices;
}
#endif

/* Of messages whose communicator is nobody else's. */
static void makeTransport(struct Messages *messages, double limit,
                          scclTransport *transport) {
  int hasLimit = 0, *mostTag = NULL, threads = MPI_THREAD_SINGLE;
  MPI_Comm comm = messages->comm;
  messages->limit = limit;
  addOpen(messages);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &transport->rank);
  MPI_Comm_size(comm, &transport->numRanks);
  transport->host = hostOf(comm, transport->rank);
  MPI_Comm_get_attr(comm, MPI_TAG_UB, &mostTag, &hasLimit);
  transport->size = sizeof(*transport);
  transport->context = messages;
  transport->numTags = hasLimit && *mostTag < INT_MAX ? *mostTag + 1 : 32768;
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
  messages->hasThreads = threads == MPI_THREAD_MULTIPLE;
  transport->anyThread = messages->hasThreads;
  transport->devices = knownDevices();
}

/* Fails if `comm` has no ranks that could exchange messages. */
static scclResult checkComm(MPI_Comm comm) {
  int isReady = 0, isFinished = 0, areTwoGroups = 0;
  if (MPI_Initialized(&isReady) != MPI_SUCCESS || !isReady ||
      MPI_Finalized(&isFinished) != MPI_SUCCESS || isFinished)
    return scclReportError(scclErrorInvalidArgument,
                           isFinished ? "MPI_Finalize was called"
                                      : "MPI is not initialized");
  if (comm == MPI_COMM_NULL)
    return scclReportError(scclErrorInvalidArgument, "comm is MPI_COMM_NULL");
  if (MPI_Comm_test_inter(comm, &areTwoGroups) != MPI_SUCCESS || areTwoGroups)
    return scclReportError(scclErrorInvalidArgument,
                           "comm is an intercommunicator, expected one group "
                           "of ranks (MPI_Intercomm_merge makes one)");
  return scclSuccess;
}

scclResult scclMpiTransport(MPI_Comm comm, double limit,
                            scclTransport *transport) {
  struct Messages *messages;
  MPI_Request request;
  int error;
  scclResult checked = checkComm(comm);
  memset(transport, 0, sizeof(*transport));
  if (checked != scclSuccess)
    return checked;
  messages = calloc(1, sizeof(*messages));
  if (!messages)
    return scclReportError(scclErrorOutOfMemory, "out of memory");
  error = MPI_Comm_idup(comm, &messages->comm, &request);
  if (error == MPI_SUCCESS)
    error = scclMpiAwait(&request, limit);
  /* MPI may still write to the structure. */
  if (error == SCCL_ERROR_LATE)
    return scclReportError(scclErrorTimeout,
                           "not all ranks of the communicator have called "
                           "scclCommInitMPI within timeoutSeconds");
  if (error != MPI_SUCCESS) {
    free(messages);
    return scclReportError(scclErrorSystem,
                           "MPI cannot duplicate the communicator");
  }
  makeTransport(messages, limit, transport);
  return scclSuccess;
}
