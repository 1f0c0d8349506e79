//===- PipelinedBenchmarks.cpp - Pipelined schedules of least load --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// pipelined/...: a schedule of the least load on a machine as people own them,
// emitted, checked, and its certificate checked. Loads are in rounds of the
// quantum of the derived topology, as `sccl machine` prints it.
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
struct PipelinedRow {
  const char *machine;
  Rational allGather; ///< the least load
};
} // namespace

/// What is wrong with `result`, which has passed the checker.
static std::string judge(const PipelinedSchedule &result,
                         const Topology &topology,
                         std::optional<Rational> expected) {
  if (!result.bound)
    return "no bound";
  if (expected && (!result.optimal || result.cost().load != *expected))
    return "the load is " + result.cost().load.str() + ", the least is " +
           expected->str();
  return checkText(printCertificate(result.bound->certificate), topology,
                   result.implementation.collective);
}

static std::string synthesizeAndProve(const Topology &topology, Kind kind,
                                      std::optional<Rational> expected) {
  Result<PipelinedSchedule> result = synthesizePipelined(topology, kind, 0);
  if (!result)
    return result.error();
  return judge(*result, topology, expected);
}

static void addMachine(const PipelinedRow &row, Kind kind,
                       std::optional<Rational> expected) {
  std::string name = std::string("pipelined/") + row.machine + "/" +
                     std::string(collectiveName(kind));
  addPrepared(name, [=]() -> Body {
    auto topology = std::make_shared<const Topology>(
        unwrap(makeNamedTopology(row.machine)));
    return [=] { return synthesizeAndProve(*topology, kind, expected); };
  });
}

/// The least load of two steps, which is that of any number there.
static void addTwoSteps(const PipelinedRow &row) {
  addPrepared(std::string("pipelined/") + row.machine + "/two_steps",
              [=]() -> Body {
                auto topology = std::make_shared<const Topology>(
                    unwrap(makeNamedTopology(row.machine)));
                return [=]() -> std::string {
                  DepthAnswer answer =
                      PipelinedDepths(*topology, Kind::AllGather, 0).at(2);
                  if (!answer.schedule)
                    return answer.schedule.error();
                  return judge(*answer.schedule, *topology, row.allGather);
                };
              });
}

void bench::registerPipelined() {
  for (const PipelinedRow &row :
       {PipelinedRow{"dgx1", {7, 6}}, PipelinedRow{"h100:boxes=2", {3, 2}},
        PipelinedRow{"h100:boxes=4", {31, 10}},
        PipelinedRow{"h100:boxes=8", {7, 1}},
        PipelinedRow{"h100:boxes=16", {15, 1}},
        PipelinedRow{"h100:boxes=128", {127, 1}}})
    addTwoSteps(row);
  // From opt_ag, the cut formula: ranks / (load in seconds per byte of a rank).
  const PipelinedRow rows[] = {
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
  for (const PipelinedRow &row : rows) {
    addMachine(row, Kind::AllGather, row.allGather);
    for (Kind kind :
         {Kind::AllReduce, Kind::Broadcast, Kind::Reduce, Kind::ReduceScatter})
      addMachine(row, kind, std::nullopt);
  }
}
