//===- Baselines.h - The algorithms of NCCL ---------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What synthesized schedules are measured against: NCCL lays rings through all
// ranks over all links, and sends on each of them independently (see the SCCL
// paper and its table of the schedules of NCCL on a DGX-1); between boxes, for
// small sizes of all_reduce, it has pairs of binary trees (Sanders, Speck and
// Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and
// scan", 2009) with a chain through each box.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_BASELINES_H
#define SCCL_MODEL_BASELINES_H

#include "sccl/Model/Inversion.h"
#include "sccl/Model/RankGroups.h"

namespace sccl {

/// All ranks in the order of a directed cycle; the last sends to the first.
using Ring = std::vector<unsigned>;

/// NCCL has no more channels than these.
constexpr unsigned maxRings = 64;

/// Rings that fit into the bandwidths of `topology` together, as many as a
/// search with a budget finds (`maxRings` at most); where one ring goes through
/// a limit more often than its bandwidth, those of several rounds. Fails if
/// none is found, which does not exclude that there is one.
Result<std::vector<Ring>> findRings(const Topology &topology);

/// The ring algorithm for `kind` on k rings through P ranks:
///   all_gather               C = k,     S = P - 1
///   reduce_scatter           C = k * P, S = P - 1
///   all_reduce               C = k * P, S = 2 * (P - 1)
///   broadcast and reduce     C = k * m, S = P - 2 + m
/// with m = `chunksPerRing`, the length of the pipeline from or to `root`; the
/// other kinds ignore both. Each step has the fewest rounds that the limits
/// allow: one if the rings fit into the bandwidths. Fails for other kinds, if a
/// ring does not visit each rank once or needs an absent link, or if there is
/// none.
Result<Implementation> makeRingBaseline(const Topology &topology,
                                        const std::vector<Ring> &rings,
                                        CollectiveKind kind,
                                        unsigned chunksPerRing = 1,
                                        unsigned root = 0);

/// A tree of all ranks; the root is its own parent.
struct RankTree {
  unsigned root = 0;
  std::vector<unsigned> parents;
};

/// The trees of NCCL for ranks in `boxes`: for each number of a rank in its box
/// two binary trees over the boxes, of which leaves of one are inside of the
/// other, with a chain through each box that starts at that rank. One chain for
/// each rank if there is one box only. Fails unless each rank is in one box,
/// and if no such tree has all the links it needs in both directions.
Result<std::vector<RankTree>> findTrees(const Topology &topology,
                                        const RankGroups &boxes);

/// The tree algorithm for all_reduce: up each tree and down again, with
/// m = `chunksPerTree` chunks that follow each other. C = m times the number of
/// trees, S = 2 * depth + m - 1; each step has the fewest rounds that the
/// limits allow. Fails if a tree needs an absent link or is none, or if there
/// are too many sends.
Result<Implementation> makeTreeBaseline(const Topology &topology,
                                        const std::vector<RankTree> &trees,
                                        unsigned chunksPerTree = 1);

} // namespace sccl

#endif // SCCL_MODEL_BASELINES_H
