//===- LowerBound.cpp - Certified bounds on the bandwidth cost ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tries linear programs from cheap to strong, turns each dual solution into a
// certificate, and keeps the best one that the checker accepts.
//
//===----------------------------------------------------------------------===//

#include "sccl/Bounds/LowerBound.h"

#include "Bounds/Constants.h"
#include "CellModel.h"
#include "Certify.h"
#include "ChunkSearch.h"
#include "PriceModel.h"
#include "Problem.h"
#include "SwitchBound.h"

#include "sccl/Model/Instance.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

using namespace sccl;
using namespace sccl::bounds;

static std::optional<Error> checkArguments(const Topology &topology,
                                           const Collective &collective,
                                           unsigned steps) {
  if (topology.numRanks() != collective.numRanks())
    return Error{"the topology has " + std::to_string(topology.numRanks()) +
                 " ranks, but the collective has " +
                 std::to_string(collective.numRanks())};
  if (steps < 1 || steps > Instance::maxRounds)
    return Error{"steps must be between 1 and " +
                 std::to_string(Instance::maxRounds) + ", got " +
                 std::to_string(steps)};
  if (topology.limits().empty())
    return Error{"a topology without limits has no bandwidth cost"};
  return std::nullopt;
}

/// True if all trees are of one commodity.
static bool hasOneCommodity(const Problem &problem) {
  return std::all_of(problem.trees.begin(), problem.trees.end(),
                     [](const Tree &tree) { return tree.commodity == 0; });
}

/// The programs to try, in this order.
static std::vector<TreeRules> programsFor(const Problem &problem) {
  if (problem.trees.empty())
    return {TreeRules::ArrivalsOnly};
  // Chunks of one source (or of all together) compete too little for links for
  // arrivals alone to say much.
  if (hasOneCommodity(problem))
    return {TreeRules::WithPaths, TreeRules::ArrivalsOnly};
  return {TreeRules::ArrivalsOnly, TreeRules::WithPaths};
}

struct LowerBounds::State {
  const Topology &topology;
  const Collective &collective;
  std::optional<RankSymmetry> symmetry;
  std::optional<uint64_t> parts;  ///< that programs tell apart, or a few less
  bool needsPaths = false;        ///< as fewer steps did
  bool isCutShort = false;        ///< the last search, by its work
  std::optional<Problem> problem; ///< of some number of steps
  std::map<unsigned, std::unique_ptr<struct Spreading>> spreading; ///< by root
  std::unique_ptr<struct Switching> switching; ///< if there are switches

  uint64_t countParts();
  Problem &problemOf(unsigned steps, const Deadline &deadline);
  std::optional<LowerBound> bySpreading(unsigned steps,
                                        LowerBoundOptions options,
                                        const Deadline &deadline);
  std::string byPrograms(unsigned steps, const LowerBoundOptions &options,
                         const Certificate &claim, const Deadline &deadline,
                         std::optional<LowerBound> &best);
  std::optional<LowerBound> bySearch(Certificate claim, const Rational &above,
                                     const LowerBoundOptions &options,
                                     const Deadline &deadline);
  std::optional<LowerBound> byCells(const CellQuestion &question,
                                    const Deadline &deadline);
  std::optional<LowerBound> byCells(const LowerBoundOptions &options,
                                    unsigned steps, const Deadline &deadline,
                                    std::optional<LowerBound> &best);
  Result<LowerBound> bySwitches(unsigned steps,
                                const LowerBoundOptions &options);
};

namespace sccl {
/// The bounds on what spreads the part of one rank.
struct Spreading {
  Spreading(const Topology &topology, Collective broadcast)
      : broadcast(std::move(broadcast)), bounds(topology, this->broadcast) {}

  const Collective broadcast;
  LowerBounds bounds;
};
/// The bounds with switches as vertices.
struct Switching {
  explicit Switching(SwitchQuestion asked)
      : question(std::move(asked)),
        bounds(question.graph, question.collective) {}

  const SwitchQuestion question;
  LowerBounds bounds;
};
} // namespace sccl

LowerBounds::LowerBounds(const Topology &topology, const Collective &collective)
    : state(new State{topology, collective, {}, {}, false, false, {}, {}, {}}) {
}

LowerBounds::~LowerBounds() = default;

bool LowerBounds::wantsMoreWork() const { return state->isCutShort; }

uint64_t LowerBounds::State::countParts() {
  if (!parts)
    parts = countMoving(collective) * uint64_t(topology.links().size());
  return *parts;
}

/// Symmetries of a thousand ranks are not extended to all links again for each
/// number of steps.
Problem &LowerBounds::State::problemOf(unsigned steps,
                                       const Deadline &deadline) {
  if (!problem)
    problem.emplace(makeProblem(topology, collective, steps, deadline));
  problem->steps = steps;
  return *problem;
}

/// The bound of the smallest program, where that is exact.
std::optional<LowerBound>
LowerBounds::State::byCells(const CellQuestion &question,
                            const Deadline &deadline) {
  if (!hasCellModel(collective))
    return std::nullopt;
  if (!symmetry)
    symmetry = findRankSymmetry(topology);
  auto proof =
      proveByCells(topology, collective, question, *symmetry, deadline);
  if (!proof)
    return std::nullopt;
  Certificate certificate = makeClaim(topology, collective, question.steps);
  certificate.pipelined = question.pipelined;
  certificate.proof = std::move(*proof);
  Result<LowerBound> bound =
      finish(std::move(certificate), topology, collective);
  if (!bound)
    return std::nullopt;
  return std::move(*bound);
}

/// The bound with paths, if that without is below the target; the latter is
/// left in `best`. What fewer steps needed paths for, more steps do.
std::optional<LowerBound>
LowerBounds::State::byCells(const LowerBoundOptions &options, unsigned steps,
                            const Deadline &deadline,
                            std::optional<LowerBound> &best) {
  CellQuestion question{steps, options.pipelined, /*withPaths=*/true,
                        options.maxColumns};
  bool isFirst = needsPaths && options.target;
  if (isFirst)
    if (auto found = byCells(question, deadline))
      return found;
  question.withPaths = false;
  best = byCells(question, deadline);
  if (isFirst || !best || !options.target || *best->value >= *options.target)
    return std::nullopt;
  needsPaths = true;
  question.withPaths = true;
  return byCells(question, deadline);
}

Result<LowerBound> sccl::lowerBound(const Topology &topology,
                                    const Collective &collective,
                                    unsigned steps,
                                    const LowerBoundOptions &options) {
  return LowerBounds(topology, collective).at(steps, options);
}

/// True if no other program is to be asked.
static bool isEnough(const LowerBound &best, const Problem &problem,
                     const LowerBoundOptions &options) {
  // With one commodity the stronger program came first.
  return hasOneCommodity(problem) || !options.target ||
         *best.value >= *options.target;
}

/// Rank 0, and if it is another, the one that can send the least.
static std::vector<unsigned> rootsToTry(const Topology &topology) {
  std::vector<uint64_t> capacities(topology.numRanks());
  for (unsigned link = 0; link < topology.links().size(); ++link)
    capacities[topology.links()[link].src] += topology.capacity(link);
  auto least = std::ranges::min_element(capacities) - capacities.begin();
  if (capacities[size_t(least)] == capacities[0])
    return {0};
  return {0, unsigned(least)};
}

/// What spreads the part of one rank, in a sum of so many ranks that all of
/// them together are too much: where the others' parts are zero, an all_reduce
/// is a broadcast.
std::optional<LowerBound>
LowerBounds::State::bySpreading(unsigned steps, LowerBoundOptions options,
                                const Deadline &deadline) {
  std::optional<LowerBound> best;
  if (collective.kind() != CollectiveKind::AllReduce)
    return best;
  std::vector<unsigned> all(topology.numRanks());
  std::iota(all.begin(), all.end(), 0u);
  for (unsigned root : rootsToTry(topology)) {
    options.timeoutSeconds = deadline.remainingLimit();
    Result<Collective> broadcast = Collective::make(
        CollectiveKind::Broadcast, topology.numRanks(), 1, root);
    if (!broadcast || deadline.isOver())
      break;
    std::unique_ptr<Spreading> &ofRoot = spreading[root];
    if (!ofRoot)
      ofRoot = std::make_unique<Spreading>(topology, std::move(*broadcast));
    Result<LowerBound> found = ofRoot->bounds.at(steps, options);
    auto *proof =
        found ? std::get_if<PriceProof>(&found->certificate.proof) : nullptr;
    if (!proof || proof->commodities.size() != 1)
      continue;
    proof->symmetries.clear();
    CommodityProof &commodity = proof->commodities.front();
    commodity.pre = commodity.post = all;
    Certificate claim = makeClaim(topology, collective, steps);
    claim.pipelined = options.pipelined;
    claim.proof = std::move(*proof);
    Result<LowerBound> bound = finish(std::move(claim), topology, collective);
    if (bound && (!best || *best->value < *bound->value))
      best = std::move(*bound);
  }
  return best;
}

/// Puts the best bound of the programs of all trees in `best`, if it is better
/// than what is there. Returns why there is none.
std::string LowerBounds::State::byPrograms(unsigned steps,
                                           const LowerBoundOptions &options,
                                           const Certificate &claim,
                                           const Deadline &deadline,
                                           std::optional<LowerBound> &best) {
  Problem &problem = problemOf(steps, deadline);
  problem.pipelined = options.pipelined;
  std::string why = deadline.isOver() ? deadline.reason() : "";
  for (TreeRules rules : programsFor(problem)) {
    if (deadline.isOver() || (best && isEnough(*best, problem, options)))
      break;
    if (best && rules == TreeRules::ArrivalsOnly)
      continue;
    auto duals = solvePrices(problem, rules, options.maxColumns, deadline);
    if (!duals) {
      why = why.empty() ? duals.error() : why;
      continue;
    }
    Result<LowerBound> bound =
        certify(problem, *duals, claim, topology, collective);
    if (!bound)
      why = bound.error();
    else if (!best || *bound->value > *best->value)
      best = std::move(*bound);
  }
  return why;
}

/// The bound of the current problem by searches that take no more than seconds.
std::optional<LowerBound>
LowerBounds::State::bySearch(Certificate claim, const Rational &above,
                             const LowerBoundOptions &options,
                             const Deadline &deadline) {
#ifdef SCCL_HAVE_CADICAL
  // No work left is not no limit.
  isCutShort = deadline.isOutOfWork();
  if (isCutShort)
    return std::nullopt;
  Deadline search({deadline.remainingLimit(),
                   std::min(deadline.remainingWork(), tuned::searchWork()),
                   options.interrupt});
  auto found = boundBySearch(*problem, collective, std::move(claim), topology,
                             above, *options.target, search);
  deadline.charge(search.work());
  isCutShort = search.isOutOfWork();
  return found;
#else
  return std::nullopt;
#endif
}

Result<LowerBound>
LowerBounds::State::bySwitches(unsigned steps,
                               const LowerBoundOptions &options) {
  if (!switching) {
    Result<SwitchQuestion> question = questionOnGraph(topology, collective);
    if (!question)
      return Error{question.error()};
    switching = std::make_unique<Switching>(std::move(*question));
  }
  Result<LowerBound> found =
      switching->bounds.at(2 * steps, SwitchQuestion::optionsFor(options));
  if (!found)
    return found;
  return switching->question.boundFor(std::move(*found), topology, collective,
                                      steps, options.pipelined);
}

Result<LowerBound> LowerBounds::at(unsigned steps,
                                   const LowerBoundOptions &options) {
  const Topology &topology = state->topology;
  const Collective &collective = state->collective;
  if (auto error = checkArguments(topology, collective, steps))
    return *error;
  state->isCutShort = false;
  Certificate claim = makeClaim(topology, collective, steps);
  claim.pipelined = options.pipelined;
  Deadline deadline(options);
  if (auto tooDistant = findTooDistant(topology, collective, steps, deadline)) {
    claim.proof = *tooDistant;
    return finish(std::move(claim), topology, collective);
  }
  if (deadline.isOver())
    return Error{deadline.reason()};
  if (!topology.switches().empty())
    return state->bySwitches(steps, options);
  auto isWanted = [&](const std::optional<LowerBound> &bound) {
    return bound && options.target && *bound->value < *options.target;
  };
  std::optional<LowerBound> best;
  if (auto found = state->byCells(options, steps, deadline, best))
    return std::move(*found);
  // The paths of all trees would be too many parts to tell apart.
  bool isLast = topology.links().size() * uint64_t(topology.numRanks()) >
                tuned::mostParts();
  if (best && (isLast || !isWanted(best)))
    return std::move(*best);
  // To list them all would take longer than to say so.
  bool isTooLarge = !best && state->countParts() > tuned::mostParts();
  if (isTooLarge || (!best && topology.numRanks() > tuned::mostProgramRanks()))
    best = state->bySpreading(steps, options, deadline);
  if (best && collective.kind() == CollectiveKind::AllReduce)
    return std::move(*best);
  if (isTooLarge)
    return Error{"the linear program would have more than " +
                 std::to_string(tuned::mostParts()) + " parts"};
  std::string why = state->byPrograms(steps, options, claim, deadline, best);
  if (!best)
    return Error{why};
  if (options.searches && isWanted(best))
    if (auto found =
            state->bySearch(std::move(claim), *best->value, options, deadline))
      return std::move(*found);
  return std::move(*best);
}

Result<LowerBound> sccl::availableBound(const Topology &topology,
                                        const Collective &collective,
                                        unsigned steps,
                                        const LowerBoundOptions &options) {
  Deadline deadline(options);
  Result<LowerBound> bound = lowerBound(topology, collective, steps, options);
  // On few ranks, what holds for some steps is seldom less than what holds for
  // any. On many, programs get weaker, and prices are rounded.
  bool isClose = bound && (options.pipelined || !bound->value ||
                           (bound->isOptimumOfProgram &&
                            topology.numRanks() <= tuned::mostProgramRanks()));
  if (isClose)
    return bound;
  LowerBoundOptions rest = options;
  rest.timeoutSeconds = deadline.remainingLimit();
  Result<LowerBound> anySteps = throughputBound(topology, collective, rest);
  if (bound) {
    bool isBetter =
        anySteps && anySteps->value && *anySteps->value > *bound->value;
    return isBetter ? anySteps : bound;
  }
  if (anySteps || anySteps.error() == bound.error())
    return anySteps;
  return Error{bound.error() +
               "; for any number of steps: " + anySteps.error()};
}
