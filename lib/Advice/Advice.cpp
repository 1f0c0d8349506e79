//===- Advice.cpp - Which schedule for which size -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Advice/Advice.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/Pieces.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Simulate/Traffic.h"
#include "sccl/Solver/Pipelined.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <map>

using namespace sccl;

std::vector<LoweringWay> sccl::usualWays(const LoweringOptions &base) {
  std::vector<LoweringWay> ways = {
      {"flags", base}, {"double-buffer", base}, {"ll", base}};
  ways[1].options.throughScratch = true;
  ways[1].options.doubleBuffer = true;
  ways[2].options.ll = true;
  return ways;
}

double Candidate::microseconds(const CostModel &model, double bytes) const {
  const auto &[collective, schedule] = implementation;
  if (isPipelined())
    return (pieces + double(schedule.steps.size()) - 1) *
           (model.alphaMicroseconds +
            load * bytes * model.betaMicrosecondsPerByte / pieces);
  return model.microseconds(costOf(schedule, collective), bytes);
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

static void addPoints(const Topology &topology, const CollectiveFamily &family,
                      const Frontier &frontier,
                      std::vector<Candidate> &candidates) {
  for (const FrontierPoint &point : frontier.points)
    if (Result<Collective> collective =
            family.make(topology.numRanks(), point.chunks))
      candidates.push_back(
          {{std::move(*collective), point.schedule}, 1, 0, point.bound});
}

/// Rounds of the fullest limit over C, not rounded up.
static double loadOf(const Implementation &implementation,
                     const Topology &topology) {
  return exactPeriod(implementation.schedule, topology) /
         implementation.collective.chunks();
}

namespace {
/// Collects pipelined candidates, without those that others make superfluous.
class PipelinedCandidates {
public:
  explicit PipelinedCandidates(const Topology &topology) : topology(topology) {}
  static constexpr double asGood = 1.01; ///< of loads, relative
  void add(Result<PipelinedSchedule> found);
  std::vector<Candidate> take() { return std::move(candidates); }

private:
  const Topology &topology;
  std::vector<Candidate> candidates;
};
} // namespace

void PipelinedCandidates::add(Result<PipelinedSchedule> found) {
  if (!found)
    return;
  const auto &[collective, schedule] = found->implementation;
  double load = loadOf(found->implementation, topology);
  for (const Candidate &other : candidates) {
    const auto &[known, steps] = other.implementation;
    if (steps.steps.size() <= schedule.steps.size() &&
        known.chunks() <= collective.chunks() && other.load <= load * asGood)
      return;
  }
  candidates.push_back(
      {std::move(found->implementation), 1, load, std::move(found->bound)});
}

/// Those of few steps and few chunks, and that of the least load.
static void addPipelined(const Topology &topology,
                         const CollectiveFamily &family,
                         const FrontierOptions &options,
                         std::vector<Candidate> &candidates) {
  constexpr uint64_t depthWork = 500'000;
  if (!family.isPlain() || !hasPipelinedSchedules(family.kind))
    return;
  SearchLimits limits{options.timeoutSeconds, depthWork,
                      options.solver.interrupt};
  PipelinedCandidates found(topology);
  PipelinedDepths depths(topology, family.kind, family.root);
  // That of any depth takes long on many ranks, where few steps often do.
  std::optional<Result<PipelinedSchedule>> limit;
  auto isLeast = [&](const PipelinedSchedule &schedule) {
    if (schedule.optimal && schedule.holdsForAnyDepth())
      return true;
    if (!limit)
      limit = synthesizePipelined(topology, family.kind, family.root, limits);
    return *limit && loadOf(schedule.implementation, topology) <=
                         loadOf((*limit)->implementation, topology) *
                             PipelinedCandidates::asGood;
  };
  for (unsigned maxChunks : {1u, 4u, 16u})
    for (unsigned steps = 1; steps <= options.maxSteps; ++steps) {
      Result<PipelinedSchedule> deep =
          depths.at(steps, limits, maxChunks).schedule;
      // More steps for a load that is as small would only take longer.
      bool isDone = deep && isLeast(*deep);
      found.add(std::move(deep));
      if (isDone)
        break;
    }
  if (limit)
    found.add(std::move(*limit));
  for (Candidate &candidate : found.take())
    candidates.push_back(std::move(candidate));
}

/// The steps that the frontier is searched for. On many ranks that takes long,
/// and a pipelined candidate in one piece is as good as one step by step.
static unsigned stepsToSearch(const Topology &topology,
                              const FrontierOptions &options,
                              const std::vector<Candidate> &pipelined) {
  constexpr unsigned fewRanks = 16;
  size_t steps = options.maxSteps;
  if (topology.numRanks() > fewRanks)
    for (const Candidate &candidate : pipelined)
      steps = std::min(steps, candidate.implementation.schedule.steps.size());
  return unsigned(steps);
}

/// Pipelined candidates with each number of pieces. Long programs are slow to
/// lower and to simulate.
static std::vector<Candidate> inPieces(std::vector<Candidate> candidates) {
  constexpr unsigned maxPieces = 256;
  constexpr size_t maxSends = 120'000;
  std::vector<Candidate> result;
  for (Candidate &candidate : candidates) {
    size_t sends = candidate.implementation.schedule.numSends();
    unsigned most = candidate.isPipelined() ? maxPieces : 1;
    for (unsigned pieces = 1;
         pieces == 1 || (pieces <= most && sends * pieces <= maxSends);
         pieces *= 2) {
      candidate.pieces = pieces;
      result.push_back(candidate);
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

namespace {
class Adviser {
public:
  Adviser(mlir::MLIRContext &context, const Fabric &fabric, Advice &advice)
      : context(context), fabric(fabric), advice(advice),
        isWanted(advice.candidates.size(),
                 std::vector<bool>(advice.sizes.size())) {}

  void choose();
  std::optional<Error> tryAll(const std::vector<LoweringWay> &ways);

private:
  void chooseFor(size_t size, double latency);
  bool isTried(size_t number, size_t size, const LoweringWay &way) const;
  std::optional<Error> tryCandidate(size_t number,
                                    const std::vector<LoweringWay> &ways);
  std::optional<Error> simulateProgram(coll::ProgramOp program, size_t number,
                                       const LoweringWay &way);

  mlir::MLIRContext &context;
  const Fabric &fabric;
  Advice &advice;
  /// What is simulated: by candidate and by size.
  std::vector<std::vector<bool>> isWanted;
};
} // namespace

/// For one size the best step by step and the best in pieces, if each step
/// takes `latency`, and what may be as good: the model knows neither how steps
/// overlap nor what links differ in.
void Adviser::chooseFor(size_t size, double latency) {
  constexpr double asGood = 1.1;
  CostModel model{latency, fabric.unitTime};
  auto bytes = double(advice.sizes[size].bytes);
  const std::vector<Candidate> &candidates = advice.candidates;
  std::map<bool, double> best;
  for (const Candidate &candidate : candidates) {
    double time = candidate.microseconds(model, bytes);
    auto [it, isNew] = best.try_emplace(candidate.isPipelined(), time);
    it->second = std::min(it->second, time);
  }
  for (size_t number = 0; number < candidates.size(); ++number)
    if (candidates[number].microseconds(model, bytes) <=
        asGood * best[candidates[number].isPipelined()])
      isWanted[number][size] = true;
}

void Adviser::choose() {
  auto [least, most] = std::ranges::minmax(fabric.timing.latencies);
  for (size_t size = 0; size < advice.sizes.size(); ++size)
    for (double latency : {least, most})
      chooseFor(size, latency);
}

/// LL words take twice the bytes, which may be worth no flags while bytes take
/// less time than latencies do.
bool Adviser::isTried(size_t number, size_t size,
                      const LoweringWay &way) const {
  const Candidate &candidate = advice.candidates[number];
  double most = std::ranges::max(fabric.timing.latencies);
  auto bytes = double(advice.sizes[size].bytes);
  return isWanted[number][size] &&
         (!way.options.ll ||
          candidate.microseconds({0, fabric.unitTime}, bytes) <=
              candidate.microseconds({most, 0}, bytes));
}

/// Improves the advice for each size, where the program is faster.
std::optional<Error> Adviser::simulateProgram(coll::ProgramOp program,
                                              size_t number,
                                              const LoweringWay &way) {
  const Candidate &candidate = advice.candidates[number];
  double chunks =
      double(candidate.implementation.collective.chunks()) * candidate.pieces;
  for (size_t i = 0; i < advice.sizes.size(); ++i) {
    SizeAdvice &size = advice.sizes[i];
    if (!isTried(number, i, way))
      continue;
    mlir::FailureOr<Traffic> traffic =
        coll::trafficOf(program, fabric.topology, double(size.bytes) / chunks);
    if (failed(traffic))
      return Error{"a program leaves the machine's links"};
    Result<SimulationResult> result =
        simulate(fabric.topology, *traffic, fabric.timing);
    if (!result)
      return Error{result.error()};
    ++advice.simulations;
    if (result->microseconds < size.microseconds) {
      size.microseconds = result->microseconds;
      size.candidate = number;
      size.way = way.name;
    }
  }
  return std::nullopt;
}

std::optional<Error>
Adviser::tryCandidate(size_t number, const std::vector<LoweringWay> &ways) {
  constexpr size_t maxShort = 1u << 14;
  const Candidate &candidate = advice.candidates[number];
  Result<Implementation> cut = cutIntoPieces(candidate.implementation,
                                             fabric.topology, candidate.pieces);
  if (!cut)
    return Error{cut.error()};
  for (const LoweringWay &way : ways) {
    bool isForAny = false;
    for (size_t i = 0; i < advice.sizes.size(); ++i)
      isForAny |= isTried(number, i, way);
    if (!isForAny)
      continue;
    mlir::OwningOpRef<mlir::ModuleOp> module =
        coll::exportModule(context, cut->collective.name() + "_schedule",
                           fabric.topology, cut->collective, cut->schedule);
    if (failed(runPasses(*module, [&](mlir::OpPassManager &manager) {
          addLowering(manager, way.options);
        })))
      return Error{
          "a schedule of C = " + std::to_string(cut->collective.chunks()) +
          ", S = " + std::to_string(cut->schedule.steps.size()) +
          " was not lowered with " + way.name};
    for (auto program : module->getOps<coll::ProgramOp>())
      if (std::optional<Error> error = simulateProgram(program, number, way))
        return error;
    if (cut->schedule.numSends() > maxShort)
      break;
  }
  return std::nullopt;
}

std::optional<Error> Adviser::tryAll(const std::vector<LoweringWay> &ways) {
  for (size_t number = 0; number < advice.candidates.size(); ++number)
    if (llvm::is_contained(isWanted[number], true))
      if (std::optional<Error> error = tryCandidate(number, ways))
        return error;
  return std::nullopt;
}

Result<Advice> sccl::advise(mlir::MLIRContext &context, const Fabric &fabric,
                            const CollectiveFamily &family,
                            const std::vector<uint64_t> &sizes,
                            const FrontierOptions &options,
                            const std::vector<LoweringWay> &ways) {
  std::vector<Candidate> candidates, pipelined;
  addPipelined(fabric.topology, family, options, pipelined);
  FrontierOptions few = options;
  few.maxSteps = stepsToSearch(fabric.topology, options, pipelined);
  Result<Frontier> frontier = searchFrontier(fabric.topology, family, few);
  if (!frontier)
    return Error{frontier.error()};
  addPoints(fabric.topology, family, *frontier, candidates);
  llvm::append_range(candidates, std::move(pipelined));
  if (candidates.empty())
    return Error{"no schedule was found: " + frontier->why};
  Result<Collective> smallest =
      smallestCollective(family, fabric.topology.numRanks());
  if (!smallest)
    return Error{smallest.error()};
  Advice advice{
      std::move(*frontier), inPieces(std::move(candidates)), {}, {}, 0};
  std::optional<Rational> throughput;
  if (advice.frontier.throughput)
    throughput = advice.frontier.throughput->value;
  advice.bound = timeBound(fabric.topology, *smallest, fabric.timing,
                           throughput, fabric.unitTime);
  for (uint64_t bytes : sizes)
    advice.sizes.push_back({bytes, 0, "",
                            std::numeric_limits<double>::infinity(),
                            advice.bound.microseconds(double(bytes))});
  Adviser adviser(context, fabric, advice);
  adviser.choose();
  if (std::optional<Error> error = adviser.tryAll(ways))
    return *error;
  return advice;
}
