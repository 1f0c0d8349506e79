//===- CheapSums.h - Cheap ways to add up by a tree -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pricing problem where the order of additions is a given tree: at which
// rank each node of it is computed, and how its operands get there in time
// (Shah, Dey, Manjunath: Network flows for function computation). A table by
// node, rank and step has the least price of each sum at each place. For one
// target that is the cheapest way there is. Further ones are joined one by one,
// where sums that are there already cost nothing, and joined anew while that
// helps.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_TREES_CHEAPSUMS_H
#define SCCL_LIB_SOLVER_TREES_CHEAPSUMS_H

#include "CheapMulticasts.h"

#include "sccl/Model/SumTree.h"

namespace sccl::trees {

/// Like `cheapTrees`, where the chunks of `sum` are added up: its sources
/// contribute, in the order of the leaves of `tree`, and each target gets the
/// result. Of those that no schedule of `collective` can say none is returned.
std::vector<MulticastTree> cheapSums(const Topology &topology,
                                     const Collective &collective,
                                     const Multicast &sum, const SumTree &tree,
                                     const SendPrices &prices, unsigned tries,
                                     const Deadline &deadline);

} // namespace sccl::trees

#endif // SCCL_LIB_SOLVER_TREES_CHEAPSUMS_H
