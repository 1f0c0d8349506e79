//===- Factors.h - Topologies that are products -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Grids, tori, hypercubes and boxes with rails are Cartesian products of small
// graphs: a rank is a place in each, and a link changes one of these places.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SEARCH_FACTORS_H
#define SCCL_LIB_SEARCH_FACTORS_H

#include "sccl/Model/Topology.h"

#include <optional>
#include <vector>

namespace sccl {

struct Product {
  /// Each as it is among the ranks that differ from rank 0 in this place only,
  /// with the limits on their links.
  std::vector<Topology> factors;
  /// By factor and rank.
  std::vector<std::vector<unsigned>> places;
  /// What a step of one place in a factor adds to the index of a rank, and the
  /// ranks by index.
  std::vector<unsigned> strides;
  std::vector<unsigned> ranks;

  /// The rank at `place` in `factor`, and where `rank` is in all others.
  unsigned moved(unsigned rank, unsigned factor, unsigned place) const {
    unsigned index = 0;
    for (unsigned i = 0; i < strides.size(); ++i)
      index += strides[i] * (i == factor ? place : places[i][rank]);
    return ranks[index];
  }
};

/// `topology` as a product of at least two factors of which links lead both
/// ways; nothing if none was found. Time grows with the ranks times the square
/// of the links of a rank. Bandwidths are not looked at.
std::optional<Product> factorize(const Topology &topology);

} // namespace sccl

#endif // SCCL_LIB_SEARCH_FACTORS_H
