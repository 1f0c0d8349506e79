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

#include "Driver.h"
#include "Interrupt.h"

#include "sccl/Bounds/LowerBound.h"
#include "sccl/Checker/Certificate.h"
#include "sccl/Checker/ScheduleChecker.h"
#include "sccl/Search/Frontier.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"

#include <chrono>
#include <map>

using namespace sccl;
using namespace sccl::driver;

namespace {
/// A row of the file: its line, and its fields by column.
struct Row {
  unsigned line;
  std::map<std::string, llvm::StringRef> fields;
};

/// Reads "a,b,c" lines under a header line; '#' begins a comment line.
class CsvReader {
public:
  CsvReader(llvm::StringRef path, llvm::StringRef text) : path(path) {
    // Some editors begin a file with a byte order mark.
    text.consume_front("\xEF\xBB\xBF");
    unsigned line = 0;
    while (!text.empty()) {
      llvm::StringRef content;
      std::tie(content, text) = text.split('\n');
      ++line;
      content = content.trim();
      if (!content.empty() && content.front() != '#')
        lines.push_back({line, content});
    }
  }

  /// The rows, or nothing after printing an error.
  std::optional<std::vector<Row>> read() {
    if (lines.empty()) {
      fail(path + " has no header line");
      return std::nullopt;
    }
    llvm::SmallVector<llvm::StringRef> header;
    lines.front().second.split(header, ',');
    llvm::StringSet<> names;
    for (llvm::StringRef &name : header)
      if (!names.insert(name = name.trim()).second)
        return error(lines.front().first, 1,
                     "column '" + name + "' is there twice");
    for (llvm::StringRef needed :
         {"topology", "collective", "chunks", "steps", "rounds"})
      if (!llvm::is_contained(header, needed))
        return error(lines.front().first, 1, "no column '" + needed + "'");
    std::vector<Row> rows;
    for (auto [line, content] : llvm::drop_begin(lines)) {
      llvm::SmallVector<llvm::StringRef> fields;
      content.split(fields, ',');
      if (fields.size() != header.size())
        return error(line, 1,
                     "has " + llvm::Twine(fields.size()) +
                         " fields, expected " + llvm::Twine(header.size()));
      Row &row = rows.emplace_back(Row{line, {}});
      for (auto [name, field] : llvm::zip_equal(header, fields))
        row.fields[name.str()] = field.trim();
    }
    return rows;
  }

  std::nullopt_t error(unsigned line, unsigned column,
                       const llvm::Twine &message) const {
    fail(path + ":" + llvm::Twine(line) + ":" + llvm::Twine(column) + ": " +
         message);
    return std::nullopt;
  }

private:
  llvm::StringRef path;
  std::vector<std::pair<unsigned, llvm::StringRef>> lines;
};

/// What rows with the same bounds have in common: topology, kind and root.
using FamilyKey = std::tuple<uint64_t, CollectiveKind, unsigned>;

FamilyKey familyKey(const Instance &instance) {
  return {fingerprint(instance.topology), instance.collective.kind(),
          instance.collective.root()};
}

/// Bounds that rows share.
class BoundCache {
public:
  /// The certified bound at `steps`; nothing if there is none to be had.
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
    options.probeSeconds = 1;
    options.stepSeconds = 1;
    options.timeoutSeconds = 5;
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

/// The request of a row; prints an error and returns nothing if it has none.
static std::optional<SynthesisRequest>
parseRow(const CsvReader &reader, const Row &row, SynthesisRequest request) {
  request.topology = row.fields.at("topology").str();
  request.collective = row.fields.at("collective").str();
  request.chunks = {0};
  for (auto [name, value] : {std::pair{"chunks", &request.chunks.front()},
                             {"steps", &request.steps},
                             {"rounds", &request.rounds}})
    if (row.fields.at(name).getAsInteger(10, *value))
      return reader.error(row.line, 1,
                          llvm::Twine(name) + " is '" + row.fields.at(name) +
                              "', expected a number");
  auto root = row.fields.find("root");
  if (root != row.fields.end() && !root->second.empty()) {
    unsigned rank;
    if (root->second.getAsInteger(10, rank))
      return reader.error(row.line, 1,
                          "root is '" + root->second + "', expected a number");
    request.root = rank;
  }
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
  CsvReader reader(path, (*buffer)->getBuffer());
  std::optional<std::vector<Row>> rows = reader.read();
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
  for (const Row &row : *rows) {
    std::optional<SynthesisRequest> request = parseRow(reader, row, defaults);
    std::optional<Instance> instance;
    if (request)
      instance = makeInstance(*request);
    if (!instance) {
      reader.error(row.line, 1, "in this row");
      return BadInput;
    }
    frontiers.extend(*instance);
    problems.emplace_back(std::move(*request), std::move(*instance));
  }
  int code = Done;
  for (const auto &[request, instance] : problems) {
    llvm::json::Object object =
        solveRow(instance, request, *options, bounds, frontiers);
    if (object.getString("status") != "satisfiable")
      code = std::max<int>(code, NotKnown);
    llvm::outs() << llvm::json::Value(std::move(object)) << '\n';
    llvm::outs().flush();
  }
  return code;
}
