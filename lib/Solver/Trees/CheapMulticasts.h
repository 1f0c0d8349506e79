//===- CheapMulticasts.h - Cheap trees to some of the ranks -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pricing problem where chunks go to some ranks only, and any others may
// pass them on: Steiner trees in time. Targets are joined to the tree one by
// one, each by the cheapest path; then parts are joined anew while that helps
// (Takahashi, Matsuyama: An approximate solution for the Steiner problem in
// graphs, and local search). For a single target the first path is the
// cheapest.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_TREES_CHEAPMULTICASTS_H
#define SCCL_LIB_SOLVER_TREES_CHEAPMULTICASTS_H

#include "sccl/Model/Collective.h"
#include "sccl/Model/Schedule.h"
#include "sccl/Model/TreeSchedule.h"
#include "sccl/Optimize/Deadline.h"

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace sccl::trees {

/// Chunks of the same ranks before and after.
struct Multicast {
  std::vector<unsigned> sources; ///< that have the chunks
  std::vector<unsigned> targets; ///< that need them, without sources
  std::vector<unsigned> chunks;  ///< numbers in the collective, ascending
};

/// Those of a collective that does not combine, without chunks that nobody
/// needs elsewhere; in the order of their first chunks.
std::vector<Multicast> multicastsOf(const Collective &collective);
/// Those of one that combines: sources are all ranks that contribute, targets
/// all that get the result, without chunks of which nothing has to be sent.
std::vector<Multicast> sumsOf(const Collective &collective);

/// What a send costs, by link and step: entry [link * steps + step].
struct SendPrices {
  unsigned steps;
  std::vector<double> values;
  double at(unsigned link, unsigned step) const {
    return values[size_t(link) * steps + step];
  }
};

/// Sends in order of steps; of a chunk that is not added up, each at most once
/// into a rank.
struct MulticastTree {
  double price;
  std::vector<TreeSend> sends;
  /// How schedules write them, if they are not plain copies.
  std::vector<Send> written = {};
};

/// Prices of up to twice as much.
SendPrices disturbed(SendPrices prices, std::mt19937 &random);

/// A few trees for `multicast` at `prices`, different ones, the cheapest first:
/// of `tries` that are grown, all but the first by way of random ranks, or in
/// random order and at prices that are not quite right. Nothing if a target is
/// too far away. All prices must be positive.
std::vector<MulticastTree> cheapTrees(const Topology &topology,
                                      const Multicast &multicast,
                                      const SendPrices &prices, unsigned tries,
                                      const Deadline &deadline);

} // namespace sccl::trees

#endif // SCCL_LIB_SOLVER_TREES_CHEAPMULTICASTS_H
