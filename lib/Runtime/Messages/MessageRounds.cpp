//===- MessageRounds.cpp - Rounds of messages between GPUs ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageEngine.h"

#include "Runtime/Devices/Device.h"

#include <algorithm>

using namespace sccl;

/// Tells `peers` of the call, and has them tell: nothing of another call gets
/// into the caller's buffers.
Status MessageEngine::beginRounds(llvm::ArrayRef<unsigned> peers,
                                  IsDone isDone) {
  roundPeers = peers;
  isUnderWay = true;
  Status status = startSlices(peers);
  bool done = false;
  while (status.ok()) {
    status = isDone(done);
    if (!status.ok() || done)
      return status;
    status = look();
    if (status.ok())
      Patience::pause();
  }
  return status;
}

/// Waits for what is enqueued, in which ranks of this host may wait for each
/// other, and until all peers have told of the call.
Status MessageEngine::awaitDevice(IsDone isDone) {
  // Who waits for whom within a launch of a kernel is not known here.
  for (unsigned peer : roundPeers)
    ++awaited[peer];
  hasMoved = true;
  bool done = false;
  Status status = isDone(done);
  while (status.ok() && (!done || slicesLeft != 0)) {
    status = awaitMore();
    if (status.ok() && !done)
      status = isDone(done);
  }
  for (unsigned peer : roundPeers)
    --awaited[peer];
  return status;
}

Status MessageEngine::startRound() {
  auto start = [&](bool sends) -> Status {
    for (unsigned i = 0; i < round.size(); ++i) {
      const RoundMessage &message = round[i];
      if (message.isSend != sends)
        continue;
      ++(sends ? untaken : awaited)[message.peer];
      unsigned number = sender.firstNumber() + i;
      Status status =
          sends ? group.send(number, message.data, message.bytes, message.peer,
                             MessageGroup::roundTag, /*asks=*/false)
                : group.receive(number, message.data, message.bytes,
                                message.peer, MessageGroup::roundTag);
      if (!status.ok())
        return status;
    }
    return {};
  };
  // What comes finds its place.
  Status status = start(/*sends=*/false);
  return status.ok() ? start(/*sends=*/true) : status;
}

Status MessageEngine::runRound(llvm::ArrayRef<RoundMessage> messages,
                               IsDone isDone) {
  if (Status status = awaitDevice(isDone); !status.ok())
    return status;
  round = messages;
  roundLeft = messages.size();
  hasMoved = true;
  Status status = startRound();
  while (status.ok() && roundLeft != 0)
    status = awaitMore();
  return status;
}

/// Message `at` of the round has ended.
Status MessageEngine::endOfRound(unsigned at, const scclCompletion &ended) {
  const RoundMessage &message = round[at];
  if (Status status = group.errorOf(ended, message.peer); !status.ok())
    return status;
  --roundLeft;
  --(message.isSend ? untaken : awaited)[message.peer];
  return message.isSend || ended.bytes == message.bytes
             ? Status()
             : badLength(message.peer, ended.bytes, message.bytes);
}

Status MessageEngine::endRounds(IsDone isDone) {
  Status status = awaitDevice(isDone);
  isUnderWay = !status.ok();
  roundPeers = {};
  return status;
}
