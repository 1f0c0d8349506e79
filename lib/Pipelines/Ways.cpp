//===- Ways.cpp - Ways to lower as options of lowering --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Pipelines/Ways.h"

#include "sccl/Analysis/ProgramView.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Pipelines/Pipelines.h"

#include <cmath>
#include <iterator>

using namespace sccl;
using coll::Protocol;
using coll::Transport;

namespace {
struct NamedWay {
  const char *name;
  Transport transport;
  Protocol protocol;
};
} // namespace

static constexpr NamedWay namedWays[] = {
    {"push", Transport::Push, Protocol::Direct},
    {"pull", Transport::Pull, Protocol::Direct},
    {"scratch", Transport::Push, Protocol::DoubleBuffer},
    {"dma", Transport::DMA, Protocol::Direct},
    {"ll", Transport::Push, Protocol::LL},
    {"single-scratch", Transport::Push, Protocol::Scratch},
    {"eager", Transport::Push, Protocol::Eager},
    {"in-network", Transport::Push, Protocol::InNetwork}};

LoweringOptions sccl::optionsOf(const coll::Way &way, LoweringOptions base) {
  switch (way.transport) {
  case Transport::Push:
    // A schedule says what switches do.
    base.transport = way.protocol == Protocol::InNetwork
                         ? TransportChoice::Given
                         : TransportChoice::Push;
    break;
  case Transport::Pull:
    base.transport = TransportChoice::Pull;
    break;
  case Transport::DMA:
    base.transport = TransportChoice::DMA;
    break;
  case Transport::Multicast: // excluded by the attribute's verifier
  case Transport::LoadReduce:
    break;
  }
  base.ll = way.protocol == Protocol::LL;
  base.doubleBuffer = base.ll || way.protocol == Protocol::DoubleBuffer ||
                      way.protocol == Protocol::Eager;
  base.throughScratch = base.ll || way.protocol == Protocol::DoubleBuffer ||
                        way.protocol == Protocol::Scratch;
  base.inNetwork = way.protocol == Protocol::InNetwork;
  base.pieces = way.pieces;
  base.pieceDistance = way.order.distance;
  base.pieceRounds = way.order.inRounds;
  if (base.smBudget == 0)
    base.smBudget = way.smBudget;
  if (base.sumOrder == SumOrder::Same)
    base.sumOrder = way.sumOrder;
  base.oneRounding |= way.oneRounding;
  if (way.sumsInF32)
    base.wire = Wire::F32;
  base.steps = runsBySteps(base);
  // Functions of steps wait for nobody.
  base.virtualRanks &= !base.steps;
  return base;
}

coll::Way sccl::wayOf(const LoweringOptions &options) {
  coll::Way way;
  if (options.transport == TransportChoice::Pull)
    way.transport = Transport::Pull;
  else if (options.transport == TransportChoice::DMA)
    way.transport = Transport::DMA;
  if (options.ll)
    way.protocol = Protocol::LL;
  else if (options.inNetwork)
    way.protocol = Protocol::InNetwork;
  else if (options.throughScratch)
    way.protocol =
        options.doubleBuffer ? Protocol::DoubleBuffer : Protocol::Scratch;
  else
    way.protocol = options.doubleBuffer ? Protocol::Eager : Protocol::Direct;
  way.pieces = options.pieces;
  way.order = {options.pieceDistance, options.pieceRounds};
  way.smBudget = options.smBudget;
  way.sumOrder = options.sumOrder;
  way.oneRounding = options.oneRounding;
  way.sumsInF32 = options.wire == Wire::F32;
  return way;
}

llvm::StringRef sccl::nameOf(const coll::Way &way) {
  // The protocol is of pushes.
  for (const NamedWay &named : namedWays)
    if (named.transport == way.transport &&
        (named.protocol == way.protocol || way.transport != Transport::Push))
      return named.name;
  return "";
}

std::string sccl::describe(const coll::Way &way) {
  std::string text = nameOf(way).str();
  if (way.pieces == 1)
    return text;
  return text + " in " + std::to_string(way.pieces) + " pieces" +
         describe(way.order);
}

std::string sccl::describe(PieceOrder order) {
  std::string text = order.inRounds ? " in rounds" : "";
  if (order.distance != PieceOrder().distance)
    text += " at " + std::to_string(order.distance);
  return text;
}

std::optional<coll::Way> sccl::findWay(llvm::StringRef name) {
  for (const NamedWay &named : namedWays)
    if (name == named.name)
      return coll::Way{named.transport, named.protocol};
  return std::nullopt;
}

coll::Way sccl::wayFor(llvm::ArrayRef<coll::Way> ways, double bytes) {
  // Of two sizes that are as near, the larger one, as in tables of sizes.
  using Merit = std::tuple<double, double, uint64_t>;
  std::optional<Merit> best;
  coll::Way chosen = ways.empty() ? coll::Way() : ways.front();
  for (const coll::Way &way : ways)
    for (const SizedTime &time : way.bestAt) {
      Merit merit{std::abs(std::log(bytes / double(time.bytes))),
                  -double(time.bytes), time.nanoseconds};
      if (best && *best <= merit)
        continue;
      best = merit;
      chosen = way;
    }
  return chosen;
}

mlir::OwningOpRef<mlir::ModuleOp> sccl::lowerAs(coll::ScheduleOp schedule,
                                                const coll::Way &way,
                                                const LoweringOptions &base) {
  mlir::OwningOpRef<mlir::ModuleOp> module = coll::extract(schedule);
  // In one order if there is one: what it is for has no contract.
  if (failed(runPasses(*module, [&](mlir::OpPassManager &manager) {
        addLowering(manager, optionsOf(way, base), {SumOrder::Any});
      })))
    return nullptr;
  return module;
}

mlir::FailureOr<Program> sccl::programOf(coll::ScheduleOp schedule,
                                         coll::Way way) {
  way.transport = Transport::Push;
  way.protocol = Protocol::Direct;
  mlir::OwningOpRef<mlir::ModuleOp> module = lowerAs(schedule, way);
  if (!module)
    return mlir::failure();
  return coll::viewOf(*module->getOps<coll::ProgramOp>().begin());
}
