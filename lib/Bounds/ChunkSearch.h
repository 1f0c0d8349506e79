//===- ChunkSearch.h - Bounds from searches for single chunks ---*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_BOUNDS_CHUNKSEARCH_H
#define SCCL_LIB_BOUNDS_CHUNKSEARCH_H

#include "Problem.h"

#include "sccl/Bounds/LowerBound.h"

namespace sccl::bounds {

/// A bound of more than `above` and no more than needed for `target`, where all
/// chunks of `collective` have the same ranks before and after. Nothing if
/// there is none, or the work of `deadline` does not suffice.
std::optional<LowerBound>
boundBySearch(const Problem &problem, const Collective &collective,
              Certificate claim, const Topology &topology,
              const Rational &above, const Rational &target,
              const Deadline &deadline);

} // namespace sccl::bounds

#endif // SCCL_LIB_BOUNDS_CHUNKSEARCH_H
