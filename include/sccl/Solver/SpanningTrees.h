//===- SpanningTrees.h - Trees that fill a graph ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The least load of a pipelined schedule of any depth, exactly and in
// polynomial time, with trees that have it. If every rank of `roots` has one
// chunk for all others, the ranks outside of a set W need |W & roots| chunks
// from it, so no load is below the largest |W & roots| / capacity(out of W). By
// a theorem of Edmonds (1973) so many trees can be packed if there are no
// switches; a switch that can pass on as much as it gets can be split off
// (Mader 1982; Bang-Jensen, Frank and Jackson 1995), that is, replaced by links
// between its neighbours, so that all cuts stay as wide as they must be. This
// is how ForestColl (Zhao et al., arXiv:2402.06787) finds its trees. Here a
// switch is split off as far as a tree needs it, while the tree grows, so that
// trees stay shallow and no links are made that nobody uses.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_SOLVER_SPANNINGTREES_H
#define SCCL_SOLVER_SPANNINGTREES_H

#include "sccl/Model/CapacityGraph.h"
#include "sccl/Model/Rational.h"
#include "sccl/Model/Result.h"
#include "sccl/Optimize/Deadline.h"

#include <cstdint>
#include <vector>

namespace sccl {

/// The largest |W & roots| / capacity(out of W) over all sets W of vertices
/// that lack a rank: no load, in rounds per chunk, is below it. Fails if some
/// rank cannot be reached from some root, or `deadline` expires.
Result<Rational> cutBoundOnLoad(const CapacityGraph &graph,
                                const std::vector<unsigned> &roots,
                                const Deadline &deadline);

/// A tree of links between ranks that spans all ranks.
struct PackedTree {
  unsigned root;
  int64_t copies; ///< chunks that go this way
  /// Each from the root or a rank that an earlier link leads to.
  std::vector<Link> links;
};

/// Trees for `chunks` chunks of each root, which together fit into `period`
/// rounds.
struct SpanningTreePacking {
  int64_t chunks, period;
  std::vector<PackedTree> trees;

  Rational load() const { return Rational(period, chunks); }
};

/// Packs trees from each of `roots`, whose load is `cutBoundOnLoad`. A switch
/// that can send more or less than it can receive may be in the way of that:
/// then fails, as it does if numbers become too large, some rank cannot be
/// reached from some root, or `deadline` expires. Depends on nothing but the
/// arguments.
Result<SpanningTreePacking>
packSpanningTrees(const CapacityGraph &graph,
                  const std::vector<unsigned> &roots, const Deadline &deadline);

} // namespace sccl

#endif // SCCL_SOLVER_SPANNINGTREES_H
