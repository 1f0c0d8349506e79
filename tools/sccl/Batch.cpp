//===- Batch.cpp - sccl synth --batch -------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One synthesis per row of a CSV file with the columns of the paper's tables,
// and for each row what is proved about it.
//
//===----------------------------------------------------------------------===//

#include "CsvTable.h"
#include "Driver.h"
#include "Interrupt.h"

#include "sccl/Bounds/LowerBound.h"
#include "sccl/Check/Certificate.h"
#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Search/Frontier.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <chrono>
#include <map>
#include <set>

using namespace sccl;
using namespace sccl::driver;

/// What rows with the same bounds have in common: topology, kind and root, or
/// the very collective where the kind does not say it.
using FamilyKey = std::tuple<uint64_t, CollectiveKind, unsigned, uint64_t>;

static FamilyKey familyKey(const Instance &instance) {
  Certificate claim =
      makeClaim(instance.topology, instance.collective, std::nullopt);
  return {claim.topologyPrint, claim.kind, claim.root, claim.collectivePrint};
}

namespace {

/// Bounds that rows share.
class BoundCache {
public:
  /// The certified bound at `steps`; nothing if there is none.
  const std::optional<LowerBound> &at(const Instance &instance,
                                      unsigned steps) {
    auto [it, isNew] = bounds.try_emplace({familyKey(instance), steps});
    if (isNew && steps > 0)
      if (Result<LowerBound> bound =
              availableBound(instance.topology, instance.collective, steps))
        it->second = *bound;
    return it->second;
  }

private:
  std::map<std::pair<FamilyKey, unsigned>, std::optional<LowerBound>> bounds;
};
} // namespace

namespace {
/// True frontiers that rows share, as far as they can be had quickly.
class FrontierCache {
public:
  FrontierCache(const SynthesisRequest &request, const SolverOptions &solver) {
    options.engine = request.engine;
    options.solver = solver;
    options.probeWork = 1'000'000;
    options.stepWork = 1'000'000;
  }

  /// Announces a row, so that a frontier reaches as far as its rows need.
  void extend(const Instance &instance) {
    unsigned &steps = maxSteps[familyKey(instance)];
    steps =
        std::min(std::max(steps, instance.steps), FrontierOptions::maxMaxSteps);
    options.maxChunks =
        std::min(std::max(options.maxChunks, instance.collective.chunks()),
                 FrontierOptions::maxMaxChunks);
  }

  /// Whether `instance` is on the true frontier: as cheap as S steps allow, and
  /// cheaper than fewer steps allow. Null if that is open.
  llvm::json::Value contains(const Instance &instance, BoundCache &bounds) {
    Rational cost(instance.rounds, instance.collective.chunks());
    for (const FrontierPoint &point : frontierOf(instance)) {
      bool sameSteps = point.steps == instance.steps;
      if (sameSteps && point.bandwidth() == cost && point.optimal &&
          needsAllSteps(instance, cost, bounds))
        return true;
      bool dominates = point.steps <= instance.steps &&
                       point.bandwidth() <= cost &&
                       (!sameSteps || point.bandwidth() < cost);
      if (dominates)
        return false;
    }
    return nullptr;
  }

private:
  /// True if it is proved that one step less is dearer, or impossible.
  static bool needsAllSteps(const Instance &instance, const Rational &cost,
                            BoundCache &bounds) {
    if (instance.steps == 1)
      return true;
    const std::optional<LowerBound> &fewer =
        bounds.at(instance, instance.steps - 1);
    return fewer && (!fewer->value || cost < *fewer->value);
  }

  const std::vector<FrontierPoint> &frontierOf(const Instance &instance) {
    FamilyKey key = familyKey(instance);
    auto [it, isNew] = frontiers.try_emplace(key);
    if (!isNew)
      return it->second;
    options.maxSteps = maxSteps.at(key);
    CollectiveFamily family{instance.collective.kind(),
                            instance.collective.root()};
    if (Result<Frontier> frontier =
            searchFrontier(instance.topology, family, options))
      it->second = std::move(frontier->points);
    return it->second;
  }

  FrontierOptions options;
  std::map<FamilyKey, unsigned> maxSteps;
  std::map<FamilyKey, std::vector<FrontierPoint>> frontiers;
};
} // namespace

/// Prints an error about `row`.
static void failInRow(llvm::StringRef path, const CsvRow &row,
                      const llvm::Twine &message) {
  fail(path + ":" + llvm::Twine(row.line) + ":1: " + message);
}

/// Reads the field `name` into `value`; prints an error and returns false if it
/// is no number.
static bool parseField(llvm::StringRef path, const CsvRow &row,
                       const char *name, llvm::StringRef text,
                       unsigned &value) {
  if (!text.trim().getAsInteger(10, value))
    return true;
  failInRow(path, row,
            llvm::Twine(name) + " is '" + text + "', expected a number");
  return false;
}

/// The request of a row; prints an error and returns nothing if it has none.
static std::optional<SynthesisRequest>
parseRow(llvm::StringRef path, const CsvRow &row, SynthesisRequest request) {
  request.topology = row.fields.at("topology");
  request.collective = row.fields.at("collective");
  // One number, or one for each rank, in quotes.
  for (llvm::StringRef count : llvm::split(row.fields.at("chunks"), ','))
    if (!parseField(path, row, "chunks", count, request.chunks.emplace_back()))
      return std::nullopt;
  for (auto [name, value] :
       {std::pair{"steps", &request.steps}, {"rounds", &request.rounds}})
    if (!parseField(path, row, name, row.fields.at(name), *value))
      return std::nullopt;
  auto root = row.fields.find("root");
  if (root != row.fields.end() && !root->second.empty())
    if (!parseField(path, row, "root", root->second, request.root.emplace()))
      return std::nullopt;
  return request;
}

static llvm::json::Object solveRow(const Instance &instance,
                                   const SynthesisRequest &request,
                                   const SolverOptions &options,
                                   BoundCache &bounds,
                                   FrontierCache &frontiers) {
  SynthesisResult result = synthesize(instance, options, request.engine);
  llvm::json::Object object = resultObject(instance, result);
  if (auto *satisfied = std::get_if<Satisfied>(&result.outcome)) {
    auto begin = std::chrono::steady_clock::now();
    bool accepted = !checkSchedule(instance.topology, instance.collective,
                                   satisfied->schedule);
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - begin;
    object["checked"] = accepted;
    object["check_seconds"] = seconds.count();
  }
  const std::optional<LowerBound> &bound = bounds.at(instance, instance.steps);
  object["lower_bound"] = bound && bound->value
                              ? llvm::json::Value(bound->value->str())
                              : llvm::json::Value(nullptr);
  // What does not exist is on no frontier.
  bool exists = !std::holds_alternative<Unsatisfiable>(result.outcome);
  object["on_true_frontier"] =
      exists ? frontiers.contains(instance, bounds) : llvm::json::Value(false);
  return object;
}

int driver::synthesizeBatch(llvm::StringRef path,
                            const SynthesisRequest &defaults) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!buffer)
    return fail("cannot read " + path + ": " + buffer.getError().message());
  if (!checkEngineName(defaults.engine))
    return BadInput;
  std::optional<std::vector<CsvRow>> rows =
      readCsvTable(path, (*buffer)->getBuffer(),
                   {"topology", "collective", "chunks", "steps", "rounds"});
  if (!rows)
    return BadInput;
  std::optional<SolverOptions> options = solverOptions(defaults);
  if (!options)
    return BadInput;
  InterruptScope interrupt;
  options->interrupt = interrupt.flag();
  BoundCache bounds;
  FrontierCache frontiers(defaults, *options);
  // All rows are read before the first is solved: a bad one ends it at once.
  std::vector<std::pair<SynthesisRequest, Instance>> problems;
  for (const CsvRow &row : *rows) {
    std::optional<SynthesisRequest> request = parseRow(path, row, defaults);
    std::optional<Instance> instance;
    if (request)
      instance = makeInstance(*request);
    if (!instance) {
      failInRow(path, row, "in this row");
      return BadInput;
    }
    frontiers.extend(*instance);
    problems.emplace_back(std::move(*request), std::move(*instance));
  }
  std::set<std::string> statuses;
  for (const auto &[request, instance] : problems) {
    llvm::json::Object object =
        solveRow(instance, request, *options, bounds, frontiers);
    statuses.insert(object.getString("status")->str());
    llvm::outs() << llvm::json::Value(std::move(object)) << '\n';
    llvm::outs().flush();
  }
  if (statuses.count("failed"))
    return BadInput;
  return statuses.count("unknown") ? NotKnown : Done;
}
