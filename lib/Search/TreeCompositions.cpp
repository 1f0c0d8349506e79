//===- TreeCompositions.cpp - All_reduces made of trees -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TreeCompositions.h"

#include "TreePoints.h"

#include "Solver/Quotient.h"

#include <algorithm>
#include <bit>
#include <numeric>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Two schedules
//===----------------------------------------------------------------------===//

/// The way of a chunk to the origin of `first`, and from there as in `second`,
/// which begins at step `begin`.
static ChunkTree joinTrees(const ChunkTree &first, const ChunkTree &second,
                           unsigned begin, uint64_t count) {
  ChunkTree tree{first.origin, count, {}};
  for (const TreeSend &send : first.sends)
    tree.sends.push_back(
        {begin - 1 - send.step, send.dst, send.src, SendAction::Reduce});
  for (const TreeSend &send : second.sends)
    tree.sends.push_back({begin + send.step, send.src, send.dst});
  return tree;
}

/// Each tree of `first` with trees of `second`, of the same origin, so that all
/// have the chunks that they want. False if they do not come out even.
static bool pairTrees(std::vector<ChunkTree> first,
                      std::vector<ChunkTree> second, unsigned begin,
                      std::vector<ChunkTree> &pairs) {
  std::ranges::stable_sort(first, {}, &ChunkTree::origin);
  std::ranges::stable_sort(second, {}, &ChunkTree::origin);
  auto to = second.begin();
  for (ChunkTree &from : first)
    while (from.count > 0) {
      if (to == second.end() || to->origin != from.origin)
        return false;
      uint64_t count = std::min(from.count, to->count);
      if (count > 0)
        pairs.push_back(joinTrees(from, *to, begin, count));
      from.count -= count;
      to->count -= count;
      to += to->count == 0;
    }
  return to == second.end();
}

/// As many times as many chunks, over as many rounds.
static TreeSchedule multiplied(TreeSchedule schedule, uint64_t factor) {
  schedule.chunks *= factor;
  for (uint64_t &rounds : schedule.rounds)
    rounds *= factor;
  for (ChunkTree &tree : schedule.trees)
    tree.count *= factor;
  return schedule;
}

std::optional<TreeSchedule> sccl::composeTrees(const TreeSchedule &first,
                                               const TreeSchedule &second,
                                               unsigned ranks) {
  constexpr uint64_t most = uint64_t(1) << 30;
  if (first.generators != second.generators || first.chunks > most ||
      second.chunks > most)
    return std::nullopt;
  uint64_t chunks = std::lcm(first.chunks, second.chunks);
  TreeSchedule before = multiplied(first, chunks / first.chunks);
  TreeSchedule after = multiplied(second, chunks / second.chunks);
  TreeSchedule result{
      CollectiveKind::AllReduce, chunks * ranks, {}, first.generators, {}};
  result.rounds.assign(before.rounds.rbegin(), before.rounds.rend());
  result.rounds.insert(result.rounds.end(), after.rounds.begin(),
                       after.rounds.end());
  if (!pairTrees(std::move(before.trees), std::move(after.trees),
                 unsigned(first.rounds.size()), result.trees))
    return std::nullopt;
  return result;
}

//===----------------------------------------------------------------------===//
// The cheapest
//===----------------------------------------------------------------------===//

/// Sends of a composition of all_gathers of `chunks` chunks.
static double sendsOf(uint64_t chunks, unsigned ranks) {
  return 2.0 * double(chunks) * ranks * (ranks - 1);
}

void TreeCompositions::findParts() {
  hasParts = true;
  unsigned ranks = problem.topology.numRanks();
  bool isSum = problem.family.isPlain() &&
               problem.family.kind == CollectiveKind::AllReduce;
  // Of fewer ranks trees for sums come as close, and engines closer.
  constexpr unsigned many = 16;
  if (!isSum || ranks <= many || !problem.wantsTrees() ||
      problem.options.maxChunksIsFirm || !isOwnReverse(problem.topology))
    return;
  constexpr uint64_t work = 5'000'000;
  // Of the same number of chunks, so that all fit together, and as many as can
  // be written out: what rounding loses is less then.
  uint64_t most =
      Schedule::maxSends / (uint64_t(sendsOf(problem.scale, ranks)));
  constexpr uint64_t enough = 64;
  uint64_t chunks = std::bit_floor(std::min(most, enough));
  const TreeSynthesis synthesis(problem.reduced, CollectiveKind::AllGather);
  for (unsigned steps = 1; chunks > 0 && steps < problem.options.maxSteps;
       ++steps) {
    if (problem.deadline.isOver())
      return;
    if (auto found = synthesis.rounded(steps, chunks, problem.limitsOf(work)))
      parts.push_back(std::move(*found));
  }
}

std::optional<TreePoint> TreeCompositions::at(unsigned steps) {
  if (!hasParts)
    findParts();
  unsigned ranks = problem.topology.numRanks();
  std::optional<TreeSchedule> best;
  for (const TreeSchedule &first : parts)
    for (const TreeSchedule &second : parts) {
      if (first.rounds.size() + second.rounds.size() != steps)
        continue;
      std::optional<TreeSchedule> joined = composeTrees(first, second, ranks);
      if (joined && (!best || joined->bandwidth() < best->bandwidth()))
        best = std::move(joined);
    }
  if (!best)
    return std::nullopt;
  return makeTreePoint(problem, problem.reduced, std::move(*best), 0);
}
