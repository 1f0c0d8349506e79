//===- Advice.cpp - Which schedule for which size -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Advice/Advice.h"

#include "Candidates.h"
#include "TimedBound.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/Pieces.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Simulate/Traffic.h"

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

bool Candidate::isLong() const {
  constexpr uint64_t maxShort = 1u << 14;
  return implementation.schedule.numSends() * uint64_t(pieces) > maxShort;
}

bool Candidate::hasFitDistance(const CostModel &model, double bytes) const {
  if (!hasDistance())
    return true;
  double piece = load * bytes * model.betaMicrosecondsPerByte / pieces;
  double latencies = piece / model.alphaMicroseconds;
  return (latencies < 1) == (distance > 2);
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

namespace {
class Adviser {
public:
  Adviser(mlir::MLIRContext &context, const Fabric &fabric,
          const Deadline &deadline, Advice &advice)
      : context(context), fabric(fabric), deadline(deadline), advice(advice),
        isWanted(advice.candidates.size(),
                 std::vector<bool>(advice.sizes.size())),
        promise(advice.candidates.size()) {}

  void choose();
  std::optional<Error> tryAll(const std::vector<LoweringWay> &ways);

private:
  void chooseFor(size_t size, double asGood,
                 llvm::function_ref<double(const Candidate &)> timeOf);
  bool isTried(size_t number, size_t size, const LoweringWay &way) const;
  std::optional<Error> tryCandidate(size_t number,
                                    const std::vector<LoweringWay> &ways);
  std::optional<Error> tryWay(const Implementation &cut, size_t number,
                              const LoweringWay &way);
  std::optional<Error> simulateProgram(coll::ProgramOp program, size_t number,
                                       const LoweringWay &way);
  std::optional<Error> tryCloser(const std::vector<LoweringWay> &ways);
  void estimateRest();

  mlir::MLIRContext &context;
  const Fabric &fabric;
  const Deadline &deadline;
  Advice &advice;
  /// What is simulated: by candidate and by size.
  std::vector<std::vector<bool>> isWanted;
  /// For how many sizes and latencies each candidate is the best of its kind.
  std::vector<unsigned> promise;
};

/// While this object lives, passes that are not yet running are left out once
/// `deadline` is over. What they leave behind is good for nothing.
class PassesUntil {
public:
  PassesUntil(mlir::MLIRContext &context, const Deadline &deadline)
      : context(context) {
    context.registerActionHandler([&deadline](llvm::function_ref<void()> run,
                                              const mlir::tracing::Action &) {
      if (!deadline.isOver())
        run();
    });
  }
  ~PassesUntil() { context.registerActionHandler(nullptr); }
  PassesUntil(const PassesUntil &) = delete;
  PassesUntil &operator=(const PassesUntil &) = delete;

private:
  mlir::MLIRContext &context;
};
} // namespace

/// For one size the best step by step and the best in pieces, and what may be
/// as good: no model knows how steps overlap. Of long programs only what may be
/// the best of all.
void Adviser::chooseFor(size_t size, double asGood,
                        llvm::function_ref<double(const Candidate &)> timeOf) {
  constexpr double asGoodIfLong = 1.05;
  const std::vector<Candidate> &candidates = advice.candidates;
  double most = std::ranges::max(fabric.timing.latencies);
  auto isFit = [&](const Candidate &candidate) {
    auto bytes = double(advice.sizes[size].bytes);
    return candidate.hasFitDistance({most, fabric.unitTime}, bytes);
  };
  std::map<bool, double> best;
  for (const Candidate &candidate : candidates) {
    if (!isFit(candidate))
      continue;
    double time = timeOf(candidate);
    auto [it, isNew] = best.try_emplace(candidate.isPipelined(), time);
    it->second = std::min(it->second, time);
  }
  for (size_t number = 0; number < candidates.size(); ++number) {
    if (!isFit(candidates[number]))
      continue;
    double time = timeOf(candidates[number]);
    double least = best[candidates[number].isPipelined()], slack = asGood;
    if (candidates[number].isLong()) {
      least = std::min(best.begin()->second, best.rbegin()->second);
      slack = asGoodIfLong;
    }
    isWanted[number][size] = isWanted[number][size] || time <= slack * least;
    promise[number] += time <= least;
  }
}

void Adviser::choose() {
  // Of pieces that follow each other not all latency counts.
  constexpr double overlap = 4, asGood = 1.1, asGoodInChain = 1.01;
  auto [least, most] = std::ranges::minmax(fabric.timing.latencies);
  for (size_t size = 0; size < advice.sizes.size(); ++size) {
    auto bytes = double(advice.sizes[size].bytes);
    for (double latency : {least, most})
      chooseFor(size, asGood, [&](const Candidate &candidate) {
        return candidate.microseconds({latency, fabric.unitTime}, bytes);
      });
    chooseFor(size, asGoodInChain, [&](const Candidate &candidate) {
      return candidate.latency +
             candidate.microseconds({least / overlap, fabric.unitTime}, bytes);
    });
  }
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
  mlir::FailureOr<Traffic> traffic =
      coll::trafficOf(program, fabric.topology, /*chunkBytes=*/1);
  if (failed(traffic))
    return Error{"a program leaves the machine's links"};
  SimulationOptions options;
  options.isOver = [this] { return deadline.isOver(); };
  for (size_t i = 0; i < advice.sizes.size(); ++i) {
    SizeAdvice &size = advice.sizes[i];
    if (!isTried(number, i, way))
      continue;
    options.scale = double(size.bytes) / chunks;
    Result<SimulationResult> result =
        simulate(fabric.topology, *traffic, fabric.timing, options);
    if (deadline.isOver())
      return std::nullopt;
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

/// Lowers what candidate `number` is in pieces, and simulates it.
std::optional<Error> Adviser::tryWay(const Implementation &cut, size_t number,
                                     const LoweringWay &way) {
  const auto &[collective, schedule] = cut;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      coll::exportModule(context, collective.name() + "_schedule",
                         fabric.topology, collective, schedule);
  PassesUntil guard(context, deadline);
  mlir::LogicalResult lowered =
      runPasses(*module, [&](mlir::OpPassManager &manager) {
        addLowering(manager, way.options);
      });
  if (deadline.isOver())
    return std::nullopt;
  if (failed(lowered))
    return Error{"a schedule of C = " + std::to_string(collective.chunks()) +
                 ", S = " + std::to_string(schedule.steps.size()) +
                 " was not lowered with " + way.name};
  for (auto program : module->getOps<coll::ProgramOp>())
    if (std::optional<Error> error = simulateProgram(program, number, way))
      return error;
  return std::nullopt;
}

std::optional<Error>
Adviser::tryCandidate(size_t number, const std::vector<LoweringWay> &ways) {
  const Candidate &candidate = advice.candidates[number];
  Result<Implementation> cut =
      cutIntoPieces(candidate.implementation, fabric.topology, candidate.pieces,
                    candidate.distance);
  if (!cut)
    return Error{cut.error()};
  for (const LoweringWay &way : ways) {
    bool isForAny = false;
    for (size_t i = 0; i < advice.sizes.size(); ++i)
      isForAny |= isTried(number, i, way);
    if (!isForAny)
      continue;
    if (std::optional<Error> error = tryWay(*cut, number, way))
      return error;
    if (deadline.isOver() || candidate.isLong())
      break;
  }
  return std::nullopt;
}

/// Lets steps follow each other at once in what is best for large pieces, where
/// that leaves a gap.
std::optional<Error> Adviser::tryCloser(const std::vector<LoweringWay> &ways) {
  constexpr double wide = 0.05, largePiece = 8;
  double most = std::ranges::max(fabric.timing.latencies);
  std::map<std::pair<size_t, std::string>, std::vector<bool>> wanted;
  for (size_t i = 0; i < advice.sizes.size(); ++i) {
    const SizeAdvice &size = advice.sizes[i];
    const Candidate &candidate = advice.candidates[size.candidate];
    double piece = candidate.load * double(size.bytes) * fabric.unitTime /
                   candidate.pieces;
    if (size.isSimulated() && candidate.hasDistance() && size.gap() > wide &&
        piece >= largePiece * most)
      wanted
          .try_emplace({size.candidate, size.way},
                       std::vector<bool>(advice.sizes.size()))
          .first->second[i] = true;
  }
  for (const auto &[chosen, sizes] : wanted) {
    if (deadline.isOver())
      return std::nullopt;
    Candidate closer = advice.candidates[chosen.first];
    closer.distance = 1;
    advice.candidates.push_back(std::move(closer));
    isWanted.push_back(sizes);
    for (const LoweringWay &way : ways)
      if (way.name == chosen.second)
        if (auto error = tryCandidate(advice.candidates.size() - 1, {way}))
          return error;
  }
  return std::nullopt;
}

/// Gives sizes that nothing was simulated for what the cost model finds best.
void Adviser::estimateRest() {
  CostModel model{std::ranges::max(fabric.timing.latencies), fabric.unitTime};
  for (SizeAdvice &size : advice.sizes) {
    if (size.isSimulated())
      continue;
    for (size_t number = 0; number < advice.candidates.size(); ++number) {
      double time =
          advice.candidates[number].microseconds(model, double(size.bytes));
      if (time < size.microseconds) {
        size.microseconds = time;
        size.candidate = number;
      }
    }
  }
}

/// What promises most comes first, in case that time does not suffice.
std::optional<Error> Adviser::tryAll(const std::vector<LoweringWay> &ways) {
  std::vector<size_t> order;
  for (size_t number = 0; number < advice.candidates.size(); ++number)
    if (llvm::is_contained(isWanted[number], true))
      order.push_back(number);
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](size_t number) { return promise[number]; });
  for (size_t number : order) {
    if (deadline.isOver()) {
      advice.stopped = deadline.reason();
      break;
    }
    if (std::optional<Error> error = tryCandidate(number, ways))
      return error;
  }
  if (std::optional<Error> error = tryCloser(ways))
    return error;
  if (deadline.isOver())
    advice.stopped = deadline.reason();
  estimateRest();
  return std::nullopt;
}

/// Sizes with bounds, and no advice yet.
static Result<Advice> prepare(const Fabric &fabric,
                              const CollectiveFamily &family,
                              const std::vector<uint64_t> &sizes,
                              advice::Found found) {
  Result<Collective> smallest =
      smallestCollective(family, fabric.topology.numRanks());
  if (!smallest)
    return Error{smallest.error()};
  Advice advice{
      std::move(found.frontier), std::move(found.candidates), {}, {}, 0, ""};
  std::optional<Rational> throughput;
  if (advice.frontier.throughput)
    throughput = advice.frontier.throughput->value;
  advice.bound = timeBound(fabric.topology, *smallest, fabric.timing,
                           throughput, fabric.unitTime);
  for (uint64_t bytes : sizes)
    advice.sizes.push_back({bytes, 0, "",
                            std::numeric_limits<double>::infinity(),
                            advice.bound.microseconds(double(bytes))});
  return advice;
}

/// Better bounds where there is a gap, from linear programs.
static void improveBounds(const Fabric &fabric, const CollectiveFamily &family,
                          const Deadline &deadline,
                          const std::atomic<bool> *interrupt, Advice &advice) {
  constexpr double wide = 0.02;
  constexpr uint64_t work = 5'000'000;
  Result<Collective> smallest =
      smallestCollective(family, fabric.topology.numRanks());
  if (!smallest || deadline.isOver())
    return;
  Deadline limit({deadline.remainingLimit(), work, interrupt});
  advice::TimedBound timed(fabric.topology, *smallest, fabric.timing);
  for (SizeAdvice &size : advice.sizes)
    if (size.gap() > wide)
      size.bound = timed.leastTime(double(size.bytes), size.bound,
                                   size.microseconds, limit);
}

Result<Advice> sccl::advise(mlir::MLIRContext &context, const Fabric &fabric,
                            const CollectiveFamily &family,
                            const std::vector<uint64_t> &sizes,
                            const FrontierOptions &options,
                            const std::vector<LoweringWay> &ways) {
  Deadline deadline({options.timeoutSeconds, 0, options.solver.interrupt});
  Result<advice::Found> found =
      advice::findCandidates(fabric, family, options, deadline);
  if (!found)
    return Error{found.error()};
  Result<Advice> advice = prepare(fabric, family, sizes, std::move(*found));
  if (!advice)
    return advice;
  if (advice->candidates.empty()) {
    if (!advice->frontier.stopped)
      return Error{"no schedule was found: " + advice->frontier.why};
    advice->stopped = advice->frontier.why;
    return advice;
  }
  Adviser adviser(context, fabric, deadline, *advice);
  adviser.choose();
  if (std::optional<Error> error = adviser.tryAll(ways))
    return *error;
  improveBounds(fabric, family, deadline, options.solver.interrupt, *advice);
  return advice;
}

Result<std::vector<SizeAdvice>> sccl::timesOf(
    mlir::MLIRContext &context, const Fabric &fabric,
    const Implementation &implementation, const std::vector<uint64_t> &sizes,
    const std::vector<LoweringWay> &ways, const SearchLimits &limits) {
  Deadline deadline(limits);
  Advice advice;
  advice.candidates = advice::candidatesOf(implementation, fabric);
  for (uint64_t bytes : sizes)
    advice.sizes.push_back(
        {bytes, 0, "", std::numeric_limits<double>::infinity(), 0});
  Adviser adviser(context, fabric, deadline, advice);
  adviser.choose();
  if (std::optional<Error> error = adviser.tryAll(ways))
    return *error;
  return std::move(advice.sizes);
}
