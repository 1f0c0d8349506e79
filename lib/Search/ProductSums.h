//===- ProductSums.h - Sums by one factor after another ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All_reduces on products. Ranks sum up within one factor, then the sums within
// the next: recursive doubling, in few steps. Or the first factors
// scatter their sums, so that less is left for the others, and gather them
// again at the end: recursive halving, at a lower cost. Chunks begin with
// different factors, so that all links are in use.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SEARCH_PRODUCTSUMS_H
#define SCCL_LIB_SEARCH_PRODUCTSUMS_H

#include "StepSearch.h"

#include "sccl/Model/Topology.h"

#include <optional>
#include <vector>

namespace sccl {

// Grids, tori, hypercubes and boxes with rails are Cartesian products of small
// graphs: a rank is a place in each, and a link changes one of these places.

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

/// Sums, or scatters, or gathers within a factor.
struct FactorPart {
  unsigned chunks; ///< all that are in it
  Schedule schedule;
  std::vector<double> rounds; ///< by step, not rounded up, for a single chunk
  /// Later steps than the first send inputs, which must still be there.
  bool needsInputs = false;

  unsigned steps() const { return unsigned(schedule.steps.size()); }
};

/// The first ranks of the factor hold the first chunks in between.
struct ScatterAndGather {
  FactorPart scatter, gather;
};

/// What factors have to offer, ascending in steps.
struct FactorParts {
  std::vector<FactorPart> sums;
  std::vector<ScatterAndGather> scattered;
};

class ProductSums {
public:
  explicit ProductSums(const FrontierProblem &problem) : problem(problem) {}

  /// The cheapest found of `steps` steps; nothing if there is none, or the
  /// topology is no product. Parts are searched for at the first call.
  std::optional<FrontierPoint> at(unsigned steps);

private:
  std::optional<FrontierPoint> find(unsigned steps);
  void findParts();
  std::optional<FactorParts> partsOf(const Topology &factor) const;
  std::optional<FactorParts> searchedParts(const Topology &factor) const;

  const FrontierProblem &problem;
  bool hasParts = false;
  std::optional<Product> product;
  std::vector<FactorParts> parts;                         ///< by factor
  std::map<unsigned, std::optional<FrontierPoint>> found; ///< by steps
};

} // namespace sccl

#endif // SCCL_LIB_SEARCH_PRODUCTSUMS_H
