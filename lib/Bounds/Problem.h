//===- Problem.h - What a bound must account for ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The instance as the linear programs see it: chunks that behave alike are one
// commodity, and a reduction to a single rank is a broadcast from that rank on
// the topology with all links turned round and time running backwards.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_BOUNDS_PROBLEM_H
#define SCCL_LIB_BOUNDS_PROBLEM_H

#include "sccl/Check/Certificate.h"
#include "sccl/Model/Collective.h"
#include "sccl/Model/Symmetry.h"
#include "sccl/Model/Topology.h"
#include "sccl/Optimize/Deadline.h"

#include <functional>
#include <optional>
#include <vector>

namespace sccl::bounds {

/// Chunks with the same ranks before and after, in the direction of the
/// problem.
struct Commodity {
  std::vector<unsigned> pre, post; ///< ascending
  double weight = 0;               ///< number of chunks / C
  /// Least number of sends of a chunk that gathers and spreads contributions; 0
  /// for other chunks.
  unsigned gossipSends = 0;
};

/// Ranks that a chunk must be joined to by a tree among its sends.
struct Tree {
  unsigned commodity;
  std::vector<unsigned> roots;
  std::vector<unsigned> targets;
  std::vector<unsigned> hops; ///< from the nearest root to each rank
};

/// Something that moves from ranks to ranks in any portions.
struct Flow {
  std::vector<double> supply, demand; ///< for each rank
  std::vector<unsigned> hopsFrom;     ///< from the nearest supply
  std::vector<unsigned> hopsTo;       ///< to the nearest demand
  /// The tree and target whose path this is, if it is no unicast.
  std::optional<unsigned> tree;
  unsigned target = 0;
};

/// A renumbering that keeps topology and collective, on all that it moves.
struct Symmetry {
  Permutation ranks, links, limits, commodities, trees, unicasts;
};

/// An instance of the linear programs.
struct Problem {
  Topology topology;
  /// The number of steps; 1 if their number does not matter.
  unsigned steps;
  bool anySteps = false;
  /// All steps share what a limit lets through.
  bool pipelined = false;
  bool backward = false;
  std::vector<BandwidthLimit> limits; ///< distinct sets, tightest bandwidth
  std::vector<Commodity> commodities;
  std::vector<Tree> trees;
  /// Commodities with one target each, those of one source (or one target)
  /// together.
  std::vector<Flow> unicasts;
  std::vector<Symmetry> symmetries;

  /// True if information that has come over `hops` links may be there before
  /// step `step`, counted from 0.
  bool isThere(unsigned hops, unsigned step) const {
    return anySteps ? hops != Topology::unreachable : hops <= step;
  }
  /// The number of links from the nearest of `ranks`.
  std::vector<unsigned> hopsFrom(const std::vector<unsigned> &ranks) const;
  /// The number of links to the nearest of `ranks`.
  std::vector<unsigned> hopsTo(const std::vector<unsigned> &ranks) const;
};

/// Describes the instance, for any number of steps if there is none in `steps`.
/// Everything must be within reach, see `findTooDistant`. Symmetries that are
/// not found before `deadline` are missing.
Problem makeProblem(const Topology &topology, const Collective &collective,
                    std::optional<unsigned> steps, const Deadline &deadline);

/// The trees and unicasts of the problem, or a few less, without what they are.
size_t countMoving(const Collective &collective);

/// Ranks that are too far apart for `steps` steps, if there are any and they
/// are found before `deadline`.
std::optional<DistanceProof> findTooDistant(const Topology &topology,
                                            const Collective &collective,
                                            unsigned steps,
                                            const Deadline &deadline);

/// A partition of 0..n-1 into classes.
struct Orbits {
  std::vector<unsigned> classOf;
  std::vector<unsigned> sizes;           ///< for each class
  std::vector<unsigned> representatives; ///< the smallest member of each class
};

/// The orbits of 0..count-1 under `numMaps` maps; fill(m, images) says where
/// map m takes each.
Orbits
orbitsUnder(size_t count, size_t numMaps,
            const std::function<void(size_t, std::vector<unsigned> &)> &fill);

} // namespace sccl::bounds

#endif // SCCL_LIB_BOUNDS_PROBLEM_H
