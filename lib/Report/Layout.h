//===- Layout.h - Where ranks are in a picture ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_REPORT_LAYOUT_H
#define SCCL_LIB_REPORT_LAYOUT_H

#include "Svg.h"

#include "sccl/Report/Pictures.h"

#include <map>

namespace sccl::report {

/// What is drawn as one: ranks, or a hub, which has none.
struct Spot {
  std::string name; ///< "3", or "8-15" for several ranks
  std::vector<unsigned> ranks;
  Place place;
  Place outward = {0, 1}; ///< a step away from the middle of its circle
};

/// The links from one spot to another one, or from a spot to its hub, together.
struct Arc {
  unsigned links = 0;
  uint64_t bandwidth = 0; ///< of all links; at hubs of the widest
  uint64_t chunks = 0;    ///< of the schedule
  /// The part of the rounds in which the fullest limit of any of the links is
  /// busy.
  double use = 0;
};

/// Spots and the arcs between them.
struct Layout {
  double width = 0, height = 0;
  std::vector<Spot> spots;
  std::vector<unsigned> spotOf; ///< of each rank
  /// By spot, its hub; empty if arcs lead from spot to spot.
  std::vector<unsigned> hubOf;
  bool isByRank = true; ///< a spot for each rank
  std::map<std::pair<unsigned, unsigned>, Arc> arcs;
  struct Frame {
    Place corner;
    double size;
  };
  std::vector<Frame> boxes; ///< around ranks of one box
};

/// Spots on circles, one for each box; boxes in a grid. Groups as one spot each
/// are on one circle. Where a spot has links to more than `mostArcsPerSpot`
/// others on average, each circle has a hub in its middle, and arcs lead to
/// hubs and from hub to hub.
constexpr unsigned mostArcsPerSpot = 8;
Layout layOut(const Topology &topology, const RankGroups &boxes,
              const Subject *subject);

/// The arcs that what goes from spot `src` to spot `dst` takes, as their ends.
std::vector<std::pair<unsigned, unsigned>>
arcsBetween(const Layout &layout, unsigned src, unsigned dst);

/// "ranks 8-15", "rank 3".
std::string nameOfRanks(const std::vector<unsigned> &ranks);

} // namespace sccl::report

#endif // SCCL_LIB_REPORT_LAYOUT_H
