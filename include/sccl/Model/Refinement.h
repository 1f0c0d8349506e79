//===- Refinement.h - Ranks and links that look alike -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Symmetries of a topology say which ranks may be exchanged. What linear
// programs and searches need is less, and much cheaper to have for a thousand
// ranks: classes of ranks, links and limits such that each member of a class
// meets as many members of each other class as any other does (an equitable
// partition, by colour refinement). The mean of a solution over the classes is
// again a solution (Grohe, Kersting, Mladenov, Selman: Dimension Reduction via
// Colour Refinement).
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_REFINEMENT_H
#define SCCL_MODEL_REFINEMENT_H

#include "sccl/Model/Topology.h"

#include <vector>

namespace sccl {

/// Classes of 0..n-1, numbered in the order of their first members.
struct Classes {
  std::vector<unsigned> classOf;
  std::vector<unsigned> sizes;
  std::vector<unsigned> firsts; ///< the smallest member of each class

  /// Puts members with equal keys into a class.
  explicit Classes(const std::vector<uint64_t> &keys = {});
  size_t count() const { return sizes.size(); }
};

/// Classes of the parts of a topology. All ranks of a class enter, and are
/// entered by, the same number of links of each class; the ends of the links of
/// a class are in one class each; a link of a class is in as many limits of
/// each class as any other, and a limit has as many links of each class.
struct Refinement {
  Classes ranks, links, limits;
};

/// The coarsest such classes that keep apart what has different keys. Without
/// `limitKeys` limits are told apart by their bandwidth. Takes time linear in
/// the links and the sizes of limits, for each of a few rounds.
Refinement refine(const Topology &topology,
                  const std::vector<uint64_t> &rankKeys,
                  const std::vector<uint64_t> &limitKeys = {});

/// The same, starting from `coarser`, with each rank of `apart` in a class of
/// its own.
Refinement refine(const Topology &topology, const Refinement &coarser,
                  const std::vector<unsigned> &apart);

} // namespace sccl

#endif // SCCL_MODEL_REFINEMENT_H
