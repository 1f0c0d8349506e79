//===- MessageGather.cpp - What all ranks tell all, within a limit --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageEngine.h"

#include <algorithm>
#include <cstring>

using namespace sccl;

Status MessageEngine::prepare() {
  unsigned numRanks = group.numRanks();
  slices.reset(new Slice[numRanks + 1]);
  for (unsigned peer = 0; peer < numRanks; ++peer)
    if (peer != group.rank())
      others.push_back(peer);
  ways.resize(numRanks);
  awaited.resize(numRanks);
  untaken.resize(numRanks);
  return reserve(/*rows=*/0, /*tags=*/0, /*window=*/0);
}

/// Message `at` has ended: one to a rank, or after those one from a rank.
Status MessageEngine::endSlice(unsigned at, const scclCompletion &message) {
  unsigned peer = at % group.numRanks();
  if (Status status = group.errorOf(message, peer); !status.ok())
    return status;
  --slicesLeft;
  hasMoved = true;
  if (at < group.numRanks()) {
    --untaken[peer];
    return {};
  }
  --awaited[peer];
  if (message.bytes != sizeof(Slice))
    return badLength(peer, message.bytes, sizeof(Slice));
  group.compare(peer, slices[1 + peer].mark);
  return group.poison();
}

/// Begins to exchange slices of the current call with `peers`.
Status MessageEngine::startSlices(llvm::ArrayRef<unsigned> peers) {
  unsigned numRanks = group.numRanks(), first = sender.firstNumber();
  slices[0].mark = group.call();
  limit.restart();
  hasMoved = true;
  hasTold = false;
  slicesLeft = 2 * peers.size();
  std::fill(awaited.begin(), awaited.end(), 0);
  std::fill(untaken.begin(), untaken.end(), 0);
  Status status = group.poison();
  for (unsigned peer : peers) {
    awaited[peer] = untaken[peer] = 1;
    if (!status.ok())
      continue;
    status = group.receive(first + numRanks + peer, &slices[1 + peer],
                           sizeof(Slice), peer, MessageGroup::gatherTag);
    if (status.ok())
      status = group.send(first + peer, &slices[0], sizeof(Slice), peer,
                          MessageGroup::gatherTag, /*asks=*/false);
  }
  return status;
}

/// Gathers at most `sliceBytes` bytes, which are `stride` apart in `all`.
Status MessageEngine::gatherSlice(const char *mine, char *all, size_t stride,
                                  size_t bytes) {
  group.beginCall({CallHistory::gather, stride});
  std::memcpy(slices[0].data, mine, bytes);
  std::memcpy(slices[1 + group.rank()].data, mine, bytes);
  Status status = startSlices(others);
  isUnderWay = true;
  while (status.ok() && slicesLeft != 0)
    status = awaitMore();
  isUnderWay = !status.ok();
  for (unsigned peer = 0; peer < group.numRanks() && status.ok(); ++peer)
    std::memcpy(all + peer * stride, slices[1 + peer].data, bytes);
  return status;
}

int MessageEngine::allGather(void *context, const void *mine, void *all,
                             size_t bytes) {
  auto &self = *static_cast<MessageEngine *>(context);
  if (!self.group.enter()) {
    self.gatherFailure = {scclErrorBusy, "a launch of this rank is in flight"};
    return 1;
  }
  Patience::begin(self.group.ranksHere());
  Status status = self.group.poison();
  for (size_t at = 0; at < bytes && status.ok(); at += sliceBytes)
    status = attempt([&] {
      return self.gatherSlice(static_cast<const char *>(mine) + at,
                              static_cast<char *>(all) + at, bytes,
                              std::min(sliceBytes, bytes - at));
    });
  if (!status.ok() && !self.group.isPoisoned())
    self.group.raise(status);
  self.slicesLeft = 0;
  self.group.leave();
  self.gatherFailure = status;
  return status.ok() ? 0 : 1;
}

Status MessageEngine::explain(void *context) {
  return static_cast<MessageEngine *>(context)->gatherFailure;
}
