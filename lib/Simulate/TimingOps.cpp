//===- TimingOps.cpp - Timing as coll.timing ------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Simulate/TimingOps.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"

#include "mlir/IR/Builders.h"

#include <algorithm>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

/// Rates of ops are in GB/s, those of Timing in MB/s.
static constexpr double perGigabyte = 1e3;

/// One number if all are equal.
static std::vector<double> shortened(std::vector<double> numbers) {
  if (!numbers.empty() && llvm::all_equal(numbers))
    numbers.resize(1);
  return numbers;
}

static std::vector<double> inFull(ArrayRef<double> numbers, size_t count) {
  if (numbers.size() == count)
    return numbers.vec();
  return std::vector<double>(count, numbers.front());
}

void coll::setTiming(TopologyOp op, const Topology &topology,
                     const Timing &timing) {
  if (topology.links().empty())
    return;
  OpBuilder builder = OpBuilder::atBlockEnd(&op.getBody().front());
  std::vector<double> rates;
  for (unsigned limit : exportedLimits(topology))
    rates.push_back(timing.rates[limit] / perGigabyte);
  auto orNone = [&](double number) {
    return number > 0 ? builder.getF64FloatAttr(number) : FloatAttr();
  };
  auto listOrNone = [&](ArrayRef<double> numbers) {
    bool isNone = llvm::all_of(numbers, [](double each) { return each == 0; });
    return isNone ? DenseF64ArrayAttr() : builder.getDenseF64ArrayAttr(numbers);
  };
  TimingOp::create(
      builder, op.getLoc(),
      builder.getDenseF64ArrayAttr(shortened(timing.latencies)),
      builder.getDenseF64ArrayAttr(shortened(rates)),
      orNone(timing.copyRate / perGigabyte), orNone(timing.startTime),
      orNone(timing.barrierTime),
      listOrNone({timing.loadRate / perGigabyte, timing.sendRate / perGigabyte,
                  timing.wordRate / perGigabyte, timing.accessTime}),
      listOrNone({timing.signalTime, timing.waitTime}),
      orNone(timing.launchTime));
}

std::optional<Timing> coll::timingOf(TopologyOp op, const Topology &topology) {
  auto timings = op.getBody().getOps<TimingOp>();
  if (timings.empty())
    return std::nullopt;
  TimingOp from = *timings.begin();
  Timing timing;
  timing.latencies = inFull(from.getLatencies(), topology.links().size());
  timing.rates = inFull(from.getRates(), topology.limits().size());
  for (double &rate : timing.rates)
    rate *= perGigabyte;
  auto orZero = [](std::optional<APFloat> number) {
    return number ? number->convertToDouble() : 0.0;
  };
  timing.copyRate = orZero(from.getCopies()) * perGigabyte;
  timing.startTime = orZero(from.getStart());
  timing.barrierTime = orZero(from.getBarrier());
  if (std::optional<ArrayRef<double>> blocks = from.getBlocks()) {
    timing.loadRate = (*blocks)[0] * perGigabyte;
    timing.sendRate = (*blocks)[1] * perGigabyte;
    timing.wordRate = (*blocks)[2] * perGigabyte;
    timing.accessTime = (*blocks)[3];
  }
  if (std::optional<ArrayRef<double>> flags = from.getFlags()) {
    timing.signalTime = (*flags)[0];
    timing.waitTime = (*flags)[1];
  }
  timing.launchTime = orZero(from.getLaunch());
  return timing;
}
