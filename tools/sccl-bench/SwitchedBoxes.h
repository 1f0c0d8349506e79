//===- SwitchedBoxes.h - Boxes of GPUs behind switches ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_BENCH_SWITCHEDBOXES_H
#define SCCL_TOOLS_SCCL_BENCH_SWITCHEDBOXES_H

#include "sccl/Model/Topology.h"

namespace sccl::bench {

/// How boxes are joined.
enum class Network {
  Rails, ///< the network card of GPU i reaches GPU i of every other box
  Full,  ///< a network card reaches every GPU of every other box
};

/// `boxes` boxes of `gpus` ranks. In a box a switch joins all ranks, and takes
/// from and gives to each rank `boxBandwidth` chunks per round; each rank's
/// network card sends and receives 1 chunk per round.
Topology makeSwitchedBoxes(unsigned boxes, unsigned gpus, unsigned boxBandwidth,
                           Network network);

} // namespace sccl::bench

#endif // SCCL_TOOLS_SCCL_BENCH_SWITCHEDBOXES_H
