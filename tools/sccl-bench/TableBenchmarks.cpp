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

/// Seconds after which an engine is said not to answer a row. Far beyond what
/// the engines of choice need.
static constexpr double patience = 30;

/// table/dgx1/all_gather/6,3,7/auto: one row by one engine.
static void addRow(const std::string &name, const Instance &instance,
                   std::string_view engine) {
  add(name + "/" + std::string(engine),
      [instance, engine = std::string(engine)] {
        return synthesizeAndCheck(instance, engine, patience);
      });
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
    addRow("direct/" + std::string(topology) + "/" + std::to_string(chunks) +
               "," + std::to_string(steps) + "," + std::to_string(rounds),
           instance, "direct");
    instances.push_back(std::move(instance));
  }
  add("direct/all_six", [instances] {
    std::string problem;
    for (const Instance &instance : instances)
      if (problem.empty())
        problem = synthesizeAndCheck(instance, "direct", 10 * patience);
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
    addRow(name, instance, "auto");
    for (const auto &backend : solverBackends())
      if (backend->whyNot(instance).empty())
        addRow(name, instance, backend->name());
    instances.push_back(std::move(instance));
  }
  addAllRows(instances, "auto");
  addAllRows(instances, "z3");
  addDirectAllReduce();
}
