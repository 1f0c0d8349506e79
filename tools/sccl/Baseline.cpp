//===- Baseline.cpp - sccl baseline ---------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The algorithms of NCCL as schedules, to compare with.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "Progress.h"

#include "sccl/Model/Baselines.h"

#include "llvm/Support/FormatVariadic.h"

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

static cl::SubCommand command("baseline",
                              "Write NCCL's ring or tree algorithm");
static cl::opt<std::string>
    topologyName("topology", cl::desc("Topology, machine or .mlir file"),
                 cl::Required, cl::sub(command));
static cl::opt<std::string>
    collectiveSpelling("collective",
                       cl::desc("all_gather, all_reduce, reduce_scatter, "
                                "broadcast or reduce"),
                       cl::Required, cl::sub(command));

namespace {
enum class Algorithm { Ring, Tree };
} // namespace

static cl::opt<Algorithm> algorithm(
    "algorithm", cl::desc("How"), cl::init(Algorithm::Ring), cl::sub(command),
    cl::values(clEnumValN(Algorithm::Ring, "ring", "Rings through all ranks"),
               clEnumValN(Algorithm::Tree, "tree",
                          "Two binary trees over boxes for each rank of a box, "
                          "with chains in boxes (all_reduce)")));
static cl::opt<std::string> boxesText(
    "boxes",
    cl::desc("Ranks of each box, for trees, as 0-7/8-15 or blocks:8 (default: "
             "those of the machine, else one box)"),
    cl::value_desc("RANKS/..."), cl::sub(command));
static cl::opt<unsigned> root("root", cl::desc("Root rank"), cl::init(0),
                              cl::sub(command));
static cl::opt<unsigned>
    pipeline("pipeline",
             cl::desc("Chunks per ring of a broadcast or reduce, or per tree"),
             cl::init(1), cl::sub(command));
static cl::opt<std::string> output("o", cl::desc("Write the schedule here"),
                                   cl::value_desc("FILE"), cl::init("-"),
                                   cl::sub(command));

bool driver::baselineChosen() { return bool(command); }

/// What is wrong with the options for `kind` on `topology`; empty if nothing.
static std::string findMistake(const Topology &topology, CollectiveKind kind) {
  /// Keeps the schedule small enough to be written as text.
  constexpr unsigned maxPipeline = 4096;
  std::string name(collectiveName(kind));
  bool isTree = algorithm == Algorithm::Tree;
  if (pipeline < 1 || pipeline > maxPipeline)
    return llvm::formatv("--pipeline is {0}, expected between 1 and {1}",
                         pipeline.getValue(), maxPipeline);
  if (isTree && kind != CollectiveKind::AllReduce)
    return "there is no tree algorithm for " + name;
  if (!isTree && boxesText.getNumOccurrences())
    return "--boxes is for --algorithm=tree";
  if (root.getNumOccurrences() && !isRooted(kind))
    return name + " has no root";
  if (root >= topology.numRanks())
    return llvm::formatv("root {0} is out of range for {1} ranks",
                         root.getValue(), topology.numRanks());
  bool isPipelined = isTree || kind == CollectiveKind::Broadcast ||
                     kind == CollectiveKind::Reduce;
  if (pipeline.getNumOccurrences() && !isPipelined)
    return "--pipeline is for trees, broadcast and reduce, got rings of " +
           name;
  return "";
}

static Result<Implementation> makeRings(const Topology &topology,
                                        CollectiveKind kind) {
  Result<std::vector<Ring>> rings = findRings(topology);
  if (!rings)
    return Error{rings.error()};
  return makeRingBaseline(topology, *rings, kind, pipeline, root);
}

static Result<Implementation> makeTrees(const Topology &topology,
                                        RankGroups boxes) {
  if (boxesText.getNumOccurrences()) {
    Result<RankGroups> given =
        parseRankGroups(boxesText.getValue(), topology.numRanks());
    if (!given)
      return Error{"--boxes: " + given.error()};
    boxes = std::move(*given);
  }
  Result<std::vector<RankTree>> trees = findTrees(topology, boxes);
  if (!trees)
    return Error{trees.error()};
  return makeTreeBaseline(topology, *trees, pipeline);
}

int driver::baselineMain() {
  std::string where;
  RankGroups boxes;
  std::optional<Topology> topology = loadTopology(topologyName, &where, &boxes);
  std::optional<CollectiveKind> kind = parseCollective(collectiveSpelling);
  if (!topology || !kind)
    return BadInput;
  if (std::string mistake = findMistake(*topology, *kind); !mistake.empty())
    return fail(mistake);
  Progress progress("writing " + topologyName.getValue());
  Result<Implementation> baseline = algorithm == Algorithm::Tree
                                        ? makeTrees(*topology, boxes)
                                        : makeRings(*topology, *kind);
  if (!baseline)
    return fail(where + baseline.error());
  const Schedule &schedule = baseline->schedule;
  Result<Instance> instance =
      Instance::make(std::move(*topology), std::move(baseline->collective),
                     schedule.steps.size(), schedule.rounds());
  if (!instance)
    return fail(where + instance.error());
  return writeFile(output, scheduleText(*instance, boxes, schedule)) ? Done
                                                                     : BadInput;
}
