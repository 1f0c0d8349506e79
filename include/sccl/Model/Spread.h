//===- Spread.h - Thread blocks for channels with much to do ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_SPREAD_H
#define SCCL_MODEL_SPREAD_H

#include "sccl/Model/Topology.h"

#include <cstdint>
#include <vector>

namespace sccl {

/// How many times the blocks of a program the channel of a rank to itself has,
/// a power of two: so many that each does about as much as a block of the
/// others does on average, or half of that if the channel `handlesArrivals`,
/// since what a rank reduces stands between what comes and what it sends on.
/// `own` is what the channel accesses, and `others` what each of the others
/// that do something does, in any unit. At most `most`, unless that is 0.
unsigned spreadOf(uint64_t own, const std::vector<uint64_t> &others,
                  bool handlesArrivals, unsigned most = 0);

/// How many times the blocks of a program, or 1 where those are 0, one of so
/// many channels of a rank may have within `smBudget` blocks, at least 1; 0 if
/// that is 0, for no limit.
unsigned spreadWithin(unsigned smBudget, unsigned blocks, uint64_t channels);

/// The blocks of a program, 1 to 64, that fill what lies behind `links` if each
/// keeps `blockRate` under way: all limits of `topology`, of which `rates` are
/// in the same unit (gate K9). A link is there once for each channel over it,
/// or as often as that is spread. With `channels` of them, spread ones counted
/// as several, no rank has more than `smBudget`, or if that is 0 than 128,
/// which are resident on all GPUs that have fast links.
unsigned blocksToFill(const Topology &topology,
                      const std::vector<double> &rates, double blockRate,
                      const std::vector<unsigned> &links, uint64_t channels,
                      unsigned smBudget);

} // namespace sccl

#endif // SCCL_MODEL_SPREAD_H
