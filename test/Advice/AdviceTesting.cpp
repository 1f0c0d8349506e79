//===- AdviceTesting.cpp - Random fabrics and what programs take ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdviceTesting.h"

#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Simulate/Traffic.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>

using namespace sccl;

static mlir::DialectRegistry pipelineDialects() {
  mlir::DialectRegistry registry;
  registerPipelineDialects(registry);
  return registry;
}

PipelineContext::PipelineContext() : context(pipelineDialects()) {
  context.loadAllAvailableDialects();
}

Fabric sccl::randomFabric(std::mt19937 &random) {
  unsigned blocks = 1 + random() % 3, size = 1 + random() % 3;
  unsigned ranks = std::max(blocks * size, 2u);
  Fabric fabric{Topology("random", ranks), {}, 0.1};
  const double latencies[] = {0, 0.5, 1, 3, 7};
  double fast = latencies[random() % 5], slow = latencies[random() % 5];
  std::vector<std::vector<unsigned>> out(ranks);
  auto add = [&](unsigned a, unsigned b, double latency) {
    if (a == b || fabric.topology.findLink(a, b))
      return;
    Result<unsigned> link = fabric.topology.addLink(a, b, 1 + random() % 4);
    ASSERT_TRUE(bool(link));
    out[a].push_back(*link);
    fabric.timing.latencies.push_back(latency);
  };
  bool isRegular = random() % 2;
  for (unsigned a = 0; a < ranks; ++a) {
    add(a, (a + 1) % ranks, slow); // all reach all
    for (unsigned b = 0; b < ranks; ++b)
      if (a / size == b / size)
        add(a, b, fast);
      else if (isRegular ? a % size == b % size : random() % 3 == 0)
        add(a, b, slow);
  }
  for (const std::vector<unsigned> &links : out)
    if (links.size() > 1 && random() % 2) {
      EXPECT_TRUE(bool(fabric.topology.addLimit(links, 1 + random() % 3)));
    }
  for (const BandwidthLimit &limit : fabric.topology.limits())
    fabric.timing.rates.push_back(limit.bandwidth * 10.0);
  fabric.timing.copyRate = random() % 2 ? 50 : 0;
  return fabric;
}

std::optional<double> sccl::timeOf(mlir::MLIRContext &context,
                                   const Fabric &fabric,
                                   const Implementation &implementation,
                                   const LoweringOptions &options,
                                   double bytes) {
  const auto &[collective, schedule] = implementation;
  mlir::OwningOpRef<mlir::ModuleOp> module = coll::exportModule(
      context, "tried", fabric.topology, collective, schedule);
  if (failed(runPasses(*module, [&](mlir::OpPassManager &manager) {
        addLowering(manager, options);
      })))
    return std::nullopt;
  for (auto program : module->getOps<coll::ProgramOp>()) {
    auto traffic =
        coll::trafficOf(program, fabric.topology, bytes / collective.chunks());
    if (failed(traffic))
      return std::nullopt;
    auto result = simulate(fabric.topology, *traffic, fabric.timing);
    if (result)
      return result->microseconds;
  }
  return std::nullopt;
}
