//===- TreePoints.cpp - Points that are not written out -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TreePoints.h"

#include "sccl/Check/TreeChecker.h"
#include "sccl/Model/Scaling.h"

#include <mutex>

using namespace sccl;

struct LazySchedule::State {
  std::once_flag once;
  std::function<Schedule()> write;
  Schedule schedule;
};

LazySchedule::LazySchedule(Schedule schedule)
    : state(std::make_shared<State>()) {
  state->schedule = std::move(schedule);
}

LazySchedule::LazySchedule(std::function<Schedule()> write)
    : state(std::make_shared<State>()) {
  state->write = std::move(write);
}

const Schedule &LazySchedule::get() const {
  std::call_once(state->once, [this] {
    if (state->write)
      state->schedule = std::exchange(state->write, nullptr)();
  });
  return state->schedule;
}

Result<Implementation> FrontierPoint::implement(const CollectiveFamily &family,
                                                unsigned numRanks) const {
  Result<Collective> collective = family.make(numRanks, chunks);
  if (!collective)
    return Error{collective.error()};
  return Implementation{std::move(*collective), schedule.get()};
}

Result<Implementation> sccl::writeOut(const TreePoint &point,
                                      const CollectiveFamily &family,
                                      unsigned numRanks) {
  if (point.sends > Schedule::maxSends || point.chunks > UINT32_MAX)
    return Error{"the schedule has " + std::to_string(point.sends) +
                 " sends, the limit is " + std::to_string(Schedule::maxSends)};
  Result<Implementation> whole =
      writeOut(point.trees, family.kind, numRanks, family.root);
  if (!whole)
    return Error{whole.error()};
  Result<Collective> collective = family.make(numRanks, unsigned(point.chunks));
  if (!collective)
    return Error{collective.error()};
  return Implementation{
      std::move(*collective),
      cutChunks(whole->schedule, point.pieces, /*roundsFactor=*/1)};
}

/// The product; nothing if it is too large to count with.
static std::optional<uint64_t> product(uint64_t a, uint64_t b) {
  constexpr uint64_t most = uint64_t(1) << 62;
  uint64_t result;
  if (__builtin_mul_overflow(a, b, &result) || result > most)
    return std::nullopt;
  return result;
}

std::optional<TreePoint> sccl::makeTreePoint(const FrontierProblem &problem,
                                             const Topology &packedOn,
                                             TreeSchedule trees,
                                             double seconds) {
  const CollectiveFamily &family = problem.family;
  uint64_t ranks = problem.topology.numRanks();
  bool isOfEach = trees.kind == CollectiveKind::AllGather;
  std::optional<uint64_t> all = product(trees.chunks, problem.scale);
  std::optional<uint64_t> sends;
  if (all)
    sends =
        product(*all, (isOfEach ? ranks : 1) * (ranks - 1) *
                          (trees.kind == CollectiveKind::AllReduce ? 2 : 1));
  if (all && family.kind == CollectiveKind::ReduceScatter)
    all = product(*all, ranks);
  if (!all || !sends || checkTreeSchedule(packedOn, trees, family.root))
    return std::nullopt;
  return TreePoint{*all,
                   trees.totalRounds(),
                   unsigned(trees.rounds.size()),
                   std::move(trees),
                   problem.scale,
                   *sends,
                   seconds,
                   nullptr};
}

std::optional<FrontierPoint>
sccl::asFrontierPoint(const FrontierProblem &problem, const TreePoint &point) {
  if (point.chunks > uint64_t(FrontierOptions::maxMaxChunks) * problem.unit() ||
      point.rounds > Instance::maxRounds)
    return std::nullopt;
  auto write = [point, family = problem.family,
                ranks = problem.topology.numRanks()] {
    Result<Implementation> written = writeOut(point, family, ranks);
    return written ? std::move(written->schedule) : Schedule();
  };
  return FrontierPoint{unsigned(point.chunks),
                       point.steps,
                       unsigned(point.rounds),
                       LazySchedule(write),
                       std::string(problem.treeEngine()),
                       point.seconds,
                       nullptr};
}
