/*===- messages.h - A worker of UCX, and what is under way -------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef SCCL_LIB_UCX_MESSAGES_H
#define SCCL_LIB_UCX_MESSAGES_H

#include "Runtime/Messages/UcxTransport.h"

#include <ucp/api/ucp.h>

/* A message under way, or one that may be again. */
struct Request {
  struct Messages *of;
  int isReceive, isDone;
  int isOwn; /* no `poll` returns it */
  int from;  /* of a receive: a rank or SCCL_ANY_RANK */
  void *underWay;
  scclCompletion ended;
  struct Request *next; /* of those that have ended */
};

/* What is known of a rank. */
struct OtherRank {
  struct Messages *of;
  ucp_ep_h end;
  ucs_status_t lost;       /* UCS_OK until the connection fails */
  struct Request farewell; /* that this rank sends */
  int hasLeft;             /* it has said farewell */
  void *endings[2];        /* of what was sent, and of the connection */
};

enum Kind { sending, sendingAsking, receiving };

struct Messages {
  int rank, numRanks;
  double limit; /* seconds that collective functions and `close` wait */
  ucp_context_h context;
  ucp_worker_h worker;
  struct OtherRank *peers; /* by rank */
  char *addresses;         /* of the workers, by rank */
  size_t addressBytes;
  struct Request **requests; /* by number, for `poll` to return */
  int capacity;
  struct Request *firstEnded, **lastEnded;
  int someLost; /* receives from a peer are to be ended */
  int isStuck;  /* an all-gather has failed; there can be no other */
  char *room;   /* of that one, whose messages may still be under way */
  struct Request gathers[2];
  struct Request farewell; /* of any rank, to this one */
};

/* Tags of messages that are the transport's own, and how many there are below.
 */
enum { gatherTag = 1 << 30, farewellTag = 1 << 29, numTags = 1 << 29 };

/* Begins a message; what fails at once has ended with an error. */
void scclUcxStart(struct Messages *messages, struct Request *request,
                  void *data, size_t bytes, int peer, uint32_t tag,
                  enum Kind kind);
/* Lets UCX do what there is to do. */
void scclUcxProgress(struct Messages *messages);
/* Ends a receive that has not come. */
void scclUcxCancel(struct Request *request);
/* Returns whether the message has ended when scclNow() is `until`. */
int scclUcxAwait(struct Messages *messages, const struct Request *request,
                 double until);

/* Opens a worker. */
ucs_status_t scclUcxOpen(struct Messages *messages);
/* Gets ready for other ranks, whose addresses are there. */
ucs_status_t scclUcxListen(struct Messages *messages);
/* Ends all and frees `messages`, of which there may be parts. No memory is
 * written any more then. With `failed` it waits for nobody. */
void scclUcxClose(void *messages, int failed);

/* An scclAllGatherFn, by messages. */
int scclUcxAllGather(void *messages, const void *mine, void *all, size_t bytes);

#endif
