//===- Advice.cpp - Which schedule for which size -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Advice/Advice.h"

#include "Candidates.h"
#include "Choice.h"
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
#include <set>
#include <tuple>

using namespace sccl;

std::vector<LoweringWay> sccl::usualWays(const LoweringOptions &base) {
  std::vector<LoweringWay> ways = {
      {"flags", base}, {"double-buffer", base}, {"ll", base}};
  ways[1].options.throughScratch = true;
  ways[1].options.doubleBuffer = true;
  ways[2].options.ll = true;
  return ways;
}

double Candidate::estimate(double unitTime, double bytes,
                           unsigned inPieces) const {
  double piece = bytes * unitTime / inPieces;
  auto steps = double(implementation.schedule.steps.size());
  double apart = std::max(load * piece, latency / (steps * order.distance));
  return latency + serialLoad * piece + apart * (inPieces - 1.0);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

namespace {
using advice::RatedVariant;
using advice::Variant;

/// Lowers the variants that may be the best, and simulates their programs.
class Adviser {
public:
  Adviser(mlir::MLIRContext &context, const Fabric &fabric,
          const std::vector<LoweringWay> &ways, const Deadline &deadline,
          Advice &advice)
      : context(context), fabric(fabric), ways(ways), deadline(deadline),
        advice(advice), numCandidates(advice.candidates.size()) {}

  /// Without programs if they are not wanted: then drafts are what counts.
  std::optional<Error> run(bool lowers = true);

private:
  /// Times that are nearly the same count as such: of two programs the shorter
  /// is better then, for what has to be lowered and for who runs it.
  static constexpr double asGood = 1.01;
  static bool isLess(double a, double b) { return a * asGood < b; }
  std::optional<Error> rank();
  std::optional<Variant> nextToTry() const;
  bool mayImprove(const Variant &variant, size_t size) const;
  std::optional<Error> tryVariant(const Variant &variant);
  std::optional<Error> simulateProgram(coll::ProgramOp program,
                                       const Variant &variant);
  void take(const Variant &variant, size_t size, double microseconds);
  void takeDrafts();
  void estimate(const Variant &variant, size_t size);
  void estimateRest();

  mlir::MLIRContext &context;
  const Fabric &fabric;
  const std::vector<LoweringWay> &ways;
  const Deadline &deadline;
  Advice &advice;
  const size_t numCandidates; ///< before some are added in pieces
  std::vector<std::vector<RatedVariant>> ranked; ///< by size
  std::set<Variant> tried;
  /// Candidates in pieces, by number, pieces and order.
  std::map<std::tuple<size_t, unsigned, PieceOrder>, size_t> inPieces;
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

std::optional<Error> Adviser::rank() {
  advice::Choice choice(fabric, advice.candidates, ways, deadline);
  for (const SizeAdvice &size : advice.sizes) {
    Result<std::vector<RatedVariant>> result =
        choice.rank(double(size.bytes), size.bound);
    if (!result)
      return Error{result.error()};
    ranked.push_back(std::move(*result));
  }
  return std::nullopt;
}

/// True if the draft of `variant` takes less time than the best program does.
bool Adviser::mayImprove(const Variant &variant, size_t size) const {
  for (const RatedVariant &other : ranked[size])
    if (other.variant == variant)
      return isLess(other.microseconds, advice.sizes[size].microseconds);
  return false;
}

/// Of the variants that may improve a size the most, or nearly so, one that
/// does for the most sizes, and of these the shortest. Nothing if none may.
std::optional<Variant> Adviser::nextToTry() const {
  std::map<Variant, unsigned> counts;
  for (size_t size = 0; size < ranked.size(); ++size) {
    double most = std::numeric_limits<double>::infinity();
    for (const auto &[time, variant] : ranked[size]) {
      if (time > most || !isLess(time, advice.sizes[size].microseconds))
        break;
      if (tried.contains(variant))
        continue;
      most = std::min(most, time * asGood);
      ++counts[variant];
    }
  }
  auto promise = [&](const auto &entry) {
    const auto &[variant, count] = entry;
    const Candidate &candidate = advice.candidates[variant.candidate];
    size_t sends = candidate.implementation.schedule.numSends();
    return count / (double(sends) * variant.pieces);
  };
  auto it = std::ranges::max_element(counts, {}, promise);
  return it == counts.end() ? std::nullopt : std::optional(it->first);
}

void Adviser::take(const Variant &variant, size_t size, double microseconds) {
  auto [it, isNew] =
      inPieces.try_emplace({variant.candidate, variant.pieces, variant.order},
                           advice.candidates.size());
  if (isNew) {
    Candidate candidate = advice.candidates[variant.candidate];
    candidate.pieces = variant.pieces;
    candidate.order = variant.order;
    advice.candidates.push_back(std::move(candidate));
  }
  advice.sizes[size].candidate = it->second;
  advice.sizes[size].microseconds = microseconds;
}

/// Improves the advice for each size, where the program is faster.
std::optional<Error> Adviser::simulateProgram(coll::ProgramOp program,
                                              const Variant &variant) {
  double chunks = double(advice.candidates[variant.candidate]
                             .implementation.collective.chunks()) *
                  variant.pieces;
  mlir::FailureOr<Traffic> traffic =
      coll::trafficOf(program, fabric.topology, /*chunkBytes=*/1);
  if (failed(traffic))
    return Error{"a program leaves the machine's links"};
  SimulationOptions options;
  options.isOver = [this] { return deadline.isOver(); };
  for (size_t i = 0; i < advice.sizes.size(); ++i) {
    SizeAdvice &size = advice.sizes[i];
    if (!mayImprove(variant, i))
      continue;
    options.scale = double(size.bytes) / chunks;
    Result<SimulationResult> result =
        simulate(fabric.topology, *traffic, fabric.timing, options);
    if (deadline.isOver())
      return std::nullopt;
    if (!result)
      return Error{result.error()};
    if (result->microseconds < size.microseconds) {
      take(variant, i, result->microseconds);
      size.way = ways[variant.way].name;
    }
  }
  return std::nullopt;
}

/// Lowers `variant`, and simulates it.
std::optional<Error> Adviser::tryVariant(const Variant &variant) {
  tried.insert(variant);
  const LoweringWay &way = ways[variant.way];
  Result<Implementation> cut =
      cutIntoPieces(advice.candidates[variant.candidate].implementation,
                    fabric.topology, variant.pieces, variant.order);
  if (!cut)
    return Error{cut.error()};
  const auto &[collective, schedule] = *cut;
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
    if (std::optional<Error> error = simulateProgram(program, variant))
      return error;
  return std::nullopt;
}

void Adviser::takeDrafts() {
  for (size_t i = 0; i < ranked.size(); ++i) {
    if (ranked[i].empty())
      continue;
    const auto &[time, variant] = ranked[i].front();
    take(variant, i, time);
    advice.sizes[i].way = ways[variant.way].name;
  }
}

/// Takes the least estimate, of few pieces and of many.
void Adviser::estimate(const Variant &variant, size_t size) {
  const Candidate &candidate = advice.candidates[variant.candidate];
  Variant cut = variant;
  cut.pieces = candidate.isPipelined()
                   ? std::max(variant.pieces, candidate.pieces)
                   : candidate.pieces;
  double time = candidate.estimate(
      fabric.unitTime, double(advice.sizes[size].bytes), cut.pieces);
  if (time < advice.sizes[size].microseconds)
    take(cut, size, time);
}

/// Gives sizes that nothing was simulated for what the best draft takes, or the
/// least estimate.
void Adviser::estimateRest() {
  for (size_t i = 0; i < advice.sizes.size(); ++i) {
    if (advice.sizes[i].isSimulated())
      continue;
    if (i < ranked.size() && !ranked[i].empty()) {
      take(ranked[i].front().variant, i, ranked[i].front().microseconds);
      continue;
    }
    for (size_t number = 0; number < numCandidates; ++number)
      for (unsigned pieces : {1u, 16u, 256u})
        estimate({number, pieces, advice.candidates[number].order, 0}, i);
  }
}

/// What promises most comes first, in case that time does not suffice.
std::optional<Error> Adviser::run(bool lowers) {
  if (std::optional<Error> error = rank())
    return error;
  if (!lowers)
    takeDrafts();
  while (lowers && !deadline.isOver()) {
    std::optional<Variant> next = nextToTry();
    if (!next)
      break;
    if (std::optional<Error> error = tryVariant(*next))
      return error;
  }
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
      std::move(found.frontier), std::move(found.candidates), {}, {}, ""};
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

static Result<Advice>
adviseWith(mlir::MLIRContext &context, const Fabric &fabric,
           const CollectiveFamily &family, const std::vector<uint64_t> &sizes,
           const FrontierOptions &options, const std::vector<LoweringWay> &ways,
           bool lowers) {
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
  Adviser adviser(context, fabric, ways, deadline, *advice);
  if (std::optional<Error> error = adviser.run(lowers))
    return *error;
  improveBounds(fabric, family, deadline, options.solver.interrupt, *advice);
  return advice;
}

Result<Advice> sccl::advise(mlir::MLIRContext &context, const Fabric &fabric,
                            const CollectiveFamily &family,
                            const std::vector<uint64_t> &sizes,
                            const FrontierOptions &options,
                            const std::vector<LoweringWay> &ways) {
  return adviseWith(context, fabric, family, sizes, options, ways,
                    /*lowers=*/true);
}

Result<Advice> sccl::adviseByDrafts(mlir::MLIRContext &context,
                                    const Fabric &fabric,
                                    const CollectiveFamily &family,
                                    const std::vector<uint64_t> &sizes,
                                    const FrontierOptions &options,
                                    const std::vector<LoweringWay> &ways) {
  return adviseWith(context, fabric, family, sizes, options, ways,
                    /*lowers=*/false);
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
  Adviser adviser(context, fabric, ways, deadline, advice);
  if (std::optional<Error> error = adviser.run())
    return *error;
  return std::move(advice.sizes);
}
