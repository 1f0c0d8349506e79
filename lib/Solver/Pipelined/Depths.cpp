//===- Depths.cpp - Pipelined schedules of bounded depth ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The linear program over trees of TreePacking.h with one price for each limit,
// since pieces follow each other and all steps are under way at once. Where it
// finds no optimal trees, those of SpanningTrees.h may be shallow enough.
//
//===----------------------------------------------------------------------===//

#include "ByRelay.h"
#include "InNetwork.h"
#include "Question.h"
#include "Solver/Constants.h"
#include "Solver/Quotient.h"
#include "sccl/Solver/Pipelined.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/Composition.h"
#include "sccl/Model/Instance.h"
#include "sccl/Solver/Makers.h"
#include "sccl/Solver/Multicasts.h"
#include "sccl/Solver/Trees.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace sccl;

/// The collective with the smallest C; loads do not depend on it.
static Result<Collective> smallestOf(const CollectiveFamily &family,
                                     unsigned ranks) {
  return family.make(ranks, unsigned(family.unit(ranks)));
}

static Error hasNone(const CollectiveFamily &family) {
  return Error{"there are no pipelined schedules of " + family.name() + " yet"};
}

bool sccl::hasPipelinedSchedules(const CollectiveFamily &family,
                                 unsigned numRanks) {
  if (family.isPlain())
    return hasPipelinedSchedules(family.kind);
  Result<Collective> smallest = smallestOf(family, numRanks);
  return smallest && MulticastSynthesis::takes(*smallest);
}

namespace {
/// An all_reduce from a reduce_scatter and an all_gather, of which each may
/// take any share of the steps.
class Compositions {
public:
  explicit Compositions(const Topology &topology);
  std::optional<Implementation> at(unsigned steps, unsigned maxChunks,
                                   const SearchLimits &limits);

private:
  /// By steps and the most chunks.
  using Parts =
      std::map<std::pair<unsigned, unsigned>, std::optional<Implementation>>;
  const std::optional<Implementation> &partOf(unsigned steps,
                                              unsigned maxChunks, bool isFirst,
                                              const SearchLimits &limits);
  std::optional<Implementation> join(const Implementation &first,
                                     const Implementation &second) const;

  const Topology &topology;
  const Topology reversed;
  const bool isSymmetric;
  TreeSynthesis forth, back;
  Parts allGathers, onReversed;
};
} // namespace

struct PipelinedDepths::State {
  State(const Topology &topology, const CollectiveFamily &family)
      : topology(topology), family(family), kind(family.kind),
        root(family.root) {
    if (family.isPlain())
      error = pipelined::checkQuestion(topology, kind, root);
    if (error)
      return;
    Result<Collective> made = smallestOf(family, topology.numRanks());
    if (!made) {
      error = Error{made.error()};
      return;
    }
    smallest = std::move(*made);
    bounds = std::make_unique<LowerBounds>(topology, *smallest);
    if (!family.isPlain())
      makeMulticasts();
    else if (!topology.switches().empty() && isAsked(Maker::in_network))
      inNetwork = std::make_unique<pipelined::InNetwork>(topology, kind, root);
  }

  void makeMulticasts();
  std::optional<PipelinedSchedule> cheapest(unsigned steps, unsigned maxChunks,
                                            const SearchLimits &limits);
  DepthAnswer answer(unsigned steps, unsigned maxChunks,
                     const SearchLimits &limits);
  void offer(std::optional<PipelinedSchedule> &best,
             std::optional<Implementation> found) const;
  unsigned leastSteps();
  const Result<PipelinedSchedule> &anyDepth(const SearchLimits &limits);
  const std::optional<LowerBound> &
  boundForAnyDepth(std::optional<Rational> target, const SearchLimits &limits);
  std::optional<LowerBound> boundAt(unsigned steps,
                                    std::optional<Rational> target,
                                    const SearchLimits &limits);

  const Topology &topology;
  const CollectiveFamily family;
  const CollectiveKind kind;
  const unsigned root;
  std::optional<Error> error;
  std::optional<Collective> smallest;
  std::optional<unsigned> diameter; ///< the links of the longest way
  std::unique_ptr<LowerBounds> bounds;
  std::optional<LowerBound> throughput; ///< the best bound for any depth
  std::map<unsigned, LowerBound> known; ///< the bounds for some depths
  std::optional<Result<PipelinedSchedule>> limit;
  std::unique_ptr<pipelined::InNetwork> inNetwork; ///< if there are switches
  // Both look for symmetries first: they are made when they are asked.
  std::unique_ptr<Compositions> compositions; ///< of an all_reduce
  std::unique_ptr<TreeSynthesis> trees;
  /// Of what is not for all ranks; then no other engine is there.
  std::unique_ptr<MulticastSynthesis> multicasts;
};

void PipelinedDepths::State::makeMulticasts() {
  if (!topology.switches().empty())
    error =
        Error{"through switches that copy or reduce, there are no schedules "
              "of " +
              family.name() + " yet"};
  else if (MulticastSynthesis::takes(*smallest))
    multicasts = std::make_unique<MulticastSynthesis>(topology, *smallest);
  else
    error = hasNone(family);
}

PipelinedDepths::PipelinedDepths(const Topology &topology,
                                 const CollectiveFamily &family)
    : state(std::make_unique<State>(topology, family)) {}

PipelinedDepths::~PipelinedDepths() = default;

/// What trees of `steps` steps give.
template <typename Synthesis>
static std::optional<Implementation>
packTrees(const Synthesis &trees, unsigned steps, unsigned maxChunks,
          const SearchLimits &limits) {
  TreeSynthesis::Wanted wanted{steps, maxChunks, maxChunks,
                               tuned::mostPipelinedSends()};
  wanted.pipelined = true;
  return trees.best(wanted, limits);
}

static Rational loadOf(const Implementation &found) {
  return pipelinedCostOf(found.schedule, found.collective).load;
}

//===----------------------------------------------------------------------===//
// Compositions
//===----------------------------------------------------------------------===//

Compositions::Compositions(const Topology &topology)
    : topology(topology), reversed(topology.reversed()),
      isSymmetric(isOwnReverse(topology)),
      forth(topology, CollectiveKind::AllGather),
      back(reversed, CollectiveKind::AllGather) {}

const std::optional<Implementation> &
Compositions::partOf(unsigned steps, unsigned maxChunks, bool isFirst,
                     const SearchLimits &limits) {
  bool isBack = isFirst && !isSymmetric;
  auto [at, isNew] = (isBack ? onReversed : allGathers)
                         .try_emplace(std::pair(steps, maxChunks));
  if (isNew)
    at->second = packTrees(isBack ? back : forth, steps, maxChunks, limits);
  return at->second;
}

std::optional<Implementation>
Compositions::join(const Implementation &first,
                   const Implementation &second) const {
  unsigned ranks = topology.numRanks();
  uint64_t chunks =
      std::lcm(uint64_t(first.collective.chunks()), second.collective.chunks());
  if (chunks * 2 * ranks * (ranks - 1) > Schedule::maxSends)
    return std::nullopt;
  Result<Implementation> joined = composeAllReduce(first, second);
  if (!joined)
    return std::nullopt;
  joined->schedule.period = leastPeriod(joined->schedule, topology);
  return std::move(*joined);
}

/// The best split of `steps`; loads add up.
std::optional<Implementation> Compositions::at(unsigned steps,
                                               unsigned maxChunks,
                                               const SearchLimits &limits) {
  const Implementation *first = nullptr, *second = nullptr;
  auto cost = [](const Implementation &a, const Implementation &b) {
    return std::pair(loadOf(a).toDouble() + loadOf(b).toDouble(),
                     std::lcm(uint64_t(a.collective.chunks()),
                              uint64_t(b.collective.chunks())));
  };
  for (unsigned before = 1; before < steps; ++before) {
    const auto &a = partOf(before, maxChunks, /*isFirst=*/true, limits);
    const auto &b =
        partOf(steps - before, maxChunks, /*isFirst=*/false, limits);
    if (a && b && (!first || cost(*a, *b) < cost(*first, *second))) {
      first = &*a;
      second = &*b;
    }
  }
  return first ? join(*first, *second) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Depths
//===----------------------------------------------------------------------===//

/// The schedule that no depth limits.
const Result<PipelinedSchedule> &
PipelinedDepths::State::anyDepth(const SearchLimits &limits) {
  if (!limit)
    limit = synthesizePipelined(topology, kind, root, limits);
  return *limit;
}

static LowerBoundOptions boundOptions(std::optional<Rational> target,
                                      const SearchLimits &limits) {
  LowerBoundOptions options;
  static_cast<SearchLimits &>(options) = limits;
  options.target = target;
  options.pipelined = true;
  return options;
}

/// What met one target need not be asked about a lower one.
const std::optional<LowerBound> &
PipelinedDepths::State::boundForAnyDepth(std::optional<Rational> target,
                                         const SearchLimits &limits) {
  if (!throughput)
    if (auto bound =
            throughputBound(topology, *smallest, boundOptions(target, limits)))
      throughput = std::move(*bound);
  return throughput;
}

/// The best bound on the load of `steps` steps, or one that reaches `target`.
std::optional<LowerBound>
PipelinedDepths::State::boundAt(unsigned steps, std::optional<Rational> target,
                                const SearchLimits &limits) {
  boundForAnyDepth(target, limits);
  if (throughput && target && *throughput->value >= *target)
    return throughput;
  if (auto it = known.find(steps); it != known.end())
    return it->second;
  Result<LowerBound> bound = bounds->at(steps, boundOptions(target, limits));
  if (bound &&
      (!bound->value || !throughput || *bound->value >= *throughput->value))
    return known.emplace(steps, std::move(*bound)).first->second;
  if (bound && throughput)
    known.emplace(steps, *throughput);
  return throughput;
}

/// The cheapest so far, if the checker accepts it.
void PipelinedDepths::State::offer(std::optional<PipelinedSchedule> &best,
                                   std::optional<Implementation> found) const {
  if (!found || (best && best->cost().load <= loadOf(*found)) ||
      checkSchedule(topology, found->collective, found->schedule))
    return;
  best = PipelinedSchedule{std::move(*found), std::nullopt, false};
}

/// `limits` less the time since `deadline` began.
static SearchLimits restOf(const SearchLimits &limits,
                           const Deadline &deadline) {
  SearchLimits rest = limits;
  rest.timeoutSeconds = deadline.remainingLimit();
  return rest;
}

static bool meets(const std::optional<PipelinedSchedule> &schedule,
                  const std::optional<LowerBound> &bound) {
  return schedule && bound && bound->value == schedule->cost().load;
}

/// Of compositions, and where these do not meet a bound of trees.
std::optional<PipelinedSchedule>
PipelinedDepths::State::cheapest(unsigned steps, unsigned maxChunks,
                                 const SearchLimits &limits) {
  Deadline deadline(limits);
  std::optional<PipelinedSchedule> best;
  if (multicasts) {
    if (steps >= 2)
      offer(best, pipelined::throughRelays(topology, family, *smallest));
    if (!meets(best, boundForAnyDepth(std::nullopt, restOf(limits, deadline))))
      offer(best,
            packTrees(*multicasts, steps, maxChunks, restOf(limits, deadline)));
    return best;
  }
  if (inNetwork) {
    for (Implementation &found : inNetwork->known(steps))
      offer(best, std::move(found));
    auto isMet = [&] {
      return meets(best,
                   boundForAnyDepth(std::nullopt, restOf(limits, deadline)));
    };
    if ((best && inNetwork->isLarge()) || isMet())
      return best;
    if (auto found = inNetwork->packed(steps, maxChunks, limits);
        found && found->schedule.steps.size() <= steps)
      offer(best, std::move(found));
    if (isMet())
      return best;
  }
  if (kind == CollectiveKind::AllReduce) {
    if (!compositions)
      compositions = std::make_unique<Compositions>(topology);
    offer(best, compositions->at(steps, maxChunks, limits));
  }
  if (!best || !meets(best, boundForAnyDepth(best->cost().load,
                                             restOf(limits, deadline)))) {
    if (!trees)
      trees = std::make_unique<TreeSynthesis>(topology, kind, root);
    offer(best, packTrees(*trees, steps, maxChunks, restOf(limits, deadline)));
  }
  return best;
}

/// The links that the farthest chunk passes, or Topology::unreachable.
unsigned PipelinedDepths::State::leastSteps() {
  if (!diameter) {
    diameter = 0;
    auto note = [this](const std::vector<unsigned> &distances) {
      diameter = std::max(*diameter, *std::ranges::max_element(distances));
    };
    if (kind == CollectiveKind::Reduce)
      note(topology.distancesTo({root}));
    else if (isRooted(kind))
      note(topology.distancesFrom(root));
    else
      for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
        note(topology.distancesFrom(rank));
  }
  return *diameter;
}

/// From what is there at once to what takes longest, until a bound is met.
DepthAnswer PipelinedDepths::State::answer(unsigned steps, unsigned maxChunks,
                                           const SearchLimits &limits) {
  Deadline deadline(limits);
  std::optional<PipelinedSchedule> best;
  if (multicasts || steps >= leastSteps())
    best = cheapest(steps, maxChunks, limits);
  std::optional<Rational> load;
  if (best)
    load = best->cost().load;
  std::optional<LowerBound> bound =
      boundAt(steps, load, restOf(limits, deadline));
  if (bound && !bound->value)
    return {Error{"there is no schedule of " + std::to_string(steps) +
                  (steps == 1 ? " step" : " steps")},
            std::move(bound)};
  if (!multicasts && !meets(best, bound) && !deadline.isOver()) {
    const Result<PipelinedSchedule> &other = anyDepth(restOf(limits, deadline));
    if (other && other->cost().steps <= steps)
      offer(best, other->implementation);
  }
  if (!best)
    return {Error{deadline.isOver() ? deadline.reason()
                                    : "no packing of trees was found"}};
  best->optimal = meets(best, bound);
  best->bound = std::move(bound);
  return {std::move(*best)};
}

DepthAnswer PipelinedDepths::at(unsigned steps, const SearchLimits &limits,
                                unsigned maxChunks) {
  if (state->error)
    return {*state->error};
  if (steps < 1 || steps > Instance::maxRounds)
    return {Error{"steps must be between 1 and " +
                  std::to_string(Instance::maxRounds) + ", got " +
                  std::to_string(steps)}};
  return state->answer(steps, maxChunks, limits);
}

std::optional<LowerBound>
PipelinedDepths::boundForAnyDepth(const SearchLimits &limits) {
  if (state->error)
    return std::nullopt;
  return state->boundForAnyDepth(std::nullopt, limits);
}

std::optional<Implementation>
PipelinedDepths::packed(unsigned steps, unsigned maxChunks,
                        const SearchLimits &limits) {
  if (state->error)
    return std::nullopt;
  std::optional<PipelinedSchedule> found =
      state->cheapest(steps, maxChunks, limits);
  return found ? std::optional(std::move(found->implementation)) : std::nullopt;
}
