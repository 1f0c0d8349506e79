/*===- messages.c - A worker of UCX, and what is under way -------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "messages.h"

#include "Runtime/Messages/Rest.h"

#include <stdlib.h>

/* A tag has the sender's rank in front. */
static const int rankShift = 32;
static const ucp_tag_t rankMask = (ucp_tag_t)UINT32_MAX << 32;

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

static void end(struct Request *request, ucs_status_t status, ucp_tag_t tag,
                size_t bytes) {
  struct Messages *messages = request->of;
  int isTooLong = request->isReceive && status == UCS_ERR_MESSAGE_TRUNCATED;
  request->underWay = NULL;
  /* A receive is only cancelled if its peer was lost, or when all ends. */
  if (status == UCS_ERR_CANCELED && request->from >= 0 &&
      messages->peers[request->from].lost != UCS_OK)
    status = messages->peers[request->from].lost;
  request->ended.error = isTooLong ? 0 : (int)status;
  request->ended.bytes = isTooLong ? SIZE_MAX : bytes;
  request->ended.peer = (int)(tag >> rankShift);
  request->isDone = 1;
  if (request->isOwn)
    return;
  request->next = NULL;
  *messages->lastEnded = request;
  messages->lastEnded = &request->next;
}

static void onSent(void *underWay, ucs_status_t status, void *request) {
  ucp_request_free(underWay);
  end(request, status, 0, 0);
}

static void onReceived(void *underWay, ucs_status_t status,
                       const ucp_tag_recv_info_t *info, void *request) {
  ucp_tag_t tag = info ? info->sender_tag : 0;
  size_t bytes = info ? info->length : 0;
  ucp_request_free(underWay);
  end(request, status, tag, bytes);
}

/* Receives from a lost peer are ended later: here UCX is about to do others. */
static void onLost(void *context, ucp_ep_h endpoint, ucs_status_t status) {
  struct OtherRank *peer = context;
  (void)endpoint;
  if (peer->lost == UCS_OK)
    peer->lost = status;
  peer->of->someLost = 1;
}

/* The connection to a rank, which is made when it is needed first: also for
 * what it is to send, since only so its loss is noticed. */
static ucs_status_t connectTo(struct Messages *messages, int rank) {
  struct OtherRank *peer = &messages->peers[rank];
  ucp_ep_params_t params = {0};
  /* Nobody listens there any more, and UCX would say so on standard output. */
  if (!peer->end && peer->hasLeft)
    peer->lost = UCS_ERR_CONNECTION_RESET;
  if (peer->end || peer->lost != UCS_OK)
    return peer->lost;
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address =
      (const ucp_address_t *)(messages->addresses +
                              (size_t)rank * messages->addressBytes);
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = onLost;
  params.err_handler.arg = peer;
  peer->lost = ucp_ep_create(messages->worker, &params, &peer->end);
  if (peer->lost != UCS_OK)
    peer->end = NULL;
  return peer->lost;
}

void scclUcxStart(struct Messages *messages, struct Request *request,
                  void *data, size_t bytes, int peer, uint32_t tag,
                  enum Kind kind) {
  ucp_request_param_t param = {0};
  ucp_tag_t from = (ucp_tag_t)(uint32_t)peer << rankShift;
  ucp_tag_t own = (ucp_tag_t)(uint32_t)messages->rank << rankShift;
  ucs_status_ptr_t started;
  ucs_status_t status = UCS_OK;
  request->of = messages;
  request->isReceive = kind == receiving;
  request->isDone = 0;
  request->from = request->isReceive ? peer : SCCL_ANY_RANK;
  if (peer != SCCL_ANY_RANK)
    status = connectTo(messages, peer);
  if (status != UCS_OK && kind != receiving) {
    end(request, status, 0, 0);
    return;
  }
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                       UCP_OP_ATTR_FIELD_USER_DATA |
                       UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.user_data = request;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  if (kind == receiving) {
    /* Only `onReceived` learns how long a message is. */
    param.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    param.cb.recv = onReceived;
    started = ucp_tag_recv_nbx(
        messages->worker, data, bytes,
        peer == SCCL_ANY_RANK ? tag : (from | tag),
        peer == SCCL_ANY_RANK ? ~rankMask : ~(ucp_tag_t)0, &param);
  } else {
    param.cb.send = onSent;
    started = (kind == sending ? ucp_tag_send_nbx : ucp_tag_send_sync_nbx)(
        messages->peers[peer].end, data, bytes, own | tag, &param);
  }
  if (request->isDone)
    return;
  if (!UCS_PTR_IS_PTR(started))
    end(request, UCS_PTR_STATUS(started), 0, 0);
  else
    request->underWay = started;
  /* What the lost rank has sent before has been there. */
  if (status != UCS_OK)
    scclUcxCancel(request);
}

void scclUcxCancel(struct Request *request) {
  if (request->underWay)
    ucp_request_cancel(request->of->worker, request->underWay);
}

static void cancelIfLost(struct Request *request) {
  if (request->underWay && request->from >= 0 &&
      request->of->peers[request->from].lost != UCS_OK)
    scclUcxCancel(request);
}

/* Whoever says farewell learns by that that all before it has come. */
static void awaitFarewell(struct Messages *messages) {
  messages->farewell.isOwn = 1;
  scclUcxStart(messages, &messages->farewell, NULL, 0, SCCL_ANY_RANK,
               farewellTag, receiving);
}

static void takeFarewell(struct Messages *messages) {
  int rank = messages->farewell.ended.peer;
  if (rank >= 0 && rank < messages->numRanks)
    messages->peers[rank].hasLeft = 1;
  awaitFarewell(messages);
}

void scclUcxProgress(struct Messages *messages) {
  const int most = 64;
  for (int turn = 0; turn < most && ucp_worker_progress(messages->worker) != 0;)
    ++turn;
  while (messages->farewell.isDone && messages->farewell.ended.error == 0)
    takeFarewell(messages);
  if (!messages->someLost)
    return;
  messages->someLost = 0;
  for (int i = 0; i < messages->capacity; ++i)
    cancelIfLost(messages->requests[i]);
  cancelIfLost(&messages->gathers[0]);
  cancelIfLost(&messages->gathers[1]);
}

int scclUcxAwait(struct Messages *messages, const struct Request *request,
                 double until) {
  double begin = scclNow();
  while (!request->isDone) {
    double now = scclNow();
    scclUcxProgress(messages);
    if (!request->isDone && now > until)
      return 0;
    if (!request->isDone)
      scclRest(now - begin);
  }
  return 1;
}

//===----------------------------------------------------------------------===//
// Begin and end
//===----------------------------------------------------------------------===//

ucs_status_t scclUcxOpen(struct Messages *messages) {
  ucp_params_t params = {0};
  ucp_worker_params_t workerParams = {0};
  ucp_config_t *config;
  ucs_status_t status = ucp_config_read(NULL, NULL, &config);
  messages->lastEnded = &messages->firstEnded;
  if (status != UCS_OK)
    return status;
  if (!getenv("UCX_KEEPALIVE_INTERVAL"))
    (void)ucp_config_modify(config, "KEEPALIVE_INTERVAL", "1s");
  params.field_mask =
      UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_TAG_SENDER_MASK;
  params.features = UCP_FEATURE_TAG;
  params.tag_sender_mask = rankMask;
  status = ucp_init(&params, config, &messages->context);
  ucp_config_release(config);
  if (status != UCS_OK) {
    messages->context = NULL;
    return status;
  }
  workerParams.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  workerParams.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  status =
      ucp_worker_create(messages->context, &workerParams, &messages->worker);
  if (status != UCS_OK)
    messages->worker = NULL;
  return status;
}

/* Makes what belongs to each rank; the addresses are there. */
ucs_status_t scclUcxListen(struct Messages *messages) {
  messages->peers =
      calloc((size_t)messages->numRanks, sizeof(*messages->peers));
  if (!messages->peers)
    return UCS_ERR_NO_MEMORY;
  for (int rank = 0; rank < messages->numRanks; ++rank) {
    messages->peers[rank].of = messages;
    messages->peers[rank].farewell.isOwn = 1;
  }
  messages->gathers[0].isOwn = messages->gathers[1].isOwn = 1;
  awaitFarewell(messages);
  return UCS_OK;
}

/* Says farewell to all that this rank has a connection to. That is taken when
 * they have all that was sent before; those who say it, too, need nothing.
 * After a failure that is a cause, which others should read before the
 * connection is closed, or they take this rank for lost; some may read nothing
 * any more. */
static void sayFarewell(struct Messages *messages, int failed) {
  const double most = failed ? 0.25 : 30; /* seconds */
  double until = scclNow() + (messages->limit < most ? messages->limit : most);
  for (int rank = 0; rank < messages->numRanks; ++rank)
    if (messages->peers[rank].end && messages->peers[rank].lost == UCS_OK)
      scclUcxStart(messages, &messages->peers[rank].farewell, NULL, 0, rank,
                   farewellTag, sendingAsking);
  for (int rank = 0; rank < messages->numRanks; ++rank) {
    struct OtherRank *peer = &messages->peers[rank];
    while (peer->end && peer->lost == UCS_OK && !peer->hasLeft &&
           !peer->farewell.isDone && scclNow() < until)
      (void)scclUcxAwait(messages, &peer->farewell, scclNow() + 1e-3);
  }
}

/* What would write to memory of the caller. */
static void cancelReceives(struct Messages *messages) {
  for (int i = 0; i < messages->capacity; ++i)
    if (messages->requests[i]->isReceive)
      scclUcxCancel(messages->requests[i]);
}

static void cancelOwn(struct Messages *messages) {
  scclUcxCancel(&messages->gathers[1]);
  scclUcxCancel(&messages->farewell);
}

/* Waits up to `limit` seconds for the ends of what has begun with connections.
 */
static void awaitEndings(struct Messages *messages, double limit) {
  double begin = scclNow();
  int numOpen;
  do {
    (void)ucp_worker_progress(messages->worker);
    numOpen = 0;
    for (int i = 0; i < 2 * messages->numRanks; ++i) {
      void **ending = &messages->peers[i / 2].endings[i % 2];
      if (UCS_PTR_IS_PTR(*ending) &&
          ucp_request_check_status(*ending) == UCS_INPROGRESS) {
        ++numOpen;
        continue;
      }
      if (UCS_PTR_IS_PTR(*ending))
        ucp_request_free(*ending);
      *ending = NULL;
    }
    if (numOpen != 0)
      scclRest(scclNow() - begin);
  } while (numOpen != 0 && scclNow() - begin < limit);
}

/* Ends the connections, after what is on its way, unless they have failed. */
static void closeConnections(struct Messages *messages, int failed) {
  const double patience = 1; /* seconds */
  ucp_request_param_t param = {0};
  for (int rank = 0; !failed && rank < messages->numRanks; ++rank) {
    struct OtherRank *peer = &messages->peers[rank];
    if (peer->end && peer->lost == UCS_OK)
      peer->endings[0] = ucp_ep_flush_nbx(peer->end, &param);
  }
  awaitEndings(messages, patience);
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  for (int rank = 0; rank < messages->numRanks; ++rank)
    if (messages->peers[rank].end)
      messages->peers[rank].endings[1] =
          ucp_ep_close_nbx(messages->peers[rank].end, &param);
  awaitEndings(messages, patience);
}

/* Takes what nobody has received, of which UCX would complain. */
static void dropArrived(struct Messages *messages) {
  ucp_tag_message_h message;
  ucp_tag_recv_info_t info;
  ucp_request_param_t param = {0};
  while ((message = ucp_tag_probe_nb(messages->worker, 0, 0, /*remove=*/1,
                                     &info)) != NULL) {
    void *taken =
        ucp_tag_msg_recv_nbx(messages->worker, NULL, 0, message, &param);
    if (UCS_PTR_IS_PTR(taken))
      ucp_request_free(taken);
  }
}

void scclUcxClose(void *context, int failed) {
  struct Messages *messages = context;
  failed |= messages->isStuck;
  if (messages->peers) {
    if (failed)
      cancelReceives(messages);
    if (!messages->isStuck)
      sayFarewell(messages, failed);
    cancelReceives(messages);
    cancelOwn(messages);
    closeConnections(messages, failed);
    dropArrived(messages);
  }
  if (messages->worker)
    ucp_worker_destroy(messages->worker);
  if (messages->context)
    ucp_cleanup(messages->context);
  for (int i = 0; i < messages->capacity; ++i)
    free(messages->requests[i]);
  free(messages->requests);
  free(messages->peers);
  free(messages->addresses);
  free(messages->room);
  free(messages);
}
