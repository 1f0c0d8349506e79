//===- Blockwise.h - All_reduces that boxes suggest -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where latencies of links differ, ranks that fast links join are a block, such
// as a box. Messages that are not large want few hops over slow links: each
// block reduces and scatters, ranks of the same place in all blocks exchange
// what they have over slow links, each block gathers. One step of exchanges has
// one slow hop and sends all to all; two, a reduce_scatter and an all_gather,
// send as little as can be.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ADVICE_BLOCKWISE_H
#define SCCL_LIB_ADVICE_BLOCKWISE_H

#include "sccl/Advice/Advice.h"

#include <vector>

namespace sccl::advice {

using Blocks = std::vector<std::vector<unsigned>>;

/// The ranks that links of at most `latency` microseconds join, ascending,
/// block by block. Below 0 each rank is a block.
Blocks joinedWithin(const Topology &topology, const Timing &timing,
                    double latency);

/// All_reduces of 2 steps (C = 1: all exchange within, then between blocks), 3
/// (C = ranks of a block) and 4 (C = ranks), which the checker has accepted,
/// for each latency that makes blocks with a link from each rank of a block to
/// each other, and slow links between ranks of the same place. Half of the
/// largest block must be in places at least; the others leave what goes between
/// blocks to these, so that C is less and nothing has 2 steps. Where each rank
/// has a link to each, all exchange in one step, too.
std::vector<Implementation> blockwiseAllReduces(const Fabric &fabric);

} // namespace sccl::advice

#endif // SCCL_LIB_ADVICE_BLOCKWISE_H
