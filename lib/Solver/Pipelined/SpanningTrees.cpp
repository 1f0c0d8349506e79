//===- SpanningTrees.cpp - Trees that fill a graph ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All copies of a tree grow together by one link at a time. A link x -> y may
// be taken by as many copies as the slack of each set allows that holds y, but
// not x, though some rank of the tree: such a set loses an arc and is touched
// already. If these are fewer than all, the others go on later by themselves.
// What a link through a switch w needs in addition is that x -> w and w -> y
// can be split off: that no set loses too much that holds x and y but not w, or
// w but neither x nor y.
//
// The slack of a set never grows. So what a set without slack forbids once, it
// forbids for good.
//
//===----------------------------------------------------------------------===//

#include "sccl/Solver/SpanningTrees.h"

#include "SlackNetwork.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

using namespace sccl;
using namespace sccl::pipelined;

namespace {
/// Packs trees in a graph whose arcs have the room for them in whole numbers.
class Packer {
public:
  Packer(const CapacityGraph &graph, const Deadline &deadline)
      : network(graph, deadline), deadline(deadline), ranks(graph.numRanks),
        vertices(graph.numVertices) {
    for (auto [from, through, to] : graph.missingTurns)
      isTight.insert({from, through, to});
  }

  void openSwitches();
  void addRoot(unsigned root, int64_t copies);
  /// Grows all trees; false if that is not possible.
  bool run();
  std::vector<PackedTree> take() { return std::move(finished); }

private:
  /// A link with room for `amount` copies.
  struct Extension {
    unsigned from, to;
    int64_t amount;
  };

  bool growStars();
  bool canFinish();
  void openSwitch(unsigned hub, const std::vector<unsigned> &ports,
                  int64_t share);
  bool grow(GrowingTree &tree);
  std::optional<Extension> findExtension(GrowingTree &tree);
  int64_t roomFor(GrowingTree &tree, unsigned from, unsigned to);
  std::optional<Extension> extendThrough(GrowingTree &tree, unsigned from);
  int64_t splitOff(unsigned from, unsigned hub, unsigned to, int64_t most);
  int64_t roomToSplit(unsigned from, unsigned hub, unsigned to, int64_t most);
  std::vector<unsigned> ranksBehind(unsigned hub) const;

  SlackNetwork network;
  const Deadline &deadline;
  const unsigned ranks, vertices;
  /// A stack, with the tree that grows on top; places do not change.
  std::list<GrowingTree> growing;
  std::vector<PackedTree> finished;
  /// Triples (from, hub, to) that cannot be split off, or do not exist.
  std::set<std::tuple<unsigned, unsigned, unsigned>> isTight;
};
} // namespace

//===----------------------------------------------------------------------===//
// Trees
//===----------------------------------------------------------------------===//

void Packer::addRoot(unsigned root, int64_t copies) {
  GrowingTree tree{root, copies, {}, {root}, std::vector<bool>(ranks), {}};
  tree.isMember[root] = true;
  tree.isBlocked.assign(ranks, {});
  growing.push_front(std::move(tree));
  network.addTree(growing.front());
}

/// Sends all chunks directly if there is a wide enough link for each pair.
bool Packer::growStars() {
  for (const GrowingTree &tree : growing)
    for (unsigned rank = 0; rank < ranks; ++rank)
      if (rank != tree.root && network.capacity(tree.root, rank) < tree.copies)
        return false;
  for (const GrowingTree &tree : growing) {
    PackedTree &star = finished.emplace_back();
    star.root = tree.root;
    star.copies = tree.copies;
    for (unsigned rank = 0; rank < ranks; ++rank)
      if (rank != tree.root)
        star.links.push_back({tree.root, rank});
  }
  growing.clear();
  return true;
}

bool Packer::run() {
  if (growStars())
    return true;
  while (!growing.empty()) {
    GrowingTree &tree = growing.back();
    while (tree.members.size() < ranks)
      if (!grow(tree))
        return false;
    network.removeTree(tree);
    finished.push_back({tree.root, tree.copies, std::move(tree.links)});
    growing.pop_back();
  }
  return true;
}

/// Adds one link to `tree`, and leaves copies for which there is no room to a
/// tree of their own.
bool Packer::grow(GrowingTree &tree) {
  std::optional<Extension> extension = findExtension(tree);
  if (!extension)
    return false;
  auto [from, to, amount] = *extension;
  if (amount < tree.copies) {
    auto rest = growing.insert(std::prev(growing.end()), tree);
    rest->copies -= amount;
    tree.copies = amount;
    network.addTree(*rest);
  }
  network.widen(from, to, -amount);
  tree.links.push_back({from, to});
  tree.members.push_back(to);
  tree.isMember[to] = true;
  return true;
}

/// Looks among the members that the tree came to first, so that it becomes no
/// deeper than it must.
std::optional<Packer::Extension> Packer::findExtension(GrowingTree &tree) {
  for (unsigned from : tree.members) {
    if (deadline.expired())
      return std::nullopt;
    for (unsigned to = 0; to < ranks; ++to)
      if (!tree.isMember[to] && network.capacity(from, to) > 0)
        if (int64_t amount = roomFor(tree, from, to))
          return Extension{from, to,
                           std::min(amount, network.capacity(from, to))};
    if (std::optional<Extension> extension = extendThrough(tree, from))
      return extension;
  }
  return std::nullopt;
}

/// The copies of `tree` that may take a link, as far as the sets behind it are
/// concerned.
int64_t Packer::roomFor(GrowingTree &tree, unsigned from, unsigned to) {
  std::vector<bool> &blocked = tree.isBlocked[from];
  blocked.resize(ranks);
  if (blocked[to])
    return 0;
  int64_t room = network.leastSlack({to}, {from}, tree.copies, &tree);
  if (room > 0)
    return room;
  // The set forbids all links from members outside to ranks inside.
  for (unsigned member : tree.members)
    if (!network.isInSet(member)) {
      tree.isBlocked[member].resize(ranks);
      for (unsigned rank = 0; rank < ranks; ++rank)
        if (network.isInSet(rank))
          tree.isBlocked[member][rank] = true;
    }
  return 0;
}

//===----------------------------------------------------------------------===//
// Switches
//===----------------------------------------------------------------------===//

/// A link from `from` through a switch. Where two switches follow each other,
/// the first is split off for as much as the tree may need, and what is not
/// used stays a link from `from` to the second.
std::optional<Packer::Extension> Packer::extendThrough(GrowingTree &tree,
                                                       unsigned from) {
  for (unsigned hub = ranks; hub < vertices; ++hub) {
    for (unsigned to = 0; to < ranks; ++to) {
      if (network.capacity(from, hub) == 0)
        break;
      if (tree.isMember[to] || network.capacity(hub, to) == 0 ||
          isTight.count({from, hub, to}))
        continue;
      int64_t room = roomFor(tree, from, to);
      if (room > 0)
        if (int64_t amount = splitOff(from, hub, to, room))
          return Extension{from, to, amount};
    }
    for (unsigned next = ranks; next < vertices; ++next)
      if (next != hub && network.capacity(from, hub) > 0 &&
          network.capacity(hub, next) > 0 && !isTight.count({from, hub, next}))
        if (splitOff(from, hub, next, tree.copies))
          if (auto extension = extendThrough(tree, from))
            return extension;
  }
  return std::nullopt;
}

/// Replaces up to `most` of from -> hub -> to by from -> to, and returns how
/// much.
int64_t Packer::splitOff(unsigned from, unsigned hub, unsigned to,
                         int64_t most) {
  most =
      std::min({most, network.capacity(from, hub), network.capacity(hub, to)});
  int64_t amount = roomToSplit(from, hub, to, most);
  if (amount == 0) {
    isTight.insert({from, hub, to});
    return 0;
  }
  network.widen(from, hub, -amount);
  network.widen(hub, to, -amount);
  network.widen(from, to, amount);
  return amount;
}

int64_t Packer::roomToSplit(unsigned from, unsigned hub, unsigned to,
                            int64_t most) {
  int64_t room = network.leastSlack({from, to}, {hub}, most);
  // Sets with `hub` have a rank behind it, or else from -> hub, too, is more
  // than they need. Of those with none of the ranks looked at, the next one is
  // sought.
  std::vector<unsigned> outside = {from, to};
  for (unsigned rank : ranksBehind(hub)) {
    if (room <= 0)
      return 0;
    if (rank == from || rank == to)
      continue;
    room = network.leastSlack({hub, rank}, outside, room);
    outside.push_back(rank);
  }
  return std::max<int64_t>(room, 0);
}

/// The ranks that `hub` leads to, directly or through switches.
std::vector<unsigned> Packer::ranksBehind(unsigned hub) const {
  std::vector<unsigned> result, pending = {hub};
  std::vector<bool> isSeen(vertices);
  isSeen[hub] = true;
  while (!pending.empty()) {
    unsigned from = pending.back();
    pending.pop_back();
    for (unsigned to = 0; to < vertices; ++to) {
      if (isSeen[to] || network.capacity(from, to) == 0)
        continue;
      isSeen[to] = true;
      (to < ranks ? result : pending).push_back(to);
    }
  }
  return result;
}

bool Packer::canFinish() {
  for (unsigned rank = 0; rank < ranks; ++rank)
    if (network.leastSlack({rank}, {}, 0) < 0)
      return false;
  return true;
}

/// Where a switch has equal ports, as most have, an equal share for each pair
/// of ranks is often right, and saves splitting off each pair for itself.
void Packer::openSwitches() {
  for (unsigned hub = ranks; hub < vertices; ++hub) {
    std::vector<unsigned> ports;
    for (unsigned rank = 0; rank < vertices; ++rank)
      if (network.capacity(rank, hub) > 0 || network.capacity(hub, rank) > 0)
        ports.push_back(rank);
    if (ports.size() < 3 || ports.back() >= ranks)
      continue;
    int64_t width = network.capacity(ports[0], hub);
    bool areEqual = std::all_of(ports.begin(), ports.end(), [&](unsigned rank) {
      return network.capacity(rank, hub) == width &&
             network.capacity(hub, rank) == width;
    });
    int64_t share = width / int64_t(ports.size() - 1);
    bool lacksTurns =
        std::any_of(isTight.begin(), isTight.end(), [hub](const auto &turn) {
          return std::get<1>(turn) == hub;
        });
    if (!areEqual || share == 0 || lacksTurns)
      continue;
    openSwitch(hub, ports, share);
    if (!canFinish())
      openSwitch(hub, ports, -share);
  }
}

/// Gives each pair of `ports` a link of `share` in place of `hub`; or takes it
/// back, if that is negative.
void Packer::openSwitch(unsigned hub, const std::vector<unsigned> &ports,
                        int64_t share) {
  int64_t all = share * int64_t(ports.size() - 1);
  for (unsigned from : ports) {
    network.widen(from, hub, -all);
    network.widen(hub, from, -all);
    for (unsigned to : ports)
      if (to != from)
        network.widen(from, to, share);
  }
}

//===----------------------------------------------------------------------===//
// Packings
//===----------------------------------------------------------------------===//

/// All that arcs can carry, divided by what it has in common.
static int64_t normalize(CapacityGraph &graph) {
  int64_t common = 0;
  for (const CapacityGraph::Arc &arc : graph.arcs)
    common = std::gcd(common, arc.capacity);
  for (CapacityGraph::Arc &arc : graph.arcs)
    arc.capacity /= common;
  return common;
}

Result<SpanningTreePacking>
sccl::packSpanningTrees(const CapacityGraph &original,
                        const std::vector<unsigned> &roots,
                        const Deadline &deadline) {
  CapacityGraph graph = original;
  if (graph.arcs.empty())
    return Error{"there are no links"};
  int64_t unit = normalize(graph);
  Result<Rational> load = cutBoundOnLoad(graph, roots, deadline);
  if (!load)
    return Error{load.error()};
  int64_t rounds = load->numerator(), chunks = load->denominator();
  for (CapacityGraph::Arc &arc : graph.arcs)
    arc.capacity *= rounds;
  Packer packer(graph, deadline);
  for (unsigned root : roots)
    packer.addRoot(root, chunks);
  packer.openSwitches();
  if (!packer.run())
    return Error{deadline.expired()
                     ? deadline.reason()
                     : "the trees of the narrowest cut do not fit: a switch "
                       "cannot pass on as much as it gets"};
  SpanningTreePacking packing{chunks, rounds, packer.take()};
  // Rounds of the graph as it was given may be longer by `unit`.
  int64_t factor = unit / std::gcd(unit, rounds);
  packing.chunks *= factor;
  packing.period = rounds * factor / unit;
  for (PackedTree &tree : packing.trees)
    tree.copies *= factor;
  return packing;
}
