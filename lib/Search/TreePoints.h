//===- TreePoints.h - Points that are not written out -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On a hundred boxes it takes longer to write a schedule out, chunk by chunk,
// than to find it. Trees are checked as they are, and written out on demand.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SEARCH_TREEPOINTS_H
#define SCCL_LIB_SEARCH_TREEPOINTS_H

#include "StepSearch.h"

namespace sccl {

/// `trees`, which were packed on `packedOn` for `problem`, in `seconds`.
/// Nothing if they break a rule, or the numbers are too large.
std::optional<TreePoint> makeTreePoint(const FrontierProblem &problem,
                                       const Topology &packedOn,
                                       TreeSchedule trees, double seconds);

/// The same as a point of the frontier; nothing if C is too large.
std::optional<FrontierPoint> asFrontierPoint(const FrontierProblem &problem,
                                             const TreePoint &point);

} // namespace sccl

#endif // SCCL_LIB_SEARCH_TREEPOINTS_H
