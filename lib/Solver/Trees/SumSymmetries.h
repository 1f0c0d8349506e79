//===- SumSymmetries.h - Symmetries that keep trees of sums -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_TREES_SUMSYMMETRIES_H
#define SCCL_LIB_SOLVER_TREES_SUMSYMMETRIES_H

#include "CheapMulticasts.h"

#include "sccl/Model/SumTree.h"
#include "sccl/Model/Symmetry.h"

#include <vector>

namespace sccl::trees {

/// All elements, the identity first, of a large free group of symmetries of
/// `topology` and `collective` that map each node of `trees`, for the sources
/// of `sums` one by one, to a node of one of them.
std::vector<Permutation> symmetriesOfSums(const Topology &topology,
                                          const Collective &collective,
                                          const std::vector<Multicast> &sums,
                                          const std::vector<SumTree> &trees);

} // namespace sccl::trees

#endif // SCCL_LIB_SOLVER_TREES_SUMSYMMETRIES_H
