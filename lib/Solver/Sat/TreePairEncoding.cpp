//===- TreePairEncoding.cpp - Leanest all_reduce as a CNF -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TreePairEncoding.h"

#include <algorithm>

using namespace sccl;

/// The least number of steps in which some rank can get all contributions, or
/// with `isOutward` give something to all.
static unsigned leastRadius(const Topology &topology, bool isOutward) {
  unsigned least = Topology::unreachable;
  Topology view = isOutward ? topology : topology.reversed();
  for (unsigned rank = 0; rank < view.numRanks(); ++rank)
    least = std::min(least, std::ranges::max(view.distancesFrom(rank)));
  return least;
}

TreePairEncoding::TreePairEncoding(const Instance &instance,
                                   std::vector<Permutation> theGroup,
                                   bool isPalindrome,
                                   std::vector<unsigned> theRounds,
                                   ClauseSolver &solver)
    : instance(instance), topology(instance.topology),
      group(std::move(theGroup)), isPalindrome(isPalindrome),
      rounds(std::move(theRounds)), solver(solver), cnf(solver),
      leastIn(leastRadius(instance.topology, /*isOutward=*/false)),
      leastOut(leastRadius(instance.topology, /*isOutward=*/true)) {
  for (const Permutation &element : group) {
    std::vector<unsigned> &images = linkImages.emplace_back();
    for (const Link &link : topology.links())
      images.push_back(
          *topology.findLink(element[link.src], element[link.dst]));
  }
  if (isPalindrome)
    for (const Link &link : topology.links())
      mirrorLinks.push_back(*topology.findLink(link.dst, link.src));
}

//===----------------------------------------------------------------------===//
// Trees
//===----------------------------------------------------------------------===//

std::vector<Literals> TreePairEncoding::newTable(size_t rows, size_t columns) {
  std::vector<Literals> table(rows, Literals(columns));
  for (Literals &row : table)
    for (int &literal : row)
      literal = cnf.newVariable();
  return table;
}

/// All sends over `links`, whatever the step.
Literals TreePairEncoding::sendsAt(const std::vector<Literals> &sends,
                                   const std::vector<unsigned> &links) const {
  Literals all;
  for (unsigned link : links)
    all.insert(all.end(), sends[link].begin(), sends[link].end());
  return all;
}

/// There is one root. Of a chunk and its images, one has its root at the first
/// rank of an orbit.
void TreePairEncoding::encodeRoot(const Orbit &orbit) {
  cnf.clause(orbit.root);
  cnf.atMost(orbit.root, 1);
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    if (std::ranges::any_of(group, [&](const Permutation &element) {
          return element[rank] < rank;
        }))
      cnf.clause({-orbit.root[rank]});
}

/// Each rank but the root sends once, after those that send to it. So all ways
/// end at the root.
void TreePairEncoding::encodeUp(const Orbit &orbit) {
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
    Literals sends = sendsAt(orbit.up, topology.outLinks(rank));
    sends.push_back(orbit.root[rank]);
    cnf.clause(sends);
    cnf.atMost(sends, 1);
  }
  for (unsigned step = 0; step < instance.steps; ++step)
    for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
      if (step > 0)
        cnf.clause({-orbit.hasSent[rank][step - 1], orbit.hasSent[rank][step]});
      for (unsigned link : topology.outLinks(rank))
        cnf.clause({-orbit.up[link][step], orbit.hasSent[rank][step]});
      for (unsigned link : topology.inLinks(rank))
        cnf.clause({-orbit.up[link][step], -orbit.hasSent[rank][step]});
    }
}

/// A root has the sum once nothing comes up any more; other ranks once they
/// have received it.
void TreePairEncoding::encodeDown(const Orbit &orbit) {
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
    const Literals &hasSum = orbit.hasSum[rank];
    int root = orbit.root[rank];
    Literals received = sendsAt(orbit.down, topology.inLinks(rank));
    received.push_back(root);
    cnf.clause(received);
    cnf.atMost(received, 1);
    cnf.clause({-hasSum.front()});
    cnf.clause({hasSum.back()});
    for (unsigned step = 0; step < instance.steps; ++step) {
      cnf.clause({-hasSum[step], hasSum[step + 1]});
      Literals how = {-hasSum[step + 1], hasSum[step], root};
      for (unsigned link : topology.inLinks(rank)) {
        how.push_back(orbit.down[link][step]);
        cnf.clause({-root, -hasSum[step], -orbit.up[link][step]});
        encodeExchange(orbit, link, step);
      }
      cnf.clause(how);
    }
  }
}

/// A rank sends down what it has. A root that lacks nothing but what the other
/// end sends in the same step may do so too.
void TreePairEncoding::encodeExchange(const Orbit &orbit, unsigned link,
                                      unsigned step) {
  auto [src, dst] = topology.links()[link];
  int exchange = orbit.exchanges[link][step];
  cnf.clause({-orbit.down[link][step], orbit.hasSum[src][step], exchange});
  std::optional<unsigned> back = topology.findLink(dst, src);
  if (!back) {
    cnf.clause({-exchange});
    return;
  }
  cnf.clause({-exchange, orbit.down[link][step]});
  cnf.clause({-exchange, orbit.root[src]});
  cnf.clause({-exchange, orbit.up[*back][step]});
  cnf.clause({-exchange, orbit.hasSum[src][step + 1]});
  for (unsigned other : topology.inLinks(src))
    if (other != *back)
      cnf.clause({-exchange, -orbit.up[other][step]});
}

/// No root has the sum before all can have sent to it, nor so late that it
/// cannot reach all. An exchange may be a step ahead, which is left out where
/// it is not needed: that makes the search several times faster.
void TreePairEncoding::encodeWindows(const Orbit &orbit) {
  unsigned ahead = leastIn + leastOut > instance.steps ? 1 : 0;
  for (unsigned link = 0; link < topology.links().size(); ++link)
    for (unsigned step = 0; step < instance.steps; ++step) {
      if (uint64_t(step) + 1 + leastOut > uint64_t(instance.steps) + ahead)
        cnf.clause({-orbit.up[link][step]});
      if (uint64_t(step) + ahead < leastIn)
        cnf.clause({-orbit.down[link][step]});
    }
}

//===----------------------------------------------------------------------===//
// Bandwidth
//===----------------------------------------------------------------------===//

/// True unless the group maps the limit to one of smaller links, which then has
/// the same load.
bool TreePairEncoding::isRepresentative(const BandwidthLimit &limit) const {
  return std::ranges::none_of(linkImages, [&](const auto &images) {
    std::vector<unsigned> image;
    for (unsigned link : limit.links)
      image.push_back(images[link]);
    std::ranges::sort(image);
    return image < limit.links;
  });
}

/// The sends over the links of `limit`, those of images of chunks included.
Literals TreePairEncoding::loadOf(const BandwidthLimit &limit,
                                  unsigned step) const {
  Literals load;
  auto add = [&](const Orbit &orbit, unsigned link, unsigned when) {
    load.push_back(orbit.up[link][when]);
    load.push_back(orbit.down[link][when]);
  };
  for (const Orbit &orbit : orbits)
    for (unsigned link : limit.links)
      // All elements, so it is no matter which is the inverse of which.
      for (const std::vector<unsigned> &images : linkImages) {
        add(orbit, images[link], step);
        if (isPalindrome)
          add(orbit, mirrorLinks[images[link]], instance.steps - 1 - step);
      }
  return load;
}

void TreePairEncoding::encodeLimit(const BandwidthLimit &limit, unsigned step) {
  Literals load = loadOf(limit, step);
  uint64_t most = uint64_t(limit.bandwidth) * rounds[step];
  if (load.size() <= most)
    return;
  // A tree of counters: with many literals solved much sooner than a chain.
  Literals sum = cnf.count(load, unsigned(most + 1));
  cnf.clause({-sum[most]});
}

void TreePairEncoding::encode(const std::function<bool()> &stop) {
  cnf.stopWhen(stop);
  size_t links = topology.links().size(), ranks = topology.numRanks();
  size_t steps = instance.steps;
  unsigned numOrbits = instance.collective.numChunks() / numImages();
  for (unsigned i = 0; i < numOrbits && !stop(); ++i) {
    Orbit &orbit = orbits.emplace_back();
    orbit.root = newTable(1, ranks).front();
    orbit.up = newTable(links, steps);
    orbit.down = newTable(links, steps);
    orbit.hasSent = newTable(ranks, steps);
    orbit.hasSum = newTable(ranks, steps + 1);
    orbit.exchanges = newTable(links, steps);
    encodeRoot(orbit);
    encodeUp(orbit);
    encodeDown(orbit);
    encodeWindows(orbit);
  }
  for (const BandwidthLimit &limit : topology.limits())
    if (isRepresentative(limit))
      for (unsigned step = 0; step < steps && !stop(); ++step)
        encodeLimit(limit, step);
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// Adds a send of the chunks from `firstChunk` on over the images of `link`.
void TreePairEncoding::addSend(unsigned firstChunk, unsigned link, bool adds,
                               std::vector<Send> &sends) const {
  unsigned chunk = firstChunk;
  for (const std::vector<unsigned> &images : linkImages) {
    auto [src, dst] = topology.links()[images[link]];
    sends.push_back(
        {chunk++, src, dst, adds ? SendAction::Reduce : SendAction::Copy});
  }
}

void TreePairEncoding::decodeStep(const Orbit &orbit, unsigned firstChunk,
                                  unsigned step, Schedule &schedule) const {
  for (unsigned link = 0; link < topology.links().size(); ++link) {
    bool isUp = isTrue(orbit.up[link][step]);
    if (!isUp && !isTrue(orbit.down[link][step]))
      continue;
    auto [src, dst] = topology.links()[link];
    std::optional<unsigned> back = topology.findLink(dst, src);
    bool meets = isTrue(orbit.exchanges[link][step]) ||
                 (back && isTrue(orbit.exchanges[*back][step]));
    addSend(firstChunk, link, isUp || meets, schedule.steps[step].sends);
    // What goes up goes down in the mirror.
    if (isPalindrome)
      addSend(firstChunk + group.size(), mirrorLinks[link], !isUp || meets,
              schedule.steps[instance.steps - 1 - step].sends);
  }
}

Schedule TreePairEncoding::decode() const {
  Schedule schedule;
  schedule.steps.resize(instance.steps);
  for (size_t i = 0; i < orbits.size(); ++i)
    for (unsigned step = 0; step < instance.steps; ++step)
      decodeStep(orbits[i], unsigned(i * numImages()), step, schedule);
  for (unsigned step = 0; step < instance.steps; ++step)
    schedule.steps[step].rounds = rounds[step];
  return schedule;
}
