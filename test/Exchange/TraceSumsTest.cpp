//===- TraceSumsTest.cpp - Partial sums of traces become schedules --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Exchange/TraceSums.h"

#include "sccl/Check/ScheduleChecker.h"

#include "gtest/gtest.h"

#include <bit>
#include <map>
#include <numeric>
#include <random>

using namespace sccl;
using namespace sccl::exchange;

namespace {
/// Makes traces in which each rank gets a sum of inputs in some way: by adding
/// two sums, or from another rank, which gets it in some way.
class RandomSums {
public:
  RandomSums(unsigned ranks, unsigned seed)
      : cells(ranks, 1), rng(seed), sendsOf100(rng() % 80) {}

  /// The cell of `rank` that holds the sum over the ranks in `set`.
  uint32_t cellWith(uint32_t rank, unsigned set) {
    if (set == 1u << rank)
      return 0;
    if (auto at = known.find({rank, set}); at != known.end())
      return at->second;
    bool isSent = std::has_single_bit(set) || rng() % 100 < sendsOf100;
    uint32_t cell = isSent ? receive(rank, set) : add(rank, set);
    return known[{rank, set}] = cell;
  }

  Trace trace;
  std::vector<uint32_t> cells; ///< how many there are, by rank

private:
  uint32_t receive(uint32_t rank, unsigned set) {
    uint32_t source = rank;
    while (source == rank || !(set >> source & 1))
      source = uint32_t(rng() % cells.size());
    Event send{};
    send.rank = source;
    send.reads = Cells{cellWith(source, set), 1};
    trace.events.push_back(send);
    Event arrival{};
    arrival.rank = rank;
    arrival.from = uint32_t(trace.events.size() - 1);
    arrival.writes = Cells{cells[rank]++, 1};
    trace.events.push_back(arrival);
    return arrival.writes->first;
  }
  uint32_t add(uint32_t rank, unsigned set) {
    unsigned part = 0;
    while (part == 0 || part == set)
      part = set & unsigned(rng());
    uint32_t left = cellWith(rank, part), right = cellWith(rank, set & ~part);
    Event sum{};
    sum.rank = rank;
    sum.writes = Cells{cells[rank]++, 1};
    sum.reads = Cells{left, 1};
    trace.events.push_back(sum);
    sum.reads = Cells{right, 1};
    sum.addsToWritten = true;
    trace.events.push_back(sum);
    return sum.writes->first;
  }

  std::mt19937 rng;
  unsigned sendsOf100;
  std::map<std::pair<uint32_t, unsigned>, uint32_t> known;
};
} // namespace

/// Why the schedule of a random trace is wrong; empty if it is right.
static std::string mistakeOf(CollectiveKind kind, unsigned ranks,
                             unsigned seed) {
  Result<Collective> collective = Collective::make(kind, ranks, 1, 0);
  if (!collective)
    return collective.error();
  RandomSums sums(ranks, seed);
  TraceTask task{*collective, {}, {}, {}};
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    task.inputs.push_back({rank, 0, 0});
    if (collective->post().contains(rank, 0))
      task.outputs.push_back({rank, sums.cellWith(rank, (1u << ranks) - 1), 0});
  }
  task.cells = sums.cells;
  std::vector<uint32_t> order(sums.trace.events.size());
  std::iota(order.begin(), order.end(), 0u);
  Result<Schedule> schedule = scheduleOfSums(sums.trace, order, task);
  if (!schedule)
    return schedule.error();
  Topology topology("all", ranks);
  for (uint32_t src = 0; src < ranks; ++src)
    for (uint32_t dst = 0; dst < ranks; ++dst)
      if (src != dst)
        (void)topology.addLink(src, dst, 1);
  fitRounds(*schedule, topology);
  auto violation = checkSchedule(topology, *collective, *schedule);
  return violation ? violation->message : "";
}

/// Also where an input goes away and comes back in parts that arrive at once,
/// and where a rank is sent what it has.
TEST(TraceSums, RandomReductions) {
  for (unsigned seed = 0; seed < 2000; ++seed)
    for (CollectiveKind kind :
         {CollectiveKind::AllReduce, CollectiveKind::Reduce})
      ASSERT_EQ(mistakeOf(kind, 2 + seed % 5, seed), "") << seed;
}
