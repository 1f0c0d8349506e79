//===- Baselines.h - The ring algorithms of NCCL ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What synthesized schedules are measured against: NCCL lays rings through all
// ranks over all links, and sends on each of them independently. See the SCCL
// paper and its table of the schedules of NCCL on a DGX-1.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_BASELINES_H
#define SCCL_MODEL_BASELINES_H

#include "sccl/Model/Inversion.h"

namespace sccl {

/// All ranks in the order of a directed cycle; the last sends to the first.
using Ring = std::vector<unsigned>;

/// Rings that together use every link of `topology` up to its bandwidth, if it
/// has the links of dgx1 (two rings over each double link) or of one cycle
/// through ranks 0, 1, 2, ... in one or both directions. Fails for others.
Result<std::vector<Ring>> findRings(const Topology &topology);

/// The ring algorithm for `kind` on k rings through P ranks:
///   all_gather               C = k,     S = R = P - 1
///   reduce_scatter           C = k * P, S = R = P - 1
///   all_reduce               C = k * P, S = R = 2 * (P - 1)
///   broadcast and reduce     C = k * m, S = R = P - 2 + m
/// with m = `chunksPerRing`, the length of the pipeline from or to `root`; the
/// other kinds ignore both. Fails for other kinds, if a ring does not visit
/// each rank once or needs an absent link, if the rings together exceed a
/// limit, or if there is none.
Result<Implementation> makeRingBaseline(const Topology &topology,
                                        const std::vector<Ring> &rings,
                                        CollectiveKind kind,
                                        unsigned chunksPerRing = 1,
                                        unsigned root = 0);

} // namespace sccl

#endif // SCCL_MODEL_BASELINES_H
