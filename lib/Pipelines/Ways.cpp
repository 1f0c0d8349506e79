//===- Ways.cpp - Ways to lower as options of lowering --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Pipelines/Ways.h"

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
    {"single-scratch", Transport::Push, Protocol::Scratch}};

LoweringOptions sccl::optionsOf(const coll::Way &way, LoweringOptions base) {
  switch (way.transport) {
  case Transport::Push:
    base.transport = TransportChoice::Push;
    break;
  case Transport::Pull:
    base.transport = TransportChoice::Pull;
    break;
  case Transport::DMA:
    base.transport = TransportChoice::DMA;
    break;
  }
  base.throughScratch = way.protocol != Protocol::Direct;
  base.doubleBuffer = base.throughScratch && way.protocol != Protocol::Scratch;
  base.ll = way.protocol == Protocol::LL;
  base.pieces = way.pieces;
  base.pieceDistance = way.order.distance;
  base.pieceRounds = way.order.inRounds;
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
  way.protocol = options.ll                ? Protocol::LL
                 : !options.throughScratch ? Protocol::Direct
                 : options.doubleBuffer    ? Protocol::DoubleBuffer
                                           : Protocol::Scratch;
  way.pieces = options.pieces;
  way.order = {options.pieceDistance, options.pieceRounds};
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
