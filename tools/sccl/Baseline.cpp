//===- Baseline.cpp - sccl synth --algorithm ------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The algorithms of NCCL as schedules, to compare with.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "MachineFlags.h"
#include "Progress.h"

#include "sccl/Model/Baselines.h"

#include "llvm/Support/FormatVariadic.h"

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

namespace {
enum class Algorithm { None, Ring, Tree };
} // namespace

static cl::opt<Algorithm> algorithm(
    "algorithm",
    cl::desc("In place of a search: NCCL's algorithm, whatever C, S and R are"),
    cl::init(Algorithm::None), cl::sub(synthCommand()),
    cl::values(clEnumValN(Algorithm::Ring, "ring", "Rings through all ranks"),
               clEnumValN(Algorithm::Tree, "tree",
                          "Two binary trees over boxes for each rank of a box, "
                          "with chains in boxes (all_reduce)")));
static cl::opt<std::string>
    boxesText("tree-boxes",
              cl::desc("Ranks of each box, for --algorithm=tree, as 0-7/8-15 "
                       "or blocks:8 (default: "
                       "those of the machine, else one box)"),
              cl::value_desc("RANKS/..."), cl::sub(synthCommand()), cl::Hidden);
static cl::opt<unsigned>
    ringChunks("ring-chunks",
               cl::desc("With --algorithm: chunks per ring of a broadcast or "
                        "reduce, or per tree"),
               usually(1), cl::sub(synthCommand()), cl::Hidden);
bool driver::isBaseline() { return algorithm != Algorithm::None; }

std::string driver::findBaselineOption() {
  return findGiven({&boxesText, &ringChunks});
}

/// What is wrong with the options for `kind` on `topology`; empty if nothing.
static std::string findMistake(const Topology &topology, CollectiveKind kind,
                               std::optional<unsigned> root) {
  /// Keeps the schedule small enough to be written as text.
  constexpr unsigned maxChunks = 4096;
  std::string name(collectiveName(kind));
  bool isTree = algorithm == Algorithm::Tree;
  if (ringChunks < 1 || ringChunks > maxChunks)
    return llvm::formatv("--ring-chunks is {0}, expected between 1 and {1}",
                         ringChunks.getValue(), maxChunks);
  if (isTree && kind != CollectiveKind::AllReduce)
    return "there is no tree algorithm for " + name;
  if (!isTree && boxesText.getNumOccurrences())
    return "--tree-boxes is for --algorithm=tree";
  if (root && !isRooted(kind))
    return name + " has no root";
  if (root && *root >= topology.numRanks())
    return llvm::formatv("root {0} is out of range for {1} ranks", *root,
                         topology.numRanks());
  bool isPipelined = isTree || kind == CollectiveKind::Broadcast ||
                     kind == CollectiveKind::Reduce;
  if (ringChunks.getNumOccurrences() && !isPipelined)
    return "--ring-chunks is for trees, broadcast and reduce, got rings of " +
           name;
  return "";
}

static Result<Implementation> makeRings(const Topology &topology,
                                        CollectiveKind kind, unsigned root) {
  Result<std::vector<Ring>> rings = findRings(topology);
  if (!rings)
    return Error{rings.error()};
  return makeRingBaseline(topology, *rings, kind, ringChunks, root);
}

static Result<Implementation> makeTrees(const Topology &topology,
                                        RankGroups boxes) {
  if (boxesText.getNumOccurrences()) {
    Result<RankGroups> given =
        parseRankGroups(boxesText.getValue(), topology.numRanks());
    if (!given)
      return Error{"--tree-boxes: " + given.error()};
    boxes = std::move(*given);
  }
  Result<std::vector<RankTree>> trees = findTrees(topology, boxes);
  if (!trees)
    return Error{trees.error()};
  return makeTreeBaseline(topology, *trees, ringChunks);
}

int driver::writeBaseline(const SynthesisRequest &request) {
  std::string where;
  RankGroups boxes;
  std::optional<Topology> topology = request.topology(&where, &boxes);
  std::optional<CollectiveKind> kind;
  if (topology)
    kind = parseCollective(request.collective);
  if (!kind)
    return BadInput;
  if (std::string mistake = findMistake(*topology, *kind, request.root);
      !mistake.empty())
    return fail(mistake);
  Progress progress("writing an algorithm for " + topology->name());
  Result<Implementation> baseline =
      algorithm == Algorithm::Tree
          ? makeTrees(*topology, boxes)
          : makeRings(*topology, *kind, request.root.value_or(0));
  if (!baseline)
    return fail(where + baseline.error());
  const Schedule &schedule = baseline->schedule;
  Result<Instance> instance =
      Instance::make(std::move(*topology), std::move(baseline->collective),
                     schedule.steps.size(), schedule.rounds());
  if (!instance)
    return fail(where + instance.error());
  return writeFile(request.output.empty() ? "-" : request.output,
                   scheduleText(*instance, boxes, schedule))
             ? Done
             : BadInput;
}
