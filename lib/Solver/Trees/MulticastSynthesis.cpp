//===- MulticastSynthesis.cpp - Schedules for any chunks that move --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cheapest.h"
#include "MulticastPacking.h"

#include "Solver/Backends.h"
#include "sccl/Model/CollectiveFamily.h"
#include "sccl/Solver/Multicasts.h"

#include <algorithm>
#include <cmath>

using namespace sccl;
using namespace sccl::trees;

/// The collective whose chunks are moved: `collective`, or its inverse.
static std::optional<Collective> movedBy(const Collective &collective) {
  if (!collective.combining())
    return collective;
  Result<Collective> inverse = inverseOf(collective);
  if (!inverse || inverse->combining())
    return std::nullopt;
  return std::move(*inverse);
}

bool MulticastSynthesis::takes(const Collective &collective) {
  return movedBy(collective).has_value();
}

//===----------------------------------------------------------------------===//
// All C and R of one number of steps
//===----------------------------------------------------------------------===//

struct MulticastSynthesis::State {
  State(const Topology &given, const Collective &smallest)
      : combines(smallest.combining()),
        topology(combines ? given.reversed() : given),
        moved(*movedBy(smallest)), chunks(smallest.chunks()),
        problem(topology, moved) {}
  State(const Topology &given, const Collective &smallest,
        const SumOrder &order)
      : combines(false), topology(given), moved(smallest),
        chunks(smallest.chunks()), problem(topology, moved, order) {}

  std::optional<Implementation> finish(MulticastSchedule found) const;

  const bool combines;     ///< and is turned round
  const Topology topology; ///< on which chunks are moved
  const Collective moved;
  const unsigned chunks; ///< C of the collective asked for
  const MulticastProblem problem;
};

MulticastSynthesis::MulticastSynthesis(const Topology &topology,
                                       const Collective &smallest)
    : state(std::make_unique<State>(topology, smallest)) {}

MulticastSynthesis::MulticastSynthesis(const Topology &topology,
                                       const Collective &smallest,
                                       const SumOrder &order)
    : state(std::make_unique<State>(topology, smallest, order)) {}

MulticastSynthesis::~MulticastSynthesis() = default;

/// Without steps in which nothing happens, and turned round if that is what was
/// asked for.
std::optional<Implementation>
MulticastSynthesis::State::finish(MulticastSchedule found) const {
  std::erase_if(found.schedule.steps,
                [](const Step &step) { return step.sends.empty(); });
  Result<Collective> collective = CollectiveFamily::of(moved).make(
      moved.numRanks(), moved.chunks() * found.pieces);
  if (!collective)
    return std::nullopt;
  Implementation result{std::move(*collective), std::move(found.schedule)};
  if (!combines)
    return result;
  Result<Implementation> inverted = invert(result);
  if (!inverted)
    return std::nullopt;
  return std::move(*inverted);
}

std::optional<Implementation>
MulticastSynthesis::best(const TreeSynthesis::Wanted &wanted,
                         const SearchLimits &limits,
                         std::vector<double> *prices) const {
  constexpr double tolerance = 1e-9;
  Deadline deadline(limits);
  std::optional<double> below;
  if (wanted.below)
    below = wanted.below->toDouble() * state->chunks;
  MulticastPacking packing(state->problem, wanted.steps,
                           wanted.pipelined ? Rounds::InAll : Rounds::PerStep);
  // To round what is found takes some work, too.
  SearchLimits most = limits;
  if (!state->problem.sums.empty())
    most.maxWork = limits.maxWork / 4 * 3;
  Deadline untilRounding(most);
  std::optional<double> value = packing.generate(untilRounding);
  deadline.charge(untilRounding.work());
  if (prices)
    *prices = packing.limitPrices();
  if (!value || (below && *value >= *below * (1 - tolerance)))
    return std::nullopt;
  // Each piece needs a send at least into each rank that gets it.
  uint64_t sends = 1;
  for (const Multicast &multicast : state->problem.multicasts)
    sends += multicast.chunks.size() * multicast.targets.size();
  unsigned mostExact = unsigned(
      std::min<uint64_t>(std::max(wanted.maxExactChunks / state->chunks, 1u),
                         wanted.maxSends / sends));
  unsigned few = std::min(wanted.maxChunks, mostExact);
  Cheapest<MulticastSchedule> best(below);
  auto offer = [&](std::optional<MulticastSchedule> found) {
    if (!found)
      return;
    double cost =
        double(found->schedule.isPipelined() ? found->schedule.period
                                             : found->schedule.rounds()) /
        found->pieces;
    best.offer(std::move(*found), cost);
  };
  auto offerRounded = [&](unsigned pieces) {
    // Even with no loss by rounding up it would be no better.
    if (best.isBelow(std::ceil(*value * pieces - 1e-6) / pieces))
      offer(packing.round(pieces, deadline));
  };
  auto ends = [&](double wantedValue) {
    return deadline.expired() || !best.isBelow(wantedValue * (1 + tolerance));
  };
  for (unsigned pieces = 1; pieces <= few && !ends(*value); ++pieces)
    offerRounded(pieces);
  if (!best.meets(*value))
    offer(packing.exact(mostExact, deadline));
  // With many pieces what is a hundredth more will do.
  for (unsigned pieces = 2 * few; pieces <= mostExact && !ends(*value * 1.01);
       pieces *= 2)
    offerRounded(pieces);
  std::optional<MulticastSchedule> found = best.take();
  return found ? state->finish(std::move(*found)) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// One C, S and R
//===----------------------------------------------------------------------===//

static Outcome pack(const Instance &instance, const Deadline &deadline) {
  MulticastProblem problem(instance.topology, instance.collective);
  MulticastPacking packing(problem, instance.steps);
  std::optional<double> value = packing.generate(deadline);
  if (!value && deadline.expired())
    return gaveUp(deadline);
  if (value && *value <= instance.rounds + 1e-6) {
    auto whole = packing.round(1, deadline);
    if (!whole || whole->schedule.rounds() > instance.rounds)
      whole = packing.exact(1, deadline);
    if (whole && whole->schedule.rounds() <= instance.rounds) {
      Schedule schedule = std::move(whole->schedule);
      schedule.steps.back().rounds += instance.rounds - schedule.rounds();
      return Satisfied{std::move(schedule)};
    }
  }
  if (deadline.expired())
    return gaveUp(deadline);
  return Unknown{"no packing of trees found, which does not exclude other "
                 "schedules"};
}

namespace {
class MulticastBackend final : public SolverBackend {
public:
  MulticastBackend()
      : SolverBackend({.name = MulticastSynthesis::engine,
                       .workUnit = "iterations, and links looked at",
                       .kinds = {CollectiveKind::Custom, CollectiveKind::Gather,
                                 CollectiveKind::Scatter}}) {}

  std::string whyNot(const Instance &instance) const override {
    std::string refusal = SolverBackend::whyNot(instance);
    if (refusal.empty() && instance.collective.combining())
      refusal = "multicasts takes no collective that reduces, got '" +
                instance.collective.name() + "'";
    return refusal;
  }

  SynthesisResult solve(const Instance &instance,
                        const SolverOptions &options) const override {
    return runEngine(*this, instance, options, [&](const Deadline &deadline) {
      return pack(instance, deadline);
    });
  }
};
} // namespace

std::unique_ptr<SolverBackend> sccl::createMulticastBackend() {
  return std::make_unique<MulticastBackend>();
}
