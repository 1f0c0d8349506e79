//===- Advice.cpp - Which schedule for which size -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Advice/Advice.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/CostModel.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Simulate/Traffic.h"

#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <set>

using namespace sccl;

std::vector<LoweringWay> sccl::usualWays(const LoweringOptions &base) {
  std::vector<LoweringWay> ways = {
      {"flags", base}, {"double-buffer", base}, {"ll", base}};
  ways[1].options.throughScratch = true;
  ways[1].options.doubleBuffer = true;
  ways[2].options.ll = true;
  return ways;
}

namespace {
class Adviser {
public:
  Adviser(mlir::MLIRContext &context, const Fabric &fabric,
          const CollectiveFamily &family, Advice &advice)
      : context(context), fabric(fabric), family(family), advice(advice) {}

  std::vector<size_t> worthLowering(const std::vector<uint64_t> &sizes) const;
  std::optional<Error> tryPoint(size_t number, const LoweringWay &way);

private:
  Result<Collective> collectiveOf(const FrontierPoint &point) const {
    return Collective::make(family.kind, fabric.topology.numRanks(),
                            point.chunks, family.root);
  }
  std::optional<Error> simulateProgram(coll::ProgramOp program, size_t number,
                                       const LoweringWay &way);

  mlir::MLIRContext &context;
  const Fabric &fabric;
  const CollectiveFamily &family;
  Advice &advice;
};
} // namespace

/// True if its programs are small enough to be lowered in several ways and
/// simulated in seconds.
static bool isShort(const FrontierPoint &point) {
  constexpr size_t maxSends = 1u << 14;
  size_t sends = 0;
  for (const Step &step : point.schedule.steps)
    sends += step.sends.size();
  return sends <= maxSends;
}

/// The points that are best for one of `sizes` if each step takes the least, or
/// the most, latency of a link.
std::vector<size_t>
Adviser::worthLowering(const std::vector<uint64_t> &sizes) const {
  std::vector<Cost> costs;
  const std::vector<FrontierPoint> &points = advice.frontier.points;
  for (const FrontierPoint &point : points)
    costs.push_back({point.steps, point.bandwidth()});
  const std::vector<double> &latencies = fabric.timing.latencies;
  auto [least, most] = std::ranges::minmax(latencies);
  std::set<size_t> chosen;
  for (double latency : {least, most}) {
    CostModel model{latency, fabric.unitTime};
    for (uint64_t bytes : sizes) {
      auto time = [&](const Cost &cost) {
        return model.microseconds(cost, double(bytes));
      };
      chosen.insert(std::ranges::min_element(costs, {}, time) - costs.begin());
    }
  }
  return {chosen.begin(), chosen.end()};
}

/// Improves the advice for each size, where the program is faster.
std::optional<Error> Adviser::simulateProgram(coll::ProgramOp program,
                                              size_t number,
                                              const LoweringWay &way) {
  unsigned chunks = advice.frontier.points[number].chunks;
  for (SizeAdvice &size : advice.sizes) {
    mlir::FailureOr<Traffic> traffic =
        coll::trafficOf(program, fabric.topology, double(size.bytes) / chunks);
    if (failed(traffic))
      return Error{"a program leaves the machine's links"};
    Result<SimulationResult> result =
        simulate(fabric.topology, *traffic, fabric.timing);
    if (!result)
      return Error{result.error()};
    ++advice.simulations;
    if (result->microseconds < size.microseconds) {
      size.microseconds = result->microseconds;
      size.point = number;
      size.way = way.name;
    }
  }
  return std::nullopt;
}

std::optional<Error> Adviser::tryPoint(size_t number, const LoweringWay &way) {
  const FrontierPoint &point = advice.frontier.points[number];
  Result<Collective> collective = collectiveOf(point);
  if (!collective)
    return Error{collective.error()};
  mlir::OwningOpRef<mlir::ModuleOp> module =
      coll::exportModule(context, collective->name(), fabric.topology,
                         *collective, point.schedule);
  if (failed(runPasses(*module, [&](mlir::OpPassManager &manager) {
        addLowering(manager, way.options);
      })))
    return Error{"a schedule of C = " + std::to_string(point.chunks) +
                 ", S = " + std::to_string(point.steps) +
                 " was not lowered with " + way.name};
  for (auto program : module->getOps<coll::ProgramOp>())
    if (std::optional<Error> error = simulateProgram(program, number, way))
      return error;
  return std::nullopt;
}

Result<Advice> sccl::advise(mlir::MLIRContext &context, const Fabric &fabric,
                            const CollectiveFamily &family,
                            const std::vector<uint64_t> &sizes,
                            const FrontierOptions &options,
                            const std::vector<LoweringWay> &ways) {
  Result<Frontier> frontier = searchFrontier(fabric.topology, family, options);
  if (!frontier)
    return Error{frontier.error()};
  if (frontier->points.empty())
    return Error{"no schedule was found: " + frontier->why};
  Result<Collective> smallest =
      smallestCollective(family, fabric.topology.numRanks());
  if (!smallest)
    return Error{smallest.error()};
  Advice advice{std::move(*frontier), {}, {}, 0};
  std::optional<Rational> throughput;
  if (advice.frontier.throughput)
    throughput = advice.frontier.throughput->value;
  advice.bound = timeBound(fabric.topology, *smallest, fabric.timing,
                           throughput, fabric.unitTime);
  for (uint64_t bytes : sizes)
    advice.sizes.push_back({bytes, 0, "",
                            std::numeric_limits<double>::infinity(),
                            advice.bound.microseconds(double(bytes))});
  Adviser adviser(context, fabric, family, advice);
  for (size_t number : adviser.worthLowering(sizes))
    for (const LoweringWay &way : ways) {
      if (std::optional<Error> error = adviser.tryPoint(number, way))
        return *error;
      if (!isShort(advice.frontier.points[number]))
        break;
    }
  return advice;
}
