//===- CanonicalOrder.h - Numbers that do not depend on numbers -*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MODEL_CANONICALORDER_H
#define SCCL_LIB_MODEL_CANONICALORDER_H

#include "sccl/Model/Symmetry.h"

namespace sccl {

/// Renumbers the ranks so that problems that differ in the numbers of the ranks
/// alone become one and the same, up to the order of links, limits and chunks.
/// Above 2^18 links all ranks keep their numbers.
Permutation canonicalOrder(const Topology &topology,
                           const Collective &collective);

} // namespace sccl

#endif // SCCL_LIB_MODEL_CANONICALORDER_H
