//===- Layout.cpp - Where ranks are in a picture --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Layout.h"

#include "sccl/Model/DisjointSets.h"

#include <algorithm>
#include <cmath>
#include <numbers>

using namespace sccl;
using namespace sccl::report;

RankGroups report::guessBoxes(const Topology &topology) {
  unsigned widest = 0;
  for (unsigned link = 0; link < topology.links().size(); ++link)
    widest = std::max(widest, topology.capacity(link));
  DisjointSets sets(topology.numRanks());
  for (unsigned link = 0; link < topology.links().size(); ++link)
    if (topology.capacity(link) == widest) {
      auto [src, dst] = topology.links()[link];
      sets.join(src, dst);
    }
  std::map<unsigned, std::vector<unsigned>> byRoot;
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    byRoot[sets.first(rank)].push_back(rank);
  RankGroups boxes;
  bool isSaid = byRoot.size() * 2 <= topology.numRanks();
  for (auto &[root, ranks] : byRoot)
    if (isSaid || boxes.empty())
      boxes.push_back(std::move(ranks));
    else
      boxes[0].insert(boxes[0].end(), ranks.begin(), ranks.end());
  for (std::vector<unsigned> &box : boxes)
    std::ranges::sort(box);
  return boxes;
}

RankGroups report::groupsToDraw(const Topology &topology,
                                const RankGroups &boxes, unsigned most) {
  RankGroups groups;
  unsigned ranks = topology.numRanks();
  if (ranks > most && boxes.size() > 1) {
    // Neighbouring boxes together, where there are many.
    size_t each = (boxes.size() + most / 2 - 1) / (most / 2);
    for (size_t box = 0; box < boxes.size(); ++box) {
      if (box % each == 0)
        groups.emplace_back();
      groups.back().insert(groups.back().end(), boxes[box].begin(),
                           boxes[box].end());
    }
    return groups;
  }
  unsigned each = ranks > most ? (ranks + most / 2 - 1) / (most / 2) : 1;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    if (rank % each == 0)
      groups.emplace_back();
    groups.back().push_back(rank);
  }
  return groups;
}

std::string report::nameOfRanks(const std::vector<unsigned> &ranks) {
  if (ranks.size() == 1)
    return std::to_string(ranks[0]);
  bool isRow = ranks.back() - ranks.front() + 1 == ranks.size();
  return std::to_string(ranks.front()) + (isRow ? "-" : ", ..., ") +
         std::to_string(ranks.back());
}

/// Puts `spots` on a circle, from the top on clockwise.
static void putOnCircle(const std::vector<Spot *> &spots, Place center,
                        double radius) {
  for (size_t i = 0; i < spots.size(); ++i) {
    double angle = 2 * std::numbers::pi * double(i) / double(spots.size()) -
                   std::numbers::pi / 2;
    Place outward{std::cos(angle), std::sin(angle)};
    spots[i]->place = {center.x + radius * outward.x,
                       center.y + radius * outward.y};
    spots[i]->outward = outward;
  }
}

/// Where the spots of each box go: a circle for each, in a grid.
static void putIntoGrid(Layout &layout, std::vector<std::vector<Spot *>> cells,
                        bool isByRank) {
  size_t columns = size_t(std::ceil(std::sqrt(double(cells.size()))));
  size_t most = 0;
  for (const std::vector<Spot *> &cell : cells)
    most = std::max(most, cell.size());
  double radius = std::max(30.0, double(most) * (cells.size() > 1 ? 7 : 11));
  if (cells.size() == 1)
    radius = std::clamp(radius, 120.0, 420.0);
  // What is written beside spots of several ranks needs room.
  double size = 2 * radius + (isByRank ? 70 : 220);
  for (size_t i = 0; i < cells.size(); ++i) {
    Place corner{20 + double(i % columns) * size,
                 20 + double(i / columns) * size};
    putOnCircle(cells[i], {corner.x + size / 2, corner.y + size / 2},
                cells[i].size() > 1 ? radius : 0);
    if (cells.size() > 1)
      layout.boxes.push_back({{corner.x + 8, corner.y + 8}, size - 16});
  }
  layout.width = 40 + double(columns) * size;
  layout.height = 40 + std::ceil(double(cells.size()) / double(columns)) * size;
}

static void placeSpots(Layout &layout, const RankGroups &boxes) {
  std::vector<std::vector<Spot *>> cells(1);
  bool isByRank = layout.spots.size() == layout.spotOf.size();
  if (!isByRank) {
    for (Spot &spot : layout.spots)
      cells[0].push_back(&spot);
  } else {
    cells.clear();
    for (const std::vector<unsigned> &box : boxes) {
      cells.emplace_back();
      for (unsigned rank : box)
        cells.back().push_back(&layout.spots[layout.spotOf[rank]]);
    }
  }
  putIntoGrid(layout, std::move(cells), isByRank);
}

/// By link, the part of the rounds in which its fullest limit is busy.
static std::vector<double> usesOf(const Subject &subject) {
  std::vector<double> uses(subject.topology.links().size());
  double rounds = std::max(subject.schedule.rounds(), 1u);
  for (const LimitLoad &load : loadsOf(subject))
    for (unsigned link : subject.topology.limits()[load.limit].links)
      uses[link] = std::max(uses[link], load.rounds.toDouble() / rounds);
  return uses;
}

Layout report::layOut(const Topology &topology, const RankGroups &boxes,
                      const Subject *subject) {
  Layout layout;
  layout.spotOf.resize(topology.numRanks());
  for (std::vector<unsigned> &group : groupsToDraw(topology, boxes)) {
    for (unsigned rank : group)
      layout.spotOf[rank] = unsigned(layout.spots.size());
    layout.spots.push_back({nameOfRanks(group), std::move(group), {}});
  }
  placeSpots(layout, boxes);
  std::vector<uint64_t> chunks(topology.links().size());
  std::vector<double> uses(topology.links().size());
  if (subject) {
    chunks = chunksOfLinks(topology, subject->schedule);
    uses = usesOf(*subject);
  }
  for (unsigned number = 0; number < topology.links().size(); ++number) {
    const Link &link = topology.links()[number];
    unsigned src = layout.spotOf[link.src], dst = layout.spotOf[link.dst];
    if (src == dst)
      continue;
    Arc &arc = layout.arcs[{src, dst}];
    ++arc.links;
    arc.bandwidth += topology.capacity(number);
    arc.chunks += chunks[number];
    if (chunks[number] > 0)
      arc.use = std::max(arc.use, uses[number]);
  }
  return layout;
}
