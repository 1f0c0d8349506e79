//===- Symmetry.h - Automorphisms of a topology -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which renumberings of the ranks leave a topology as it is. Engines search on
// a quotient by them, bounds average over them, and frontiers of rooted
// collectives are reported once per orbit of roots.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_SYMMETRY_H
#define SCCL_MODEL_SYMMETRY_H

#include "sccl/Model/Collective.h"
#include "sccl/Model/Topology.h"

#include <optional>
#include <vector>

namespace sccl {

/// A renumbering: rank r becomes permutation[r].
using Permutation = std::vector<unsigned>;

/// Generators of the group of rank permutations that map links to links and
/// limits to limits of the same bandwidth. Empty if only the identity does, or
/// above 2^18 links, where finding the group costs more than it saves.
/// If `fixedRank` is given, only those that map it to itself.
std::vector<Permutation>
automorphismGenerators(const Topology &topology,
                       std::optional<unsigned> fixedRank = std::nullopt);

/// Of these only the ones that map `collective` to itself: chunks of the same
/// ranks before and after to as many chunks of the images of these.
std::vector<Permutation> automorphismGenerators(const Topology &topology,
                                                const Collective &collective);

/// All elements of the group that `generators` span on `numRanks` ranks, the
/// identity first, in a fixed order. Empty if there are more than `limit`.
std::vector<Permutation>
groupElements(const std::vector<Permutation> &generators, unsigned numRanks,
              size_t limit);

/// For each rank the smallest rank of its orbit under `generators`.
std::vector<unsigned> rankOrbits(const std::vector<Permutation> &generators,
                                 unsigned numRanks);

/// Subgroups in which no element but the identity maps any rank to itself, as
/// lists of elements; the largest first, at most `limit` of them. The trivial
/// group, always one, comes last.
std::vector<std::vector<Permutation>> freeSubgroups(const Topology &topology,
                                                    size_t limit);

/// All elements, the identity first, of a subgroup with few orbits of ranks and
/// no more than `limit` elements, which may keep ranks; what a greedy search
/// finds in a sample of fixed seed.
std::vector<Permutation>
smallSubgroup(const std::vector<Permutation> &generators, unsigned numRanks,
              size_t limit);

/// All elements, the identity first, of a subgroup of the group that
/// `generators` span in which no element but the identity maps any rank to
/// itself; the largest that a greedy search within a fixed amount of work finds
/// in a sample of fixed seed. A group of as many elements as there are ranks
/// maps each rank to each other in exactly one way (it is regular).
std::vector<Permutation>
largeFreeSubgroup(const std::vector<Permutation> &generators,
                  unsigned numRanks);

/// Numbers ranks that the group of `generators` exchanges at will. First those
/// of each class of twins, of which it exchanges any two and keeps all others;
/// then, as if each class were a rank, these; and so on. By level, the number
/// of each rank. A level of a single class is left out.
std::vector<std::vector<unsigned>>
twinPositions(const std::vector<Permutation> &generators, unsigned numRanks);

} // namespace sccl

#endif // SCCL_MODEL_SYMMETRY_H
