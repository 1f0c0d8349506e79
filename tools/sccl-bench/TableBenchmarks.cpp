//===- TableBenchmarks.cpp - The rows of the paper's tables ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Benchmarks.h"

#include "Data/PaperTables.h"

using namespace sccl;
using namespace sccl::bench;

using Kind = CollectiveKind;

/// Seconds after which a row has no answer.
static constexpr double patience = 30;
/// The same for engines that `auto` would not choose, and that accept more than
/// they answer quickly.
static constexpr double patienceWithOthers = 2;

/// table/dgx1/all_gather/6,3,7/auto: one row by one engine.
static void addRow(const std::string &name, const Instance &instance) {
  add(name + "/auto",
      [instance] { return synthesizeAndCheck(instance, "auto", patience); });
  add(name + "/z3",
      [instance] { return synthesizeAndCheck(instance, "z3", patience); });
  for (const auto &backend : solverBackends()) {
    std::string engine(backend->name());
    if (engine != "z3" && backend->whyNot(instance).empty())
      addOptional(name + "/" + engine, [instance, engine] {
        return synthesizeAndCheck(instance, engine, patienceWithOthers);
      });
  }
}

/// tables/all_rows/auto: all rows, one after the other.
static void addAllRows(const std::vector<Instance> &instances,
                       const std::string &engine) {
  add("tables/all_rows/" + engine, [instances, engine] {
    std::string problem;
    for (const Instance &instance : instances)
      if (problem.empty())
        problem = synthesizeAndCheck(instance, engine, patience);
    return problem;
  });
}

/// all_reduce schedules that are no all_gather and its inverse.
static void addDirectAllReduce() {
  struct {
    const char *topology;
    unsigned chunks, steps, rounds;
  } targets[] = {{"dgx1", 2, 2, 2},    {"dgx1", 6, 3, 3},
                 {"dgx1", 12, 4, 4},   {"amd_z52", 2, 4, 4},
                 {"amd_z52", 4, 5, 5}, {"amd_z52", 8, 7, 7}};
  std::vector<Instance> instances;
  for (const auto &[topology, chunks, steps, rounds] : targets) {
    Instance instance =
        makeInstance(topology, Kind::AllReduce, chunks, steps, rounds);
    add("direct/" + std::string(topology) + "/" + std::to_string(chunks) + "," +
            std::to_string(steps) + "," + std::to_string(rounds),
        [instance] {
          return synthesizeAndCheck(instance, "direct", patience);
        });
    instances.push_back(std::move(instance));
  }
  add("direct/all_six", [instances] {
    std::string problem;
    for (const Instance &instance : instances)
      if (problem.empty())
        problem = synthesizeAndCheck(instance, "direct", patience);
    return problem;
  });
}

void bench::registerTables() {
  std::vector<Instance> instances;
  for (const test::PaperRow &row : unwrap(test::readPaperTables())) {
    Instance instance = unwrap(row.instance());
    std::string name =
        "table/" + row.topology + "/" + std::string(collectiveName(row.kind)) +
        "/" + std::to_string(row.chunks) + "," + std::to_string(row.steps) +
        "," + std::to_string(row.rounds);
    addRow(name, instance);
    instances.push_back(std::move(instance));
  }
  addAllRows(instances, "auto");
  addAllRows(instances, "z3");
  addDirectAllReduce();
}
