//===- Quotient.h - A symmetry group acting on an instance ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule that looks the same from symmetric ranks is known once it is known
// for one chunk of each orbit. If no rank is fixed, no orbit is shorter than
// the group, so that engines can search for the representatives alone and count
// each send once for every element.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_QUOTIENT_H
#define SCCL_LIB_SOLVER_QUOTIENT_H

#include "sccl/Model/Instance.h"
#include "sccl/Model/Symmetry.h"

namespace sccl {

/// How a free group of rank permutations renumbers links and chunks.
class Quotient {
public:
  /// `group` lists all elements, the identity first. It must be trivial unless
  /// `actsOn(collective)`.
  Quotient(const Topology &topology, const Collective &collective,
           std::vector<Permutation> group);

  /// True if renumbering the ranks renumbers the chunks of `collective`.
  static bool actsOn(const Collective &collective) {
    return collective.kind() == CollectiveKind::AllGather ||
           collective.kind() == CollectiveKind::AllToAll;
  }

  unsigned order() const { return static_cast<unsigned>(group.size()); }
  unsigned linkImage(unsigned element, unsigned link) const {
    return links[element][link];
  }
  unsigned chunkImage(unsigned element, unsigned chunk) const;

  /// The smallest rank of each orbit, ascending.
  const std::vector<unsigned> &representativeRanks() const {
    return representatives;
  }
  /// True for the chunks that start at a representative rank; for all chunks if
  /// the group is trivial.
  bool isRepresentativeChunk(unsigned chunk) const;
  /// Indices of limits, one of each orbit.
  std::vector<unsigned> representativeLimits() const;

private:
  const Topology &topology;
  const Collective &collective;
  std::vector<Permutation> group;
  std::vector<std::vector<unsigned>> links; // per element: images of the links
  std::vector<unsigned> representatives;
  std::vector<bool> isRepresentative; // per rank
};

/// Groups worth trying on `instance`, from large to small: of each order no
/// more than `perOrder`. The trivial group comes last.
std::vector<std::vector<Permutation>> quotientGroups(const Instance &instance,
                                                     unsigned perOrder);

/// True if turning all links round changes nothing, so that what is known of
/// one direction is known of the other.
bool isOwnReverse(const Topology &topology);

} // namespace sccl

#endif // SCCL_LIB_SOLVER_QUOTIENT_H
