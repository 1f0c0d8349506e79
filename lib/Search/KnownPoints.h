//===- KnownPoints.h - The points found so far ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SEARCH_KNOWNPOINTS_H
#define SCCL_LIB_SEARCH_KNOWNPOINTS_H

#include "sccl/Search/Frontier.h"

#include <map>

namespace sccl {

/// Of those found, the points that none dominates, and the trees that none
/// dominates; of trees with more sends than schedules have, too, for they may
/// turn out to be optimal.
class KnownPoints {
public:
  /// The least R/C of a point of up to `steps` steps.
  std::optional<Rational> at(unsigned steps) const;
  /// The same of trees.
  std::optional<Rational> treesAt(unsigned steps) const;
  /// The same of those that can be written out.
  std::optional<Rational> writableTreesAt(unsigned steps) const;

  /// Where `point` is kept; null if it is no better than what is known.
  const FrontierPoint *add(FrontierPoint point);
  void add(TreePoint point);

  /// Those of just `steps` steps; null if there are none, or for trees if
  /// points are as cheap.
  FrontierPoint *pointOf(unsigned steps);
  TreePoint *treesOf(unsigned steps);
  /// Forgets what `treesOf` points to.
  void dropTrees(unsigned steps);
  std::map<unsigned, FrontierPoint> &all() { return found; }
  bool hasTrees() const;
  /// Leaves nothing here.
  void moveTo(Frontier &frontier);

private:
  using Trees = std::map<unsigned, TreePoint>; ///< by steps

  bool isListed(const TreePoint &point) const;
  Trees *holderOf(unsigned steps);

  std::map<unsigned, FrontierPoint> found; ///< by steps
  Trees inTrees, inHugeTrees;              ///< few sends, and too many
};

} // namespace sccl

#endif // SCCL_LIB_SEARCH_KNOWNPOINTS_H
