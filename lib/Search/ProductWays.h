//===- ProductWays.h - Orders of the factors of a sum -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which factors scatter, which sum up, and in which order; and how many chunks
// take each such way, so that links of all factors are in use at once.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SEARCH_PRODUCTWAYS_H
#define SCCL_LIB_SEARCH_PRODUCTWAYS_H

#include "ProductSums.h"

namespace sccl {

/// What some chunks do within one factor.
struct WayPhase {
  unsigned factor;
  const FactorPart *part;
  unsigned depth; ///< factors that have scattered, of the way's order
};

/// The way of some chunks: the first factors of `order` scatter, the others sum
/// up, and those of the beginning gather again.
struct Way {
  std::vector<unsigned> order;
  std::vector<WayPhase> phases;
  /// A chunk is one of so many of each factor that scatters, in `order`, and of
  /// `sumChunks` for the others.
  std::vector<unsigned> digits;
  unsigned sumChunks = 1;

  unsigned steps() const;
  uint64_t chunks() const;
};

/// Each way has as many chunks as it is here often, times `unit`.
struct MixOfWays {
  std::vector<Way> ways;
  unsigned unit = 1; ///< a multiple of the chunks of each way
  unsigned chunks() const { return unsigned(ways.size()) * unit; }
};

struct MixLimits {
  unsigned steps; ///< of the slowest way
  unsigned chunks;
  uint64_t sends;
};

/// The cheapest mix found within `limits`; nothing if there is none.
std::optional<MixOfWays> cheapestMix(const Product &product,
                                     const std::vector<FactorParts> &parts,
                                     const MixLimits &limits);

/// The rounds are left to be fitted.
Schedule writeOut(const MixOfWays &mix, const Product &product);

} // namespace sccl

#endif // SCCL_LIB_SEARCH_PRODUCTWAYS_H
