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

#include "CollectiveChoice.h"
#include "CsvTable.h"
#include "Driver.h"
#include "Interrupt.h"
#include "Output.h"
#include "Progress.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Pipelines/InputFile.h"
#include "sccl/Search/Batch.h"

#include "llvm/ADT/StringExtras.h"

#include <chrono>
#include <set>

using namespace sccl;
using namespace sccl::driver;

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
  request.machine = row.fields.at("topology");
  request.collective = collectiveWord(row.fields.at("collective"));
  // One number, or one for each rank, in quotes.
  for (llvm::StringRef count : llvm::split(row.fields.at("chunks"), ','))
    if (!parseField(path, row, "chunks", count, request.chunks.emplace_back()))
      return std::nullopt;
  for (auto [name, value] :
       {std::pair{"steps", &request.steps}, {"rounds", &request.rounds}})
    if (!parseField(path, row, name, row.fields.at(name), *value))
      return std::nullopt;
  if (auto groups = row.fields.find("group"); groups != row.fields.end())
    request.groups = groups->second;
  auto root = row.fields.find("root");
  if (root != row.fields.end() && !root->second.empty())
    if (!parseField(path, row, "root", root->second, request.root.emplace()))
      return std::nullopt;
  return request;
}

static llvm::json::Object solveRow(const Instance &instance,
                                   const SynthesisRequest &request,
                                   const SolverOptions &options,
                                   BatchFacts &facts, Progress &progress) {
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
  const std::optional<LowerBound> &bound =
      facts.boundAt(instance, instance.steps);
  object["lower_bound"] = bound && bound->value
                              ? llvm::json::Value(bound->value->str())
                              : llvm::json::Value(nullptr);
  // What does not exist is on no frontier.
  bool exists = !std::holds_alternative<Unsatisfiable>(result.outcome);
  std::optional<bool> isOnFrontier;
  if (!exists) {
    isOnFrontier = false;
  } else if (request.frontiers) {
    progress.setDetail("answered, now its frontier (--frontiers=false: not)");
    isOnFrontier = facts.isOnFrontier(instance);
  }
  object["on_true_frontier"] = isOnFrontier ? llvm::json::Value(*isOnFrontier)
                                            : llvm::json::Value(nullptr);
  return object;
}

int driver::synthesizeBatch(llvm::StringRef path,
                            const SynthesisRequest &defaults) {
  auto buffer = readInput(path);
  if (!buffer)
    return fail(buffer.error());
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
  BatchFacts facts(*options);
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
    facts.announce(*instance);
    problems.emplace_back(std::move(*request), std::move(*instance));
  }
  std::set<std::string> statuses;
  size_t done = 0;
  for (; done < problems.size() && !interrupt.isTerminated(); ++done) {
    // A signal is for the row that it comes in.
    interrupt.resume();
    const auto &[request, instance] = problems[done];
    std::string number =
        llvm::utostr(done + 1) + " of " + llvm::utostr(problems.size());
    Progress progress("row " + number + ", " + instance.collective.name() +
                      " on " + instance.topology.name());
    llvm::json::Object object =
        solveRow(instance, request, *options, facts, progress);
    // Whoever has read the row may send a signal for the next one.
    const bool isInterrupted = *interrupt.flag();
    statuses.insert(object.getString("status")->str());
    auto paused = progress.pause();
    llvm::outs() << llvm::json::Value(std::move(object)) << '\n';
    llvm::outs().flush();
    if (isInterrupted)
      err() << "sccl: row " << number << " was interrupted\n";
  }
  if (done < problems.size())
    err() << "sccl: terminated; rows not looked at: " << problems.size() - done
          << '\n';
  if (statuses.count("failed"))
    return BadInput;
  return statuses.count("unknown") || done < problems.size() ? NotKnown : Done;
}
