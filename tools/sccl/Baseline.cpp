//===- Baseline.cpp - sccl baseline ---------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ring algorithms of NCCL as schedules, to compare with.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include "sccl/Model/Baselines.h"

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

static cl::SubCommand command("baseline", "Write NCCL's ring algorithm");
static cl::opt<std::string>
    topologyName("topology", cl::desc("Built-in topology or .mlir file"),
                 cl::Required, cl::sub(command));
static cl::opt<std::string>
    collectiveSpelling("collective",
                       cl::desc("all_gather, all_reduce, reduce_scatter, "
                                "broadcast or reduce"),
                       cl::Required, cl::sub(command));
static cl::opt<unsigned> root("root", cl::desc("Root rank"), cl::init(0),
                              cl::sub(command));
static cl::opt<unsigned>
    pipeline("pipeline", cl::desc("Chunks per ring of a broadcast or reduce"),
             cl::init(1), cl::sub(command));
static cl::opt<std::string> output("o", cl::desc("Write the schedule here"),
                                   cl::value_desc("FILE"), cl::init("-"),
                                   cl::sub(command));

bool driver::baselineChosen() { return bool(command); }

int driver::baselineMain() {
  /// Keeps the schedule small enough to be written as text.
  constexpr unsigned maxPipeline = 4096;
  if (pipeline < 1 || pipeline > maxPipeline)
    return fail("--pipeline is " + llvm::Twine(pipeline) +
                ", expected between 1 and " + llvm::Twine(maxPipeline));
  std::string where;
  std::optional<Topology> topology = loadTopology(topologyName, &where);
  std::optional<CollectiveKind> kind = parseCollective(collectiveSpelling);
  if (!topology || !kind)
    return BadInput;
  if (root.getNumOccurrences() && !isRooted(*kind))
    return fail(llvm::Twine(collectiveName(*kind)) + " has no root");
  if (root >= topology->numRanks())
    return fail("root " + llvm::Twine(root) + " is out of range for " +
                llvm::Twine(topology->numRanks()) + " ranks");
  bool isPipelined =
      *kind == CollectiveKind::Broadcast || *kind == CollectiveKind::Reduce;
  if (pipeline.getNumOccurrences() && !isPipelined)
    return fail("--pipeline is for broadcast and reduce, got " +
                llvm::Twine(collectiveName(*kind)));
  Result<std::vector<Ring>> rings = findRings(*topology);
  if (!rings)
    return fail(where + rings.error());
  Result<Implementation> baseline =
      makeRingBaseline(*topology, *rings, *kind, pipeline, root);
  if (!baseline)
    return fail(where + baseline.error());
  const Schedule &schedule = baseline->schedule;
  Result<Instance> instance =
      Instance::make(std::move(*topology), std::move(baseline->collective),
                     schedule.steps.size(), schedule.rounds());
  if (!instance)
    return fail(where + instance.error());
  return writeFile(output, scheduleText(*instance, schedule)) ? Done : BadInput;
}
