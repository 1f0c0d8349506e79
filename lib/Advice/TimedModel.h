//===- TimedModel.h - What moves between which ranks ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the linear programs of TimedBound.h have in common, whatever the time.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ADVICE_TIMEDMODEL_H
#define SCCL_LIB_ADVICE_TIMEDMODEL_H

#include "sccl/Model/Collective.h"
#include "sccl/Model/Refinement.h"
#include "sccl/Model/Symmetry.h"
#include "sccl/Simulate/Simulator.h"

#include <limits>
#include <optional>
#include <vector>

namespace sccl::advice {

constexpr double never = std::numeric_limits<double>::infinity();

/// Least latencies from rank to rank: flags may take any way, also against
/// links.
using Distances = std::vector<std::vector<double>>;
Distances distancesOf(const Topology &topology, const Timing &timing);

/// Links that look alike from both ends of a pair, taken together.
struct LinkGroup {
  unsigned from, to; ///< cells of ranks
  double hop;        ///< least latency
  double before;     ///< least latency from the pair's first rank to a link
  double after;      ///< and from a link's end to the pair's second rank
  std::vector<unsigned> links;
};

/// Information that must get from a rank to another.
struct Pair {
  unsigned src, dst; ///< ranks
  unsigned srcCell, dstCell, numCells;
  std::vector<LinkGroup> groups;
};

/// Bytes that behave alike: those of one orbit of commodities.
struct TimedCommodity {
  double bytes = 0; ///< of all the orbit, over those of a send buffer
  Classes orbits;   ///< of links, under what keeps the commodity
  /// True if there is one pair, so that its flow is all that moves.
  bool isUnicast = false;
  bool isGossip = false; ///< all contribute, all get it
  std::vector<Pair> pairs;
};

/// Commodities and limits up to symmetry.
struct TimedProblem {
  Distances distances;
  Classes limits; ///< orbits
  std::vector<TimedCommodity> commodities;
};

/// Nothing if it is of a kind, or of a size, that TimedBound does not know.
std::optional<TimedProblem> makeTimedProblem(const Topology &topology,
                                             const Collective &collective,
                                             const Timing &timing);

} // namespace sccl::advice

#endif // SCCL_LIB_ADVICE_TIMEDMODEL_H
