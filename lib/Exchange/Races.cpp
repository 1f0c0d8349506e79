//===- Races.cpp - Events that touch a cell at once -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each access is compared with the last ones to its cell. What says that one
// comes before the other is mostly a few events away from one of them, so that
// a short search backwards or forwards finds it. Where it does not, vector
// clocks over the blocks of that rank decide: their size grows with the square
// of the file.
//
//===----------------------------------------------------------------------===//

#include "Trace.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::exchange;

namespace {
/// An event, a later one in the order, and what the later one does.
struct Conflict {
  uint32_t event, later;
  const char *what;
};

class RaceSearch {
public:
  RaceSearch(const Trace &trace, const std::vector<uint32_t> &order,
             const std::vector<uint32_t> &cells, Findings &findings)
      : trace(trace), order(order), findings(findings),
        position(trace.events.size()), seen(trace.events.size()),
        open(trace.numRanks()) {
    for (uint32_t count : cells)
      states.emplace_back(count);
    for (uint32_t i = 0; i < order.size(); ++i)
      position[order[i]] = i;
    findNext();
    findEnding();
  }
  void find();

private:
  struct CellState {
    std::optional<uint32_t> written;
    std::vector<uint32_t> reads; ///< since then, the last of each block
  };

  void findNext();
  void findEnding();
  /// Whether `event` comes before `later`; nothing if that is too far to see.
  std::optional<bool> comesBefore(uint32_t event, uint32_t later);
  std::optional<bool> searchBack(uint32_t event, uint32_t later);
  std::optional<bool> searchForward(uint32_t event, uint32_t later);
  void expectBefore(uint32_t event, uint32_t later, const char *what);
  void complain(const Conflict &conflict);
  void read(uint32_t event, Cells cells);
  void write(uint32_t event, Cells cells);
  /// Compares what an event reads with what it writes itself.
  void checkOverlap(uint32_t event);
  /// Decides what is open on a rank.
  void decide(uint32_t rank);
  void addClocks(uint32_t rank, std::vector<uint32_t> &clocks) const;

  const Trace &trace;
  const std::vector<uint32_t> &order;
  Findings &findings;
  std::vector<uint32_t> position, seen;
  /// The events that come directly after each, one behind the other.
  std::vector<uint32_t> next, firstNext;
  /// Which come before the end of the call, as events of that rank alone say.
  std::vector<bool> isEnding;
  uint32_t search = 0;
  std::vector<uint32_t> stack;
  std::vector<std::vector<CellState>> states; ///< by rank
  std::vector<std::vector<Conflict>> open;    ///< by rank
};
} // namespace

void RaceSearch::findNext() {
  firstNext.assign(trace.events.size() + 1, 0);
  for (uint32_t event : order)
    trace.before(event, [&](uint32_t other) { ++firstNext[other + 1]; });
  for (size_t i = 0; i < trace.events.size(); ++i)
    firstNext[i + 1] += firstNext[i];
  next.resize(firstNext.back());
  std::vector<uint32_t> at(firstNext.begin(), firstNext.end() - 1);
  for (uint32_t event : order)
    trace.before(event, [&](uint32_t other) { next[at[other]++] = event; });
}

void RaceSearch::findEnding() {
  isEnding.resize(trace.events.size());
  for (size_t i = order.size(); i-- > 0;) {
    const Event &event = trace.events[order[i]];
    if (event.role == EventRole::End)
      isEnding[order[i]] = true;
    if (isEnding[order[i]])
      trace.before(order[i], [&](uint32_t other) {
        if (trace.events[other].rank == event.rank)
          isEnding[other] = true;
      });
  }
}

static constexpr unsigned mostVisits = 200;

std::optional<bool> RaceSearch::searchBack(uint32_t event, uint32_t later) {
  uint32_t block = trace.events[event].block;
  ++search;
  stack = {later};
  bool isFound = false;
  for (unsigned visits = 0; !stack.empty() && !isFound; ++visits) {
    if (visits == mostVisits)
      return std::nullopt;
    uint32_t last = stack.back();
    stack.pop_back();
    trace.before(last, [&](uint32_t other) {
      isFound |= trace.events[other].block == block && other >= event;
      if (position[other] <= position[event] || seen[other] == search)
        return;
      seen[other] = search;
      stack.push_back(other);
    });
  }
  return isFound;
}

std::optional<bool> RaceSearch::searchForward(uint32_t event, uint32_t later) {
  const Event &end = trace.events[later];
  ++search;
  stack = {event};
  for (unsigned visits = 0; !stack.empty(); ++visits) {
    if (visits == mostVisits)
      return std::nullopt;
    uint32_t last = stack.back();
    stack.pop_back();
    const Event &now = trace.events[last];
    bool isIn = end.role == EventRole::End
                    ? isEnding[last] && now.rank == end.rank
                    : now.block == end.block && last <= later;
    if (isIn)
      return true;
    for (uint32_t i = firstNext[last]; i < firstNext[last + 1]; ++i) {
      uint32_t other = next[i];
      if (position[other] > position[later] || seen[other] == search)
        continue;
      seen[other] = search;
      stack.push_back(other);
    }
  }
  return false;
}

std::optional<bool> RaceSearch::comesBefore(uint32_t event, uint32_t later) {
  if (trace.events[later].block == trace.events[event].block)
    return event < later;
  // No other events learn from that which comes first.
  uint32_t words = trace.events[event].words;
  if (words != 0 && words == trace.events[later].words)
    return true;
  bool isEnd = trace.events[later].role == EventRole::End;
  auto first = isEnd ? searchForward(event, later) : searchBack(event, later);
  if (first)
    return first;
  return isEnd ? searchBack(event, later) : searchForward(event, later);
}

void RaceSearch::complain(const Conflict &conflict) {
  if (findings.isFull())
    return findings.addToCount();
  const Event &first = trace.events[conflict.event];
  const Event &later = trace.events[conflict.later];
  if (later.role == EventRole::End)
    findings.add(first.place,
                 "race: nothing says that this is over when rank " +
                     std::to_string(later.rank) + " returns");
  else
    findings.add(later.place, std::string("race: this ") + conflict.what +
                                  " line " + first.place.str() +
                                  " does, and nothing says which comes first");
}

void RaceSearch::expectBefore(uint32_t event, uint32_t later,
                              const char *what) {
  if (event == later)
    return;
  std::optional<bool> isBefore = comesBefore(event, later);
  if (!isBefore)
    open[trace.events[event].rank].push_back({event, later, what});
  else if (!*isBefore)
    complain({event, later, what});
}

void RaceSearch::read(uint32_t event, Cells cells) {
  uint32_t rank = trace.events[event].rank;
  for (uint32_t cell = cells.first; cell < cells.first + cells.count; ++cell) {
    CellState &state = states[rank][cell];
    if (state.written)
      expectBefore(*state.written, event, "reads what");
    // The last read of a block stands for those before it.
    uint32_t block = trace.events[event].block;
    auto blockOf = [&](uint32_t other) { return trace.events[other].block; };
    auto at = std::ranges::lower_bound(state.reads, block, {}, blockOf);
    if (at != state.reads.end() && blockOf(*at) == block)
      *at = event;
    else
      state.reads.insert(at, event);
  }
}

void RaceSearch::write(uint32_t event, Cells cells) {
  uint32_t rank = trace.events[event].rank;
  for (uint32_t cell = cells.first; cell < cells.first + cells.count; ++cell) {
    CellState &state = states[rank][cell];
    if (state.written)
      expectBefore(*state.written, event, "writes where");
    for (uint32_t other : state.reads)
      expectBefore(other, event, "overwrites what is read where");
    state.written = event;
    state.reads.clear();
  }
}

void RaceSearch::checkOverlap(uint32_t event) {
  const Event &now = trace.events[event];
  if (!now.reads || !now.writes)
    return;
  // In place each element is read and written by one thread, in this order.
  // Another thread may be ahead of it, or behind.
  uint32_t read = now.reads->first, written = now.writes->first;
  if (read != written && read < written + now.writes->count &&
      written < read + now.reads->count)
    findings.add(now.place, "race: this reads what it writes for another "
                            "chunk, and many threads do so at once");
}

void RaceSearch::addClocks(uint32_t rank, std::vector<uint32_t> &clocks) const {
  uint32_t first = trace.firstBlockOfRank[rank];
  size_t width = trace.firstBlockOfRank[rank + 1] - first;
  clocks.assign(trace.events.size() * width, 0);
  for (uint32_t event : order) {
    uint32_t *clock = &clocks[event * width];
    trace.before(event, [&](uint32_t other) {
      const uint32_t *theirs = &clocks[other * width];
      for (size_t i = 0; i < width; ++i)
        clock[i] = std::max(clock[i], theirs[i]);
    });
    const Event &now = trace.events[event];
    if (now.rank == rank)
      clock[now.block - first] = event - trace.firstOfBlock[now.block] + 1;
  }
}

void RaceSearch::decide(uint32_t rank) {
  std::vector<uint32_t> clocks;
  addClocks(rank, clocks);
  uint32_t first = trace.firstBlockOfRank[rank];
  size_t width = trace.firstBlockOfRank[rank + 1] - first;
  for (const Conflict &conflict : open[rank]) {
    uint32_t block = trace.events[conflict.event].block;
    if (clocks[conflict.later * width + block - first] <=
        conflict.event - trace.firstOfBlock[block])
      complain(conflict);
  }
}

void RaceSearch::find() {
  constexpr uint64_t mostClocks = uint64_t(1) << 27, mostWork = uint64_t(1)
                                                                << 33;
  for (uint32_t event : order) {
    const Event &now = trace.events[event];
    checkOverlap(event);
    if (now.reads)
      read(event, *now.reads);
    if (now.writes && now.addsToWritten)
      read(event, *now.writes);
    if (now.writes)
      write(event, *now.writes);
  }
  uint64_t work = 0;
  for (uint32_t rank = 0; rank < trace.numRanks(); ++rank) {
    if (open[rank].empty())
      continue;
    uint64_t clocks =
        uint64_t(trace.events.size()) *
        (trace.firstBlockOfRank[rank + 1] - trace.firstBlockOfRank[rank]);
    work += clocks;
    if (clocks > mostClocks || work > mostWork) {
      findings.add(trace.events[open[rank].front().later].place,
                   "not known: what comes before this is too far away to look "
                   "for races");
      return;
    }
    decide(rank);
  }
}

void exchange::findRaces(const Trace &trace, const std::vector<uint32_t> &order,
                         const std::vector<uint32_t> &cells,
                         Findings &findings) {
  RaceSearch(trace, order, cells, findings).find();
}
