//===- SumBound.h - Bounds where the order of additions is given *- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// At any prices of links, how cheaply a tree of additions can be computed is
// found by a table over nodes, ranks and steps (Certificate.h). So what is to
// be found are prices, and for sums that several ranks get the share of each.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_BOUNDS_SUMBOUND_H
#define SCCL_BOUNDS_SUMBOUND_H

#include "sccl/Bounds/LowerBound.h"
#include "sccl/Model/SumTree.h"

namespace sccl {

/// A bound on R/C of schedules of `collective` on `topology` with `steps`
/// steps, any number of them if there is none, that add up by the trees of
/// `order`. `prices` of limits, in any unit, are where the search begins: entry
/// [limit * steps + step], one step for any number; those of an optimum of a
/// packing are best. Where each sum goes to one rank, they are all that it
/// takes. Stops at `target`, or when work or time is over. Fails if there is no
/// such tree, nothing is added up, or the checker refuses what was found.
Result<LowerBound> sumBound(const Topology &topology,
                            const Collective &collective, const SumOrder &order,
                            std::optional<unsigned> steps,
                            const std::vector<double> &prices,
                            const Rational &target, const SearchLimits &limits);

} // namespace sccl

#endif // SCCL_BOUNDS_SUMBOUND_H
