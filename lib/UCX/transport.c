/*===- transport.c - Messages of UCX -----------------------------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "messages.h"

#include "Runtime/Messages/Rest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//===----------------------------------------------------------------------===//
// Functions of the transport
//===----------------------------------------------------------------------===//

/* Requests stay where they are: UCX has their addresses. */
static int reserve(void *context, int numRequests) {
  struct Messages *messages = context;
  struct Request **longer;
  if (numRequests <= messages->capacity)
    return 0;
  longer = realloc(messages->requests, (size_t)numRequests * sizeof(*longer));
  if (!longer)
    return UCS_ERR_NO_MEMORY;
  messages->requests = longer;
  while (messages->capacity < numRequests) {
    struct Request *made = calloc(1, sizeof(*made));
    if (!made)
      return UCS_ERR_NO_MEMORY;
    made->ended.request = messages->capacity;
    messages->requests[messages->capacity++] = made;
  }
  return 0;
}

static int sendMessage(void *context, int request, const void *data,
                       size_t bytes, int peer, int tag) {
  struct Messages *messages = context;
  scclUcxStart(messages, messages->requests[request], (void *)data, bytes, peer,
               (uint32_t)tag, sending);
  return 0;
}

static int sendAsking(void *context, int request, const void *data,
                      size_t bytes, int peer, int tag) {
  struct Messages *messages = context;
  scclUcxStart(messages, messages->requests[request], (void *)data, bytes, peer,
               (uint32_t)tag, sendingAsking);
  return 0;
}

static int receiveMessage(void *context, int request, void *data, size_t bytes,
                          int peer, int tag) {
  struct Messages *messages = context;
  scclUcxStart(messages, messages->requests[request], data, bytes, peer,
               (uint32_t)tag, receiving);
  return 0;
}

static int pollMessages(void *context, scclCompletion *ended, int most,
                        int *count) {
  struct Messages *messages = context;
  *count = 0;
  if (most == 0)
    return 0;
  scclUcxProgress(messages);
  while (*count < most && messages->firstEnded) {
    struct Request *first = messages->firstEnded;
    messages->firstEnded = first->next;
    if (!first->next)
      messages->lastEnded = &messages->firstEnded;
    ended[(*count)++] = first->ended;
  }
  return 0;
}

static const char *errorText(void *context, int error) {
  (void)context;
  if (error == SCCL_ERROR_LATE)
    return "not all ranks have come in time";
  return ucs_status_string((ucs_status_t)error);
}

//===----------------------------------------------------------------------===//
// All-gathers
//===----------------------------------------------------------------------===//

/* Sends blocks of `bytes` to one rank, and receives as many from another. */
static int exchange(struct Messages *messages, size_t bytes, int to,
                    const char *sent, int from, char *received) {
  struct Request *send = &messages->gathers[0];
  struct Request *receive = &messages->gathers[1];
  double until = scclNow() + messages->limit;
  scclUcxStart(messages, receive, received, bytes, from, gatherTag, receiving);
  scclUcxStart(messages, send, (void *)sent, bytes, to, gatherTag, sending);
  if (!scclUcxAwait(messages, receive, until) ||
      !scclUcxAwait(messages, send, until))
    return SCCL_ERROR_LATE;
  if (receive->ended.error || send->ended.error)
    return receive->ended.error ? receive->ended.error : send->ended.error;
  return receive->ended.bytes == bytes ? 0 : UCS_ERR_MESSAGE_TRUNCATED;
}

/* In steps of 1, 2, 4 ... ranks: what a rank has of those that follow it, it
 * sends to the one so far before it. What comes late is not to overwrite what
 * the caller has freed. */
int scclUcxAllGather(void *context, const void *mine, void *all, size_t bytes) {
  struct Messages *messages = context;
  int rank = messages->rank, numRanks = messages->numRanks, error = 0;
  char *room;
  if (messages->isStuck)
    return SCCL_ERROR_LATE;
  room = malloc(bytes * (size_t)numRanks + 1);
  if (!room)
    return UCS_ERR_NO_MEMORY;
  memcpy(room, mine, bytes);
  for (int have = 1; have < numRanks && error == 0; have *= 2) {
    int more = have < numRanks - have ? have : numRanks - have;
    error = exchange(messages, bytes * (size_t)more,
                     (rank + numRanks - have) % numRanks, room,
                     (rank + have) % numRanks, room + bytes * (size_t)have);
  }
  if (error != 0) {
    messages->isStuck = 1;
    messages->room = room;
    return error;
  }
  for (int i = 0; i < numRanks; ++i)
    memcpy((char *)all + bytes * (size_t)((rank + i) % numRanks),
           room + bytes * (size_t)i, bytes);
  free(room);
  return 0;
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

/* What a rank says when ranks meet. */
struct Greeting {
  int color, key;
  int status;        /* why it cannot take part, or UCS_OK */
  unsigned numBytes; /* of its address */
};

/* The ranks that meet, and how. */
struct Meeting {
  int rank, numRanks;
  scclAllGatherFn allGather;
  void *context;
  struct Greeting *greetings; /* of all ranks */
};

static int comesBefore(const struct Meeting *meeting, int a, int b) {
  int keyOfA = meeting->greetings[a].key, keyOfB = meeting->greetings[b].key;
  return keyOfA != keyOfB ? keyOfA < keyOfB : a < b;
}

/* Finds the members of this rank's colour, and moves their addresses in their
 * order to the front. */
static ucs_status_t chooseMembers(const struct Meeting *meeting,
                                  const char *addresses,
                                  struct Messages *messages) {
  int color = meeting->greetings[meeting->rank].color;
  size_t bytes = messages->addressBytes;
  messages->numRanks = 0;
  for (int rank = 0; rank < meeting->numRanks; ++rank)
    messages->numRanks += meeting->greetings[rank].color == color;
  messages->addresses = malloc((size_t)messages->numRanks * bytes);
  if (!messages->addresses)
    return UCS_ERR_NO_MEMORY;
  for (int rank = 0; rank < meeting->numRanks; ++rank) {
    int place = 0;
    if (meeting->greetings[rank].color != color)
      continue;
    for (int other = 0; other < meeting->numRanks; ++other)
      place += meeting->greetings[other].color == color &&
               comesBefore(meeting, other, rank);
    memcpy(messages->addresses + (size_t)place * bytes,
           addresses + (size_t)rank * bytes, bytes);
    if (rank == meeting->rank)
      messages->rank = place;
  }
  return UCS_OK;
}

/* Collective. Returns an error of the rank `*culprit`, or of the all-gather. */
static int agree(const struct Meeting *meeting, const struct Greeting *own,
                 int *culprit) {
  int error = meeting->allGather(meeting->context, own, meeting->greetings,
                                 sizeof(*own));
  *culprit = -1;
  for (int rank = 0; error == 0 && rank < meeting->numRanks; ++rank)
    if ((error = meeting->greetings[rank].status) != 0)
      *culprit = rank;
  return error;
}

/* Gathers the addresses of all ranks, which have greeted each other. A rank
 * without memory for them says so, since the others would wait for it. */
static int gatherAddresses(const struct Meeting *meeting,
                           const ucp_address_t *own, int *culprit,
                           struct Messages *messages) {
  struct Greeting greeting = meeting->greetings[meeting->rank];
  size_t most = 1;
  char *room, *all;
  int error;
  for (int rank = 0; rank < meeting->numRanks; ++rank)
    if (meeting->greetings[rank].numBytes > most)
      most = meeting->greetings[rank].numBytes;
  room = calloc((size_t)meeting->numRanks + 1, most);
  greeting.status = room ? UCS_OK : UCS_ERR_NO_MEMORY;
  if ((error = agree(meeting, &greeting, culprit)) != 0) {
    free(room);
    return error;
  }
  all = room + most;
  memcpy(room, own, greeting.numBytes);
  error = meeting->allGather(meeting->context, room, all, most);
  messages->addressBytes = most;
  if (error == 0) {
    *culprit = meeting->rank;
    error = chooseMembers(meeting, all, messages);
  }
  free(room);
  return error;
}

/* Collective. Connects the ranks of each colour, in the order of their keys.
 * `color` is negative for a rank that is in none. `messages` is null on a rank
 * that is out of memory: it meets the others nevertheless, and so needs none
 * for greetings. Returns an error of the rank `*culprit`, or of the all-gather
 * if that is -1. */
static int meet(struct Meeting *meeting, int color, int key, int *culprit,
                struct Messages *messages) {
  ucp_address_t *address = NULL;
  size_t bytes = 0;
  struct Greeting own = {color, key, UCS_OK, 0};
  struct Greeting greetings[meeting->numRanks];
  int error;
  own.status = messages ? scclUcxOpen(messages) : UCS_ERR_NO_MEMORY;
  if (own.status == UCS_OK)
    own.status = ucp_worker_get_address(messages->worker, &address, &bytes);
  own.numBytes = (unsigned)bytes;
  meeting->greetings = greetings;
  error = agree(meeting, &own, culprit);
  if (error == 0)
    error = gatherAddresses(meeting, address, culprit, messages);
  if (error == 0 && color >= 0)
    error = scclUcxListen(messages);
  if (address)
    ucp_worker_release_address(messages->worker, address);
  meeting->greetings = NULL;
  return error;
}

static int split(void *context, int color, int key, scclTransport *result);

static void makeTransport(struct Messages *messages, scclTransport *transport) {
  ucp_worker_attr_t attributes = {.field_mask =
                                      UCP_WORKER_ATTR_FIELD_THREAD_MODE};
  memset(transport, 0, sizeof(*transport));
  transport->size = sizeof(*transport);
  transport->context = messages;
  transport->rank = messages->rank;
  transport->numRanks = messages->numRanks;
  transport->numTags = numTags;
  transport->host = 0; /* libsccl itself tells hosts apart */
  transport->allGather = scclUcxAllGather;
  transport->reserve = reserve;
  transport->send = sendMessage;
  transport->sendAsking = sendAsking;
  transport->receive = receiveMessage;
  transport->poll = pollMessages;
  transport->close = scclUcxClose;
  transport->errorText = errorText;
  transport->split = split;
  transport->anyThread =
      ucp_worker_query(messages->worker, &attributes) == UCS_OK &&
              attributes.thread_mode != UCS_THREAD_MODE_SINGLE
          ? 2
          : 0;
}

/* Each part has a worker of its own, which may be used at the same time. */
static int split(void *context, int color, int key, scclTransport *result) {
  struct Messages *messages = context, *part = calloc(1, sizeof(*part));
  struct Meeting meeting = {messages->rank, messages->numRanks,
                            scclUcxAllGather, messages, NULL};
  int culprit, error;
  if (part)
    part->limit = messages->limit;
  error = meet(&meeting, color, key, &culprit, part);
  if (error == 0 && color >= 0)
    makeTransport(part, result);
  else if (part)
    scclUcxClose(part, /*failed=*/1);
  return error;
}

scclResult scclUcxTransport(int rank, int numRanks, scclAllGatherFn allGather,
                            void *context, double limit,
                            scclTransport *transport) {
  struct Messages *messages = calloc(1, sizeof(*messages));
  struct Meeting meeting = {rank, numRanks, allGather, context, NULL};
  int culprit, error;
  char message[256];
  if (messages)
    messages->limit = limit;
  error = meet(&meeting, /*color=*/0, /*key=*/rank, &culprit, messages);
  if (error == 0) {
    makeTransport(messages, transport);
    return scclSuccess;
  }
  if (messages)
    scclUcxClose(messages, /*failed=*/1);
  if (culprit < 0)
    return error == SCCL_ERROR_LATE
               ? scclReportError(scclErrorTimeout,
                                 "not all ranks have made the call in time")
               : scclReportError(scclErrorSystem,
                                 "the caller's all-gather failed");
  snprintf(message, sizeof(message), "rank %d cannot open UCX: %s", culprit,
           ucs_status_string((ucs_status_t)error));
  return scclReportError(error == UCS_ERR_NO_MEMORY ? scclErrorOutOfMemory
                                                    : scclErrorSystem,
                         message);
}
