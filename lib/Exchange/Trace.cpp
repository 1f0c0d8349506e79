//===- Trace.cpp - Order and races of events ------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trace.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::exchange;

static std::string lineText(const Event &event) {
  return "line " + std::to_string(event.place.line);
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// Says for each block that is stuck, and that others do not merely follow,
/// what its next event waits for.
static void explainDeadlock(const Trace &trace,
                            const std::vector<uint32_t> &missing,
                            Findings &findings) {
  auto isStuck = [&](uint32_t event) { return missing[event] > 0; };
  for (uint32_t event = 0; event < trace.events.size(); ++event) {
    if (!isStuck(event) || (!trace.isFirst(event) && isStuck(event - 1)))
      continue;
    const Event &stuck = trace.events[event];
    std::optional<uint32_t> culprit;
    trace.before(event, [&](uint32_t other) {
      if (!culprit && isStuck(other))
        culprit = other;
    });
    findings.add(stuck.place,
                 "deadlock: rank " + std::to_string(stuck.rank) +
                     " waits for ever for " + lineText(trace.events[*culprit]) +
                     " of rank " + std::to_string(trace.events[*culprit].rank));
  }
}

std::optional<std::vector<uint32_t>> exchange::orderEvents(const Trace &trace,
                                                           Findings &findings) {
  size_t count = trace.events.size();
  std::vector<uint32_t> missing(count), heads(count + 1), next;
  for (uint32_t event = 0; event < count; ++event)
    trace.before(event, [&](uint32_t other) {
      ++missing[event];
      ++heads[other + 1];
    });
  for (size_t i = 0; i < count; ++i)
    heads[i + 1] += heads[i];
  next.resize(heads[count]);
  std::vector<uint32_t> at(heads.begin(), heads.end() - 1);
  for (uint32_t event = 0; event < count; ++event)
    trace.before(event, [&](uint32_t other) { next[at[other]++] = event; });
  std::vector<uint32_t> order;
  order.reserve(count);
  for (uint32_t event = 0; event < count; ++event)
    if (missing[event] == 0)
      order.push_back(event);
  for (size_t i = 0; i < order.size(); ++i)
    for (uint32_t k = heads[order[i]]; k < heads[order[i] + 1]; ++k)
      if (--missing[next[k]] == 0)
        order.push_back(next[k]);
  if (order.size() == count)
    return order;
  explainDeadlock(trace, missing, findings);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Races
//===----------------------------------------------------------------------===//

namespace {
/// The races of one rank, by vector clocks over its blocks.
class RankRaces {
public:
  RankRaces(const Trace &trace, uint32_t rank, uint32_t cells,
            std::vector<uint32_t> &clocks, Findings &findings)
      : trace(trace), rank(rank), first(trace.firstBlockOfRank[rank]),
        width(trace.firstBlockOfRank[rank + 1] - first), clocks(clocks),
        findings(findings), states(cells) {
    clocks.assign(trace.events.size() * width, 0);
  }
  void find(const std::vector<uint32_t> &order) {
    for (uint32_t event : order)
      visit(event);
  }

private:
  struct CellState {
    std::optional<uint32_t> written;
    std::vector<uint32_t> reads; ///< since then
  };

  bool comesBefore(uint32_t event, uint32_t later) const {
    uint32_t block = trace.events[event].block;
    return clocks[later * width + block - first] >
           event - trace.firstOfBlock[block];
  }
  void expectBefore(uint32_t event, uint32_t later, const char *what) {
    if (event == later || comesBefore(event, later))
      return;
    findings.add(trace.events[later].place,
                 std::string("race: this ") + what + " " +
                     lineText(trace.events[event]) +
                     " does, and nothing says which comes first");
  }
  void visit(uint32_t event);
  void read(uint32_t event, Cells cells);
  void write(uint32_t event, Cells cells);

  const Trace &trace;
  const uint32_t rank, first, width;
  std::vector<uint32_t> &clocks;
  Findings &findings;
  std::vector<CellState> states;
};
} // namespace

void RankRaces::visit(uint32_t event) {
  uint32_t *clock = &clocks[event * width];
  trace.before(event, [&](uint32_t other) {
    const uint32_t *theirs = &clocks[other * width];
    for (uint32_t i = 0; i < width; ++i)
      clock[i] = std::max(clock[i], theirs[i]);
  });
  const Event &now = trace.events[event];
  if (now.rank != rank)
    return;
  clock[now.block - first] = event - trace.firstOfBlock[now.block] + 1;
  if (now.reads)
    read(event, *now.reads);
  if (now.writes && now.addsToWritten)
    read(event, *now.writes);
  if (now.writes)
    write(event, *now.writes);
}

void RankRaces::read(uint32_t event, Cells cells) {
  for (uint32_t cell = cells.first; cell < cells.first + cells.count; ++cell) {
    CellState &state = states[cell];
    if (state.written)
      expectBefore(*state.written, event, "reads what");
    std::erase_if(state.reads,
                  [&](uint32_t other) { return comesBefore(other, event); });
    state.reads.push_back(event);
  }
}

void RankRaces::write(uint32_t event, Cells cells) {
  for (uint32_t cell = cells.first; cell < cells.first + cells.count; ++cell) {
    CellState &state = states[cell];
    if (state.written)
      expectBefore(*state.written, event, "writes where");
    for (uint32_t other : state.reads)
      expectBefore(other, event, "overwrites what is read where");
    state.written = event;
    state.reads.clear();
  }
}

void exchange::findRaces(const Trace &trace, const std::vector<uint32_t> &order,
                         const std::vector<uint32_t> &cells,
                         Findings &findings) {
  constexpr uint64_t mostClocks = uint64_t(1) << 27, mostWork = uint64_t(1)
                                                                << 33;
  uint64_t events = trace.events.size(), widest = 0;
  for (uint32_t rank = 0; rank < trace.numRanks(); ++rank)
    widest = std::max<uint64_t>(widest, trace.firstBlockOfRank[rank + 1] -
                                            trace.firstBlockOfRank[rank]);
  if (events * widest > mostClocks || events * trace.numBlocks() > mostWork) {
    findings.add({}, "not known: " + std::to_string(events) + " steps in " +
                         std::to_string(trace.numBlocks()) +
                         " thread blocks are too many to look for races");
    return;
  }
  std::vector<uint32_t> clocks;
  for (uint32_t rank = 0; rank < trace.numRanks(); ++rank)
    RankRaces(trace, rank, cells[rank], clocks, findings).find(order);
}
