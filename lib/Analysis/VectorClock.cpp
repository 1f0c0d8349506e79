//===- VectorClock.cpp - What has happened before what --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Analysis/VectorClock.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

ProgramClocks::ProgramClocks(ProgramOp program) {
  for (RankOp rank : program.getBody().getOps<RankOp>())
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>()) {
      channels.try_emplace(channel, channels.size());
      ranks.push_back(rank.getRank());
    }
  barriers.assign(channels.size(), 0);
  clocks.assign(channels.size(), VectorClock(channels.size()));
}

void ProgramClocks::advance(ChannelOp channel, Operation *op) {
  size_t self = index(channel);
  if (isa<BarrierOp>(op)) {
    // The first to pass a barrier does so for all: they have come to it.
    if (++barriers[self] > barriersJoined)
      joinAll();
    return;
  }
  // Signals and waits leave nothing to be known, but that the launch has begun.
  if (getTransfer(op) || clocks[self][self] == 0)
    clocks[self].tick(self);
  if (auto signal = dyn_cast<SignalOp>(op))
    signals.insert_or_assign({getFlag(signal), signal.getValue()},
                             clocks[self]);
  else if (auto wait = dyn_cast<WaitOp>(op))
    clocks[self].join(signalled(wait));
}

void ProgramClocks::joinAll() {
  ++barriersJoined;
  VectorClock all(clocks.size());
  for (size_t i = 0; i < clocks.size(); ++i) {
    clocks[i].tick(i);
    all.join(clocks[i]);
  }
  clocks.assign(clocks.size(), all);
}

bool ProgramClocks::knowsLaunch(const VectorClock &clock, unsigned rank) const {
  for (size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i] == rank && clock[i] > 0)
      return true;
  return false;
}

VectorClock ProgramClocks::endOf(RankOp rank) const {
  VectorClock end(clocks.size());
  for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
    end.join(at(channel));
  return end;
}
