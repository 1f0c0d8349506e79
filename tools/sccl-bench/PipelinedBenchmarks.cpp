//===- PipelinedBenchmarks.cpp - Pipelined schedules of least load --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// pipelined/...: a schedule of the least load on a machine as people own them,
// emitted, checked, and its certificate checked. Loads are in rounds of the
// quantum of the derived topology, as `sccl topo` prints it.
//
//===----------------------------------------------------------------------===//

#include "Benchmarks.h"

#include "sccl/Machine/Presets.h"
#include "sccl/Solver/Pipelined.h"

#include <memory>

using namespace sccl;
using namespace sccl::bench;

using Kind = CollectiveKind;

namespace {
struct Row {
  const char *machine;
  Rational allGather; ///< the least load
};
} // namespace

static std::string synthesizeAndProve(const Topology &topology, Kind kind,
                                      std::optional<Rational> expected) {
  Result<PipelinedSchedule> result = synthesizePipelined(topology, kind, 0);
  if (!result)
    return result.error();
  // The schedule has passed the checker.
  if (!result->bound)
    return "no bound";
  if (expected && (!result->optimal || result->cost().load != *expected))
    return "the load is " + result->cost().load.str() + ", the least is " +
           expected->str();
  return checkText(printCertificate(result->bound->certificate), topology,
                   result->implementation.collective);
}

static void addMachine(const Row &row, Kind kind,
                       std::optional<Rational> expected) {
  std::string name = std::string("pipelined/") + row.machine + "/" +
                     std::string(collectiveName(kind));
  addPrepared(name, [=]() -> Body {
    auto topology = std::make_shared<const Topology>(
        unwrap(makeNamedTopology(row.machine)));
    return [=] { return synthesizeAndProve(*topology, kind, expected); };
  });
}

void bench::registerPipelined() {
  // From opt_ag, the cut formula: ranks / (load in seconds per byte of a rank).
  const Row rows[] = {
      {"dgx1", {7, 6}},
      {"a100:boxes=2,core", {15, 13}},
      {"a100:boxes=4,core", {3, 1}},
      {"h100:boxes=2,rails", {3, 2}},
      {"h100:boxes=4,rails", {31, 10}},
      {"mi250", {7, 3}},
      {"mi250:boxes=2", {15, 83}},
      {"mi300x:boxes=2", {5, 83}},
      {"ndv2:boxes=2", {8, 1}},
      {"ndv2:boxes=4", {24, 1}},
      {"tpu-v5p:4x4x4", {21, 2}},
      {"gb200-nvl72", {71, 1}},
  };
  for (const Row &row : rows) {
    addMachine(row, Kind::AllGather, row.allGather);
    for (Kind kind :
         {Kind::AllReduce, Kind::Broadcast, Kind::Reduce, Kind::ReduceScatter})
      addMachine(row, kind, std::nullopt);
  }
}
