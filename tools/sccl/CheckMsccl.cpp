//===- CheckMsccl.cpp - sccl check of files of MSCCL ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckMsccl.h"

#include "MachineFlags.h"
#include "Output.h"

#include "llvm/Support/FileSystem.h"

#include <bit>

using namespace sccl;
using namespace sccl::driver;
using namespace sccl::exchange;

/// "taken for counts that are multiples of 48 in all, 6 of a rank: of no power
/// of two".
static std::string takenText(const char *what, uint64_t all, uint64_t ofRank,
                             const char *unit) {
  std::string text = std::string("taken for ") + what +
                     " that are multiples of " + std::to_string(all) + unit;
  if (ofRank != all)
    text += " in all, " + std::to_string(ofRank) + " of a rank";
  return text + (std::has_single_bit(ofRank) ? "" : ": no power of two");
}

std::string driver::takenCounts(uint64_t all, uint64_t ofRank) {
  return takenText("counts", all, ofRank, "");
}

std::string driver::takenSizes(uint64_t all, uint64_t ofRank) {
  return takenText("sizes", all, ofRank, " bytes");
}

static void accept(llvm::StringRef path, const MscclAlgorithm &algorithm,
                   const MscclVerdict &verdict, bool json) {
  llvm::StringRef collective = collectiveName(verdict.kind);
  llvm::StringRef dialect = mscclDialectName(verdict.dialect);
  if (json) {
    llvm::outs() << llvm::json::Value(llvm::json::Object{
                        {"file", path},
                        {"status", "accepted"},
                        {"algorithm", algorithm.name},
                        {"collective", collective},
                        {"ranks", algorithm.gpus.size()},
                        {"chunks", algorithm.chunks},
                        {"channels", algorithm.numChannels},
                        {"in_place", verdict.inPlace},
                        {"out_of_place", verdict.outOfPlace},
                        {"dialect", dialect},
                        {"count_multiple", verdict.countMultiple},
                        {"steps", verdict.steps},
                        {"most_blocks_per_rank", verdict.mostBlocks},
                        {"most_steps_per_block", verdict.mostSteps}})
                 << '\n';
    return;
  }
  const char *place = verdict.inPlace && verdict.outOfPlace
                          ? "in and out of place"
                      : verdict.inPlace ? "in place"
                                        : "out of place";
  out() << "algorithm '" << algorithm.name << "': accepted, " << collective
        << " on " << algorithm.gpus.size() << " ranks, " << place << ", "
        << algorithm.chunks << " chunks, " << verdict.steps << " steps in "
        << verdict.blocks << " thread blocks (" << verdict.mostBlocks
        << " of a rank at most, with " << verdict.mostSteps << " steps), for "
        << dialect << "; "
        << takenCounts(algorithm.chunks, verdict.countMultiple) << '\n';
}

static void accept(llvm::StringRef path, const MscclppPlan &plan,
                   const MscclppVerdict &verdict, bool json) {
  printNotes(path, verdict.notes);
  llvm::StringRef collective = collectiveName(verdict.kind);
  if (json) {
    llvm::outs() << llvm::json::Value(llvm::json::Object{
                        {"file", path},
                        {"status", "accepted"},
                        {"algorithm", plan.name},
                        {"collective", collective},
                        {"ranks", plan.gpus.size()},
                        {"chunks", plan.gpus[0].inputChunks},
                        {"in_place", plan.inPlace},
                        {"protocol", plan.protocol},
                        {"operations", verdict.operations},
                        {"most_bytes", verdict.mostBytes},
                        {"bytes_multiple", verdict.bytesMultiple},
                        {"most_blocks_per_rank", verdict.mostBlocks},
                        {"most_operations_per_block", verdict.mostOperations},
                        {"notes", llvm::json::Array(verdict.notes)}})
                 << '\n';
    return;
  }
  out() << "plan '" << plan.name << "': accepted, " << collective << " on "
        << plan.gpus.size() << " ranks, "
        << (plan.inPlace ? "in place" : "out of place") << ", "
        << plan.gpus[0].inputChunks << " chunks, " << verdict.operations
        << " operations in " << verdict.blocks << " thread blocks ("
        << verdict.mostBlocks << " of a rank at most, with "
        << verdict.mostOperations << " operations), up to " << verdict.mostBytes
        << " bytes; "
        << takenSizes(plan.gpus[0].inputChunks * uint64_t(plan.alignment),
                      verdict.bytesMultiple)
        << '\n';
}

static void accept(llvm::StringRef path, const FoundSchedule &found,
                   bool json) {
  printNotes(path, found.notes);
  llvm::StringRef collective = collectiveName(found.collective.kind());
  size_t steps = found.schedule.steps.size();
  if (json)
    llvm::outs() << llvm::json::Value(llvm::json::Object{
                        {"file", path},
                        {"status", "accepted"},
                        {"collective", collective},
                        {"ranks", found.collective.numRanks()},
                        {"chunks", found.collective.chunks()},
                        {"steps", steps},
                        {"sends", found.schedule.numSends()},
                        {"notes", llvm::json::Array(found.notes)}})
                 << '\n';
  else
    out() << "schedule: accepted, " << collective << " on "
          << found.collective.numRanks() << " ranks, "
          << found.collective.chunks() << " chunks, " << steps << " steps, "
          << found.schedule.numSends() << " sends\n";
}

/// The topology of a name, of an .mlir file, or of a file that tools print.
static std::optional<Topology> topologyNamed(llvm::StringRef spec) {
  if (spec.ends_with(".mlir") || !llvm::sys::fs::exists(spec))
    return loadTopology(spec);
  std::optional<Machine> machine = importMachine(spec);
  if (!machine)
    return std::nullopt;
  Result<Derivation> derivation = deriveTopology(*machine);
  if (derivation)
    return std::move(derivation->topology);
  fail(spec + ": " + derivation.error());
  return std::nullopt;
}

int driver::checkAlgorithmOn(llvm::StringRef path, llvm::StringRef spec,
                             const MscclFlags &flags, bool json) {
  std::optional<Topology> topology = topologyNamed(spec);
  std::optional<ForeignText> file =
      topology ? readForeignText(path) : std::nullopt;
  std::optional<FoundSchedule> found =
      file ? readSchedule(path, *file, &flags) : std::nullopt;
  if (!found)
    return BadInput;
  Findings findings;
  placeOn({spec.str(), std::move(*topology)}, *found, findings);
  if (!findings.empty())
    return refuse(path, findings, json);
  accept(path, *found, json);
  return Done;
}

template <typename T, typename Options, typename Verdict>
static int checkRead(llvm::StringRef path, const std::optional<T> &read,
                     const Options &options, const MscclFlags &flags, bool json,
                     std::optional<Verdict> (*check)(const T &, const Options &,
                                                     Findings &)) {
  if (!read)
    return BadInput;
  Findings findings;
  std::optional<Verdict> verdict = check(*read, options, findings);
  if (!verdict)
    return refuse(path, findings, json);
  if (!flags.rootFits(verdict->kind))
    return BadInput;
  accept(path, *read, *verdict, json);
  return Done;
}

int driver::checkAlgorithm(llvm::StringRef path, const MscclFlags &flags,
                           bool json) {
  std::optional<ForeignText> file = readForeignText(path);
  if (!file)
    return BadInput;
  llvm::StringRef text = file->text();
  if (file->kind == FileKind::Mscclpp) {
    auto options = flags.readForMscclpp();
    return options ? checkRead(path, parseWith(&parseMscclpp, path, text, json),
                               *options, flags, json, &checkMscclpp)
                   : BadInput;
  }
  if (file->kind == FileKind::Msccl) {
    auto options = flags.read();
    return options ? checkRead(path, parseWith(&parseMsccl, path, text, json),
                               *options, flags, json, &checkMsccl)
                   : BadInput;
  }
  std::optional<FoundSchedule> found = readSchedule(path, *file, &flags, json);
  if (!found)
    return BadInput;
  accept(path, *found, json);
  return Done;
}
