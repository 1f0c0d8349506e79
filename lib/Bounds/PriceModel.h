//===- PriceModel.h - The linear program of a problem -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_BOUNDS_PRICEMODEL_H
#define SCCL_LIB_BOUNDS_PRICEMODEL_H

#include "Optimize/LinearProgram.h"
#include "Problem.h"

#include "sccl/Optimize/Deadline.h"
#include <vector>

namespace sccl::bounds {

/// How much of what is known about trees goes into the program.
enum class TreeRules {
  ArrivalsOnly, ///< rules (i) and (ii) of Certificate.h
  WithPaths,    ///< rule (iii) too
};

/// A table link x step.
struct LinkTable {
  unsigned columns = 0;
  std::vector<double> values;
  double *at(size_t link) { return values.data() + link * columns; }
  const double *at(size_t link) const { return values.data() + link * columns; }
};

/// The dual solution for one tree, in the notation of Certificate.h, links and
/// steps in the direction of the problem.
struct TreeDuals {
  std::vector<double> arrivals;
  LinkTable relays;
  /// For each target of the tree; empty without rule (iii).
  std::vector<LinkTable> paths;
};

/// The dual solution. Trees and gossip values are given for the first commodity
/// of each orbit only.
struct PriceDuals {
  double optimum;
  LinkTable prices; ///< one row per limit of the problem
  std::vector<unsigned> commodities;
  std::vector<double> gossip;                ///< for each of `commodities`
  std::vector<std::vector<TreeDuals>> trees; ///< likewise, in their order
};

/// Solves the program and scales its dual solution to single chunks. Fails if
/// there are more than `maxColumns` columns, or as many parts that even finding
/// their orbits takes too long, or when `deadline` has expired.
Result<PriceDuals> solvePrices(const Problem &problem, TreeRules rules,
                               size_t maxColumns, const Deadline &deadline);

} // namespace sccl::bounds

#endif // SCCL_LIB_BOUNDS_PRICEMODEL_H
