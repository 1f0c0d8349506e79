//===- RankPaths.h - Paths and cycles through ranks -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Paths that visit each rank once, within what limits leave. Whether there is
// one is hard to know: the search is a heuristic with a budget.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MODEL_RANKPATHS_H
#define SCCL_LIB_MODEL_RANKPATHS_H

#include "sccl/Model/Topology.h"

#include <cstdint>
#include <optional>
#include <random>

namespace sccl {

using RankPath = std::vector<unsigned>;

/// Takes paths out of the bandwidth of a topology.
class RankPaths {
public:
  /// `topology` must outlive this. Each limit lets `rounds` times its bandwidth
  /// through.
  RankPaths(const Topology &topology, unsigned rounds);

  /// The ranks to visit, and how.
  struct Wanted {
    const std::vector<unsigned> &ranks;
    unsigned start;
    bool isClosed; ///< back to the start
    /// Leaves a rank by its widest links to open ranks only: a box is not left
    /// before all its ranks have been visited.
    bool onlyWidest;
    /// Among links alike: chosen by this, or the rank next in number, so that
    /// a path through a box from its first rank ends at its last, and back.
    std::mt19937 *random;
  };
  /// A path of free links, which is taken; nothing if none was found with
  /// `budget` links looked at, which is counted down.
  std::optional<RankPath> take(const Wanted &wanted, uint64_t &budget);
  /// Takes a path that is known; false if it is not free.
  bool take(const RankPath &path, bool isClosed);
  /// The rank of `ranks` with the most free links, the first of several.
  unsigned freestOf(const std::vector<unsigned> &ranks) const;

private:
  using Links = std::vector<unsigned>;
  bool isFree(unsigned link) const;
  void use(unsigned link, int sign);
  unsigned widthOf(unsigned link) const;
  Links linksOnward(unsigned rank, const Wanted &wanted,
                    const std::vector<bool> &isOpen, uint64_t &budget) const;

  const Topology &topology;
  std::vector<int64_t> left; ///< by limit
  std::vector<Links> limitsOf;
  std::vector<Links> narrowLinks; ///< by sender, those that are not its widest
};

} // namespace sccl

#endif // SCCL_LIB_MODEL_RANKPATHS_H
