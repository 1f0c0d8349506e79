//===- Adviser.cpp - What the programs of candidates take -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Adviser.h"
#include "OneOrder.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/Pieces.h"
#include "sccl/Model/Threads.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Simulate/TimingOps.h"
#include "sccl/Simulate/Traffic.h"
#include "sccl/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace sccl;
using namespace sccl::advice;

namespace {
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

/// Sizes alternate between two threads, each of which goes by what it has seen
/// at its last size. The number of threads is part of the answer, so it does
/// not depend on the machine.
std::optional<Error> Adviser::rank() {
  constexpr size_t numThreads = 2;
  using Ranking = std::vector<RatedVariant>;
  std::vector<Result<Ranking>> results(advice.sizes.size(), Ranking());
  auto rankFrom = [&](size_t first) {
    Choice own(fabric, advice.candidates, ways, deadline, drafts);
    for (size_t i = first; i < results.size(); i += numThreads)
      results[i] =
          own.rank(double(advice.sizes[i].bytes), advice.sizes[i].bound);
    return true;
  };
  Beside<bool> others([&] { return rankFrom(1); }, results.size() > 1);
  rankFrom(0);
  others.get();
  for (Result<Ranking> &result : results) {
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
    wholes[it->second] = variant.candidate;
  }
  advice.sizes[size].candidate = it->second;
  advice.sizes[size].microseconds = microseconds;
}

/// What `traffic`, of `variant`, takes for send buffers of `bytes` bytes, or
/// something once time is over.
Result<double> Adviser::timeOf(const Traffic &traffic, const Variant &variant,
                               double bytes) const {
  SimulationOptions options;
  options.isOver = [this] { return limit->isOver(); };
  options.scale = bytes / (double(advice.candidates[variant.candidate]
                                      .implementation.collective.chunks()) *
                           variant.pieces);
  Result<SimulationResult> result =
      simulate(fabric.topology, traffic, fabric.timing, options);
  if (limit->isOver())
    return std::numeric_limits<double>::infinity();
  if (!result)
    return Error{result.error()};
  return result->microseconds;
}

/// Improves the advice for one size, if the program is faster by `gain`.
/// Returns what it takes.
Result<double> Adviser::simulateAt(size_t number, const Traffic &traffic,
                                   const Variant &variant, double gain) {
  SizeAdvice &size = advice.sizes[number];
  Result<double> time = timeOf(traffic, variant, double(size.bytes));
  if (time && *time * gain < size.microseconds) {
    take(variant, number, *time);
    size.way = wayOf(variant).name;
    taken.insert_or_assign(size.bytes, variant);
    programs.try_emplace(variant, traffic);
  }
  return time;
}

/// The same for each size from that number on that it may improve.
std::optional<Error> Adviser::simulateProgram(const Traffic &traffic,
                                              const Variant &variant,
                                              size_t firstSize) {
  for (size_t i = firstSize; i < advice.sizes.size(); ++i)
    if (isInNetwork(variant) || mayImprove(variant, i))
      if (Result<double> time = simulateAt(i, traffic, variant); !time)
        return Error{time.error()};
  return std::nullopt;
}

/// Lowers `variant`, and has `takeProgram` look at the program. False once time
/// is over, or if ranks must reduce in one order and do not.
Result<bool> Adviser::lower(const Variant &variant,
                            const LoweringOptions &options,
                            TakeProgram takeProgram) {
  Result<Implementation> cut =
      cutIntoPieces(advice.candidates[variant.candidate].implementation,
                    fabric.topology, variant.pieces, variant.order);
  if (!cut)
    return Error{cut.error()};
  const auto &[collective, schedule] = *cut;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      coll::exportModule(context, collective.name() + "_schedule",
                         fabric.topology, collective, schedule);
  coll::setTiming(*module->getOps<coll::TopologyOp>().begin(), fabric.topology,
                  fabric.timing);
  PassesUntil guard(context, *limit);
  mlir::LogicalResult lowered =
      runPasses(*module, [&](mlir::OpPassManager &manager) {
        // Programs that are only simulated; who runs one has it checked.
        addUncheckedLowering(manager, options);
      });
  if (limit->isOver())
    return false;
  if (failed(lowered))
    return Error{"a schedule of C = " + std::to_string(collective.chunks()) +
                 ", S = " + std::to_string(schedule.steps.size()) +
                 " was not lowered with " + wayOf(variant).name};
  auto program = *module->getOps<coll::ProgramOp>().begin();
  if (mayBreakContract(*cut, options) &&
      !coll::isRight(program, collective, contractFor(options)))
    return false;
  if (failed(takeProgram(program, collective)))
    return Error{"a program leaves the machine's links"};
  return true;
}

/// The traffic of the program; nothing if there is none.
Result<std::optional<Traffic>> Adviser::lower(const Variant &variant) {
  std::optional<Traffic> result;
  Result<bool> hasProgram = lower(
      variant, wayOf(variant).options,
      [&](coll::ProgramOp program, const Collective &) -> mlir::LogicalResult {
        mlir::FailureOr<Traffic> traffic =
            coll::trafficOf(program, fabric.topology, /*chunkBytes=*/1);
        if (succeeded(traffic))
          result = std::move(*traffic);
        return traffic;
      });
  if (!hasProgram)
    return Error{hasProgram.error()};
  return result;
}

/// The same candidate in so few pieces that it is quickly lowered.
Variant Adviser::shortened(Variant variant) const {
  constexpr uint64_t fewSends = 8'000;
  while (variant.pieces > 2 && choice.sendsOf(variant) > fewSends)
    variant.pieces /= 2;
  return variant;
}

/// A size that `variant` may improve.
double Adviser::bytesFor(const Variant &variant) const {
  for (size_t size = 0; size < ranked.size(); ++size)
    if (mayImprove(variant, size))
      return double(advice.sizes[size].bytes);
  return double(advice.sizes.back().bytes);
}

/// True if the program of `variant` takes what its draft does for send buffers
/// of `bytes` bytes. Asked once.
Result<bool> Adviser::isAsDrafted(const Variant &variant, double bytes) {
  constexpr double same = 1e-3;
  auto [it, isNew] = asDrafted.try_emplace(variant, false);
  std::shared_ptr<const Traffic> draft =
      isNew ? choice.draftOf(variant) : nullptr;
  if (!draft)
    return it->second;
  Result<std::optional<Traffic>> program = lower(variant);
  if (!program)
    return Error{program.error()};
  if (!*program)
    return false;
  Result<double> drafted = timeOf(*draft, variant, bytes),
                 taken = timeOf(**program, variant, bytes);
  if (!drafted || !taken)
    return Error{drafted ? taken.error() : drafted.error()};
  it->second = std::abs(*taken - *drafted) <= same * *taken;
  return it->second;
}

/// Lowers `variant`, and simulates it; a long one only if fewer pieces take
/// something else than their draft does.
std::optional<Error> Adviser::tryVariant(const Variant &variant) {
  tried.insert(variant);
  if (Variant few = shortened(variant); few != variant) {
    Result<bool> isDraft = isAsDrafted(few, bytesFor(variant));
    if (!isDraft)
      return Error{isDraft.error()};
    std::shared_ptr<const Traffic> draft =
        *isDraft && !confirmed.contains(variant) ? choice.draftOf(variant)
                                                 : nullptr;
    if (draft)
      drafted.insert(variant);
    if (draft || deadline.isOver())
      return draft ? simulateProgram(*draft, variant) : std::nullopt;
  }
  Result<std::optional<Traffic>> program = lower(variant);
  if (!program)
    return Error{program.error()};
  return *program ? simulateProgram(**program, variant) : std::nullopt;
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

/// A program for size number `size`, for which none was simulated in time: what
/// was ranked first in few pieces, or the candidate of the least estimate.
Variant Adviser::quickVariant(size_t size) const {
  if (size < ranked.size() && !ranked[size].empty())
    return shortened(ranked[size].front().variant);
  Variant best{};
  double least = std::numeric_limits<double>::infinity();
  for (size_t number = 0; number < numCandidates; ++number) {
    const Candidate &candidate = advice.candidates[number];
    for (unsigned pieces : {candidate.pieces, 16u}) {
      double time = candidate.estimate(
          fabric.unitTime, double(advice.sizes[size].bytes), pieces);
      if (time < least &&
          (pieces == candidate.pieces || candidate.isPipelined()))
        best = {number, pieces, candidate.order, 0}, least = time;
    }
  }
  return shortened(best);
}

/// Once time is over: what is returned has to be of programs, so those that are
/// taken as drafts are lowered, and sizes without one take the best of all
/// programs, to which short ones for them are added.
std::optional<Error> Adviser::finish() {
  if (kind != Lowers::All)
    return std::nullopt;
  limit = &rest;
  while (std::optional<Variant> variant = nextToConfirm()) {
    if (Result<bool> isLonger = confirm(*variant); !isLonger)
      return Error{isLonger.error()};
    if (rest.isOver())
      break;
  }
  for (size_t i = 0; i < advice.sizes.size(); ++i) {
    if (advice.sizes[i].isSimulated())
      continue;
    Variant variant = quickVariant(i);
    if (programs.contains(variant))
      continue;
    Result<std::optional<Traffic>> program = lower(variant);
    if (!program)
      return Error{program.error()};
    if (*program)
      programs.emplace(variant, std::move(**program));
  }
  for (size_t i = 0; i < advice.sizes.size(); ++i)
    if (!advice.sizes[i].isSimulated())
      for (const auto &[variant, traffic] : programs)
        if (Result<double> time = simulateAt(i, traffic, variant); !time)
          return Error{time.error()};
  limit = &deadline;
  return std::nullopt;
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
std::optional<Error> Adviser::lowerAll() {
  while (!deadline.isOver()) {
    std::optional<Variant> next = nextToTry();
    if (!next)
      break;
    if (std::optional<Error> error = tryVariant(*next))
      return error;
  }
  return std::nullopt;
}

/// The variant that is taken for some size and only known as a draft.
std::optional<Variant> Adviser::nextToConfirm() const {
  for (const SizeAdvice &size : advice.sizes)
    if (auto it = taken.find(size.bytes);
        it != taken.end() && drafted.contains(it->second))
      return it->second;
  return std::nullopt;
}

/// Takes what the program of `variant` takes where its draft was taken. True if
/// it is longer for some size.
Result<bool> Adviser::confirm(const Variant &variant) {
  drafted.erase(variant);
  confirmed.insert(variant);
  Result<std::optional<Traffic>> program = lower(variant);
  if (!program)
    return Error{program.error()};
  bool isLonger = false;
  for (SizeAdvice &size : advice.sizes) {
    auto it = taken.find(size.bytes);
    if (limit->isOver() || it == taken.end() || it->second != variant)
      continue;
    Result<double> time =
        *program ? timeOf(**program, variant, double(size.bytes))
                 : Result<double>(std::numeric_limits<double>::infinity());
    if (!time)
      return Error{time.error()};
    if (!*program) // not in one order
      size.way.clear();
    isLonger |= isLess(size.microseconds, *time);
    size.microseconds = *time;
  }
  if (*program)
    programs.insert_or_assign(variant, std::move(**program));
  return isLonger;
}

/// Lowers all that was simulated as a draft and is taken for some size. If a
/// program takes longer than its draft, what was worse than that may be better.
std::optional<Error> Adviser::confirmDrafts() {
  while (kind == Lowers::All && !deadline.isOver()) {
    std::optional<Variant> variant = nextToConfirm();
    if (!variant)
      break;
    Result<bool> isLonger = confirm(*variant);
    if (!isLonger)
      return Error{isLonger.error()};
    if (!*isLonger)
      continue;
    asDrafted.insert_or_assign(shortened(*variant), false);
    tried = confirmed;
    if (std::optional<Error> error = lowerAll())
      return error;
  }
  return std::nullopt;
}

/// Removes the sizes for which nothing is simulated: an estimate may be of a
/// program that is not allowed.
void Adviser::dropEstimated() {
  for (size_t i = advice.sizes.size(); i-- > 0;)
    if (!advice.sizes[i].isSimulated()) {
      advice.sizes.erase(advice.sizes.begin() + i);
      ranked.erase(ranked.begin() + i);
    }
}

std::optional<Error> Adviser::run(Lowers lowers) {
  kind = lowers;
  if (std::optional<Error> error = rank())
    return error;
  if (lowers == Lowers::Nothing)
    takeDrafts();
  else if (std::optional<Error> error = lowerAll())
    return error;
  if (std::optional<Error> error = confirmDrafts())
    return error;
  if (deadline.isOver()) {
    advice.stopped = deadline.reason();
    if (std::optional<Error> error = finish())
      return error;
  }
  if (kind == Lowers::All)
    dropEstimated();
  else
    estimateRest();
  if (advice.sizes.empty() && advice.stopped.empty())
    return Error{"in no program do all ranks reduce in the same order"};
  return std::nullopt;
}
