//===- VectorClock.cpp - All that a channel knows -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Analysis/VectorClock.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

uint32_t VectorClock::operator[](uint32_t channel) const {
  auto it = llvm::lower_bound(known, Entry(channel, 0));
  return it != known.end() && it->first == channel ? it->second : 0;
}

void VectorClock::tick(uint32_t channel) {
  auto it = llvm::lower_bound(known, Entry(channel, 0));
  if (it == known.end() || it->first != channel)
    it = known.insert(it, {channel, 0});
  ++it->second;
}

void VectorClock::join(const VectorClock &other) {
  std::vector<Entry> both;
  both.reserve(known.size() + other.known.size());
  auto a = known.begin(), aEnd = known.end();
  auto b = other.known.begin(), bEnd = other.known.end();
  while (a != aEnd || b != bEnd) {
    if (b == bEnd || (a != aEnd && a->first < b->first))
      both.push_back(*a++);
    else if (a == aEnd || b->first < a->first)
      both.push_back(*b++);
    else
      both.push_back({a->first, std::max(a++->second, b++->second)});
  }
  known = std::move(both);
}

ProgramClocks::ProgramClocks(ProgramOp program, size_t limit) : limit(limit) {
  for (RankOp rank : program.getBody().getOps<RankOp>())
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>()) {
      channels.try_emplace(channel, channels.size());
      ranks.push_back(rank.getRank());
      auto signals = channel.getBody().getOps<SignalOp>();
      signalsLeft.push_back(std::distance(signals.begin(), signals.end()));
    }
  barriers.assign(channels.size(), 0);
  clocks.resize(channels.size());
}

const VectorClock &ProgramClocks::signalled(WaitOp wait) const {
  return signals.find(keyOf(getFlag(wait), wait.getValue()))->second;
}

/// Notes that the clock of `channel` knows more than `before` things now.
void ProgramClocks::grow(uint32_t channel, size_t before) {
  committed += (clocks[channel].size() - before) * signalsLeft[channel];
}

void ProgramClocks::advance(ChannelOp channel, Operation *op) {
  if (isExhausted())
    return;
  uint32_t self = index(channel);
  if (isa<BarrierOp>(op)) {
    // The first to pass a barrier does so for all: they have come to it.
    if (++barriers[self] > barriersJoined)
      joinAll();
    return;
  }
  VectorClock &clock = clocks[self];
  size_t before = clock.size();
  // Signals and waits leave nothing to be known, but that the launch has begun.
  if (isa<TransferOpInterface>(op) || clock[self] == 0)
    clock.tick(self);
  if (auto wait = dyn_cast<WaitOp>(op)) {
    size_t own = clock.size();
    clock.join(signalled(wait));
    committed += clock.size() - own;
  }
  grow(self, before);
  if (auto signal = dyn_cast<SignalOp>(op)) {
    --signalsLeft[self]; // and what it tells stays committed
    signals.insert_or_assign(keyOf(getFlag(signal), signal.getValue()), clock);
  }
}

void ProgramClocks::joinAll() {
  ++barriersJoined;
  VectorClock all;
  for (uint32_t i = 0; i < clocks.size(); ++i) {
    clocks[i].tick(i);
    all.join(clocks[i]);
  }
  committed += all.size() * clocks.size();
  if (!isExhausted())
    clocks.assign(clocks.size(), all);
}

VectorClock ProgramClocks::endOf(RankOp rank) const {
  VectorClock end;
  for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
    end.join(at(channel));
  return end;
}
