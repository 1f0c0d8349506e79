//===- Cuts.h - The narrowest cut of a topology -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_BOUNDS_CUTS_H
#define SCCL_LIB_BOUNDS_CUTS_H

#include "sccl/Check/Certificate.h"
#include "sccl/Model/Topology.h"
#include "sccl/Optimize/Deadline.h"

#include <optional>
#include <vector>

namespace sccl::bounds {

/// How much must leave a set of ranks.
enum class CutDemand {
  PerRank, ///< as much as there are ranks in the set
  Once,    ///< the same for every set that holds a rank at all
};

/// What to maximise: demand over capacity, over the sets of ranks that hold a
/// rank of `sources` and lack one of `sinks`. With `CutDemand::Once` there must
/// be a single source.
struct CutQuestion {
  CutDemand demand;
  std::vector<unsigned> sources, sinks;
};

/// The best cut, with prices of 1 on limits that cover what leaves it. Nothing
/// if no rank of `sources` can be cut off from one of `sinks`, because links
/// without limits join them. Once `deadline` has expired, the best cut so far.
std::optional<CutProof> findNarrowestCut(const Topology &topology,
                                         const CutQuestion &question,
                                         const Deadline &deadline);

} // namespace sccl::bounds

#endif // SCCL_LIB_BOUNDS_CUTS_H
