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
#include <numeric>
#include <set>

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

RankGroups report::boxesOf(const Subject &subject) {
  return subject.boxes.empty() ? guessBoxes(subject.topology) : subject.boxes;
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
    Spot *hub = cells[i].back();
    if (!layout.hubOf.empty() && cells[i].size() > 1)
      cells[i].pop_back();
    Place corner{20 + double(i % columns) * size,
                 20 + double(i / columns) * size};
    Place middle{corner.x + size / 2, corner.y + size / 2};
    hub->place = middle;
    putOnCircle(cells[i], middle, cells[i].size() > 1 ? radius : 0);
    if (cells.size() > 1)
      layout.boxes.push_back({{corner.x + 8, corner.y + 8}, size - 16});
  }
  layout.width = 40 + double(columns) * size;
  layout.height = 40 + std::ceil(double(cells.size()) / double(columns)) * size;
}

/// The spots of each circle: those of a box, or all.
static std::vector<std::vector<unsigned>>
cellsOf(const Layout &layout, const RankGroups &boxes, bool areApart) {
  std::vector<std::vector<unsigned>> cells;
  if (areApart) {
    for (const std::vector<unsigned> &box : boxes) {
      cells.emplace_back();
      for (unsigned rank : box)
        cells.back().push_back(layout.spotOf[rank]);
    }
    return cells;
  }
  cells.emplace_back(layout.spots.size());
  std::iota(cells[0].begin(), cells[0].end(), 0u);
  return cells;
}

/// Adds a hub to each circle of several spots; one that is alone is its own.
static void addHubs(Layout &layout, std::vector<std::vector<unsigned>> &cells) {
  layout.hubOf.resize(layout.spots.size());
  for (std::vector<unsigned> &cell : cells) {
    unsigned hub = cell.front();
    if (cell.size() > 1) {
      hub = unsigned(layout.spots.size());
      std::string name = cells.size() > 1
                             ? "hub of " + layout.spots[cell.front()].name +
                                   " to " + layout.spots[cell.back()].name
                             : "hub";
      layout.spots.push_back({name, {}, {}});
    }
    for (unsigned spot : cell)
      layout.hubOf[spot] = hub;
    if (hub != cell.front())
      cell.push_back(hub);
  }
  layout.hubOf.resize(layout.spots.size());
}

static void placeSpots(Layout &layout,
                       const std::vector<std::vector<unsigned>> &cells) {
  std::vector<std::vector<Spot *>> spots;
  for (const std::vector<unsigned> &cell : cells) {
    spots.emplace_back();
    for (unsigned spot : cell)
      spots.back().push_back(&layout.spots[spot]);
  }
  putIntoGrid(layout, std::move(spots), layout.isByRank);
}

/// True if links join more pairs of spots than a picture shows apart.
static bool isDense(const Layout &layout, const Topology &topology) {
  std::set<std::pair<unsigned, unsigned>> pairs;
  for (const Link &link : topology.links())
    pairs.emplace(layout.spotOf[link.src], layout.spotOf[link.dst]);
  return pairs.size() > mostArcsPerSpot * layout.spots.size();
}

/// One spot for each of `groups`.
static void setSpots(Layout &layout, RankGroups groups) {
  layout.spots.clear();
  for (std::vector<unsigned> &group : groups) {
    for (unsigned rank : group)
      layout.spotOf[rank] = unsigned(layout.spots.size());
    layout.spots.push_back({nameOfRanks(group), std::move(group), {}});
  }
  layout.isByRank = layout.spots.size() == layout.spotOf.size();
}

std::vector<std::pair<unsigned, unsigned>>
report::arcsBetween(const Layout &layout, unsigned src, unsigned dst) {
  if (layout.hubOf.empty())
    return {{src, dst}};
  std::vector<std::pair<unsigned, unsigned>> way;
  unsigned from = layout.hubOf[src], to = layout.hubOf[dst];
  for (auto [a, b] : {std::pair(src, from), {from, to}, {to, dst}})
    if (a != b)
      way.emplace_back(a, b);
  return way;
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
  setSpots(layout, groupsToDraw(topology, boxes));
  bool isTooDense = isDense(layout, topology);
  constexpr size_t mostHubs = 8; // any two are joined
  bool areTooMany = isTooDense && boxes.size() > mostHubs;
  if (areTooMany && layout.isByRank) {
    setSpots(layout, groupsToDraw(topology, boxes, 2 * boxes.size()));
    isTooDense = isDense(layout, topology);
  }
  std::vector<std::vector<unsigned>> cells =
      cellsOf(layout, boxes, layout.isByRank && !areTooMany);
  if (isTooDense)
    addHubs(layout, cells);
  placeSpots(layout, cells);
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
    for (auto ends : arcsBetween(layout, src, dst)) {
      Arc &arc = layout.arcs[ends];
      ++arc.links;
      uint64_t capacity = topology.capacity(number);
      arc.bandwidth = isTooDense ? std::max(arc.bandwidth, capacity)
                                 : arc.bandwidth + capacity;
      arc.chunks += chunks[number];
      if (chunks[number] > 0)
        arc.use = std::max(arc.use, uses[number]);
    }
  }
  return layout;
}
