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

/// What the channel of a rank to itself has to do beside its others.
struct LocalWork {
  /// What the channel accesses, and what each of the others that do something
  /// does, in any unit. Where the rank has none, as the root of a reduce, the
  /// others are those of other ranks to it.
  uint64_t own = 0;
  std::vector<uint64_t> others = {};
  /// Whether it reduces, or delivers what came into scratch. That stands
  /// between what comes and what the rank sends on, or its end.
  bool handlesArrivals = false;

  /// How many times the blocks of a program the channel has, a power of two: so
  /// many that each does about as much as a block of the others on average, or
  /// a half of that if it `handlesArrivals`; at most `most`, unless that is 0.
  unsigned spread(unsigned most) const {
    return spreadFor(handlesArrivals ? 4 : 2, most);
  }
  /// The same where blocks are left over of `smBudget`, or of `usualBlocks` if
  /// that is 0, for a rank of so many `channels` with `blocks` each: a quarter
  /// in place of a half, and no more than a block of the others. No less than
  /// `present`, the spread so far.
  unsigned widened(unsigned smBudget, unsigned blocks, uint64_t channels,
                   unsigned present) const;

private:
  /// So many that a block has less than 3 / `share` of what one of the others
  /// has.
  unsigned spreadFor(unsigned share, unsigned most) const;
};

/// How many times the blocks of a program, or 1 where those are 0, one of so
/// many channels of a rank may have within `smBudget` blocks, at least 1; 0 if
/// that is 0, for no limit.
unsigned spreadWithin(unsigned smBudget, unsigned blocks, uint64_t channels);

/// Of a rank for which there is no budget, as many are resident on all GPUs
/// that have fast links.
inline constexpr unsigned usualBlocks = 128;

/// The blocks of a program, 1 to 64, that fill all limits of `topology` that
/// something goes over (gate K9), whose `rates` are in the unit of `perBlock`:
/// what one block of each channel over a link keeps under way, by link, all
/// channels together. With `channels` of them, spread ones counted as several,
/// no rank has more than `smBudget`, or `usualBlocks` if that is 0.
unsigned blocksToFill(const Topology &topology,
                      const std::vector<double> &rates,
                      const std::vector<double> &perBlock, uint64_t channels,
                      unsigned smBudget);

} // namespace sccl

#endif // SCCL_MODEL_SPREAD_H
