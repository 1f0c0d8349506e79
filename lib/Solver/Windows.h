//===- Windows.h - When a chunk can be where --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Breadth-first distances bound the steps in which a chunk can usefully be at a
// rank: not before it can have come from a source, and not after the last
// moment from which it can still reach a destination. Encodings that make
// variables only inside these windows are many times smaller and faster.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_WINDOWS_H
#define SCCL_LIB_SOLVER_WINDOWS_H

#include "sccl/Model/Instance.h"

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace sccl {

/// Distances in hops between a set of ranks and every rank. Remembers answers,
/// because many chunks share a source or a destination.
class HopDistances {
public:
  explicit HopDistances(const Topology &topology) : topology(topology) {}

  /// Hops from the nearest of `sources` to every rank,
  /// `Topology::unreachable` where there is no path. The reference is valid
  /// until the next call of the same function.
  const std::vector<unsigned> &from(const std::vector<unsigned> &sources);
  /// Hops from every rank to the nearest of `targets`.
  const std::vector<unsigned> &to(const std::vector<unsigned> &targets);

private:
  using Cache = std::map<std::vector<unsigned>, std::vector<unsigned>>;
  const std::vector<unsigned> &
  lookup(Cache &cache, const std::vector<unsigned> &ranks, bool backward);
  const Topology &topology;
  Cache forwardCache, backwardCache;
};

/// The steps after which a chunk can have arrived at `rank`.
struct Window {
  unsigned rank;
  unsigned first; ///< distance from the nearest source, at least 1
  unsigned last;  ///< last useful arrival: S for a destination
  bool wanted;    ///< `rank` is a destination
};

/// Chunks with equal sources and equal destinations have equal windows.
struct ChunkClass {
  std::vector<unsigned> sources;
  /// Ascending by rank; sources and ranks of no use are left out.
  std::vector<Window> windows;
  unsigned numDestinations;
};

/// The windows of all chunks of a non-combining collective, and the number of
/// variables they imply.
class WindowPlan {
public:
  /// Gives up, leaving the plan incomplete, as soon as there are more than
  /// `maxVariables` or `stop` returns true.
  WindowPlan(const Instance &instance, uint64_t maxVariables,
             const std::function<bool()> &stop);

  /// The class of `chunk`, or null if it has no rank to go to.
  const ChunkClass *classOf(unsigned chunk) const {
    return classIndex[chunk] < 0 ? nullptr : &classes[classIndex[chunk]];
  }
  /// One per (chunk, rank, step) and per (chunk, link, step) in the windows; of
  /// the chunks seen, if the plan is incomplete.
  uint64_t numVariables() const { return variables; }
  /// False if some destination is too far from every source.
  bool reachable() const { return allReachable; }

private:
  int addClass(const Instance &instance, HopDistances &distances,
               const std::vector<unsigned> &sources,
               const std::vector<unsigned> &destinations);
  uint64_t countVariables(const Topology &topology,
                          const ChunkClass &chunkClass);

  std::vector<ChunkClass> classes;
  std::vector<uint64_t> classVariables;
  std::vector<int> classIndex;   // per chunk
  std::vector<unsigned> firstAt; // per rank, of the class being counted
  uint64_t variables = 0;
  bool allReachable = true;
};

} // namespace sccl

#endif // SCCL_LIB_SOLVER_WINDOWS_H
