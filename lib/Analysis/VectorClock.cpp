//===- VectorClock.cpp - What has happened before what --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Analysis/VectorClock.h"

#include "sccl/Dialect/Coll/ImportExport.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

ProgramClocks::ProgramClocks(ProgramOp program) : hasLL(program.getLl()) {
  for (RankOp rank : program.getBody().getOps<RankOp>())
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>()) {
      channels.try_emplace(channel, channels.size());
      ranks.push_back(rank.getRank());
    }
  barriers.assign(channels.size(), 0);
  clocks.assign(channels.size(), VectorClock(channels.size()));
  if (!hasLL)
    return;
  inTransfer = inEveryChunk = ends = clocks;
  // The verifier has done the same, and succeeded.
  if (FailureOr<Problem> problem = importProblem(program); succeeded(problem))
    perSegment = problem->collective.chunksPerSegment();
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
  if (hasLL)
    return advanceWithLL(self, op);
  if (auto signal = dyn_cast<SignalOp>(op))
    signals.insert_or_assign({getFlag(signal), signal.getValue()},
                             clocks[self]);
  else if (auto wait = dyn_cast<WaitOp>(op))
    clocks[self].join(signalled(wait));
}

void ProgramClocks::advanceWithLL(size_t self, Operation *op) {
  VectorClock &known = clocks[self];
  if (auto signal = dyn_cast<SignalOp>(op)) {
    signals.insert_or_assign({getFlag(signal), signal.getValue()}, known);
  } else if (auto wait = dyn_cast<WaitOp>(op)) {
    known.join(signalled(wait));
    hear(self, known, /*position=*/0); // flags do not depend on bytes
  }
  VectorClock clock = known;
  std::optional<VectorClock> common;
  if (std::optional<Transfer> transfer = getTransfer(op)) {
    for (unsigned i = 0; i < transfer->size(); ++i) {
      VectorClock chunk = known;
      for (const SlotRange &read : transfer->reads)
        if (auto it = ll.find({read.rank, read[i]});
            read.buffer == Buffer::Scratch && it != ll.end())
          chunk.join(it->second);
      if (transfer->write.buffer == Buffer::Scratch)
        ll.insert_or_assign({transfer->write.rank, transfer->write[i]}, chunk);
      hear(self, chunk, transfer->chunkAt(i) % perSegment);
      clock.join(chunk);
      if (common)
        common->meet(chunk);
      else
        common = chunk;
    }
  }
  inTransfer[self] = clock;
  inEveryChunk[self] = common.value_or(known);
  ends[self].join(clock);
}

/// Notes of whom the rank of a channel hears by a chunk at `position`.
void ProgramClocks::hear(size_t self, const VectorClock &clock,
                         unsigned position) {
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (clock[i] == 0)
      continue;
    auto [it, isNew] = heard.try_emplace({ranks[self], ranks[i]}, position);
    if (!isNew)
      it->second = std::min(it->second, position);
  }
}

bool ProgramClocks::hearsOf(RankOp rank, unsigned peer,
                            unsigned position) const {
  if (!hasLL)
    return knowsLaunch(endOf(rank), peer);
  auto it = heard.find({rank.getRank(), peer});
  return it != heard.end() && it->second <= position;
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
    end.join(hasLL ? ends[index(channel)] : at(channel));
  return end;
}
