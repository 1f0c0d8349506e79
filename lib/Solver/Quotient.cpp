//===- Quotient.cpp - A symmetry group acting on an instance --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Quotient.h"

#include "Solver/Constants.h"

#include <algorithm>
#include <cassert>
#include <numeric>

using namespace sccl;

Quotient::Quotient(const Topology &topology, const Collective &collective,
                   std::vector<Permutation> theGroup)
    : topology(topology), collective(collective), group(std::move(theGroup)),
      isRepresentative(topology.numRanks()) {
  assert(group.size() == 1 || actsOn(collective));
  for (const Permutation &element : group) {
    std::vector<unsigned> &images = links.emplace_back();
    for (const Link &link : topology.links())
      images.push_back(
          *topology.findLink(element[link.src], element[link.dst]));
  }
  std::vector<unsigned> orbits = rankOrbits(group, topology.numRanks());
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    if (orbits[rank] == rank) {
      representatives.push_back(rank);
      isRepresentative[rank] = true;
    }
}

unsigned Quotient::chunkImage(unsigned element, unsigned chunk) const {
  if (element == 0)
    return chunk;
  // Numbers of chunks as `Collective::make` documents them.
  const Permutation &image = group[element];
  unsigned perRank = collective.chunks();
  unsigned source = chunk / perRank, offset = chunk % perRank;
  if (collective.kind() == CollectiveKind::AllToAll) {
    unsigned perPair = collective.chunksPerSegment();
    offset = image[offset / perPair] * perPair + offset % perPair;
  }
  return image[source] * perRank + offset;
}

bool Quotient::isRepresentativeChunk(unsigned chunk) const {
  return order() == 1 || isRepresentative[chunk / collective.chunks()];
}

std::vector<unsigned> Quotient::representativeLimits() const {
  std::vector<unsigned> result;
  for (unsigned index = 0; index < topology.limits().size(); ++index) {
    const std::vector<unsigned> &set = topology.limits()[index].links;
    bool smallest = true;
    for (unsigned element = 1; element < order() && smallest; ++element) {
      std::vector<unsigned> image;
      for (unsigned link : set)
        image.push_back(linkImage(element, link));
      std::sort(image.begin(), image.end());
      smallest = set <= image;
    }
    if (smallest)
      result.push_back(index);
  }
  return result;
}

std::vector<std::vector<Permutation>>
sccl::quotientGroups(const Instance &instance, unsigned perOrder) {
  const Topology &topology = instance.topology;
  // Which ranks a switch joins, symmetries of links do not know.
  if (!Quotient::actsOn(instance.collective) || !topology.switches().empty()) {
    Permutation identity(topology.numRanks());
    std::iota(identity.begin(), identity.end(), 0u);
    return {{identity}};
  }
  std::vector<std::vector<Permutation>> result;
  unsigned sameOrder = 0;
  for (std::vector<Permutation> &group :
       freeSubgroups(topology, tuned::mostGroupElements())) {
    sameOrder = !result.empty() && result.back().size() == group.size()
                    ? sameOrder + 1
                    : 1;
    if (sameOrder <= perOrder)
      result.push_back(std::move(group));
  }
  return result;
}

bool sccl::isOwnReverse(const Topology &topology) {
  using Limit = std::pair<std::vector<unsigned>, unsigned>;
  std::vector<Limit> limits, reversed;
  for (const BandwidthLimit &limit : topology.limits()) {
    std::vector<unsigned> images;
    for (unsigned index : limit.links) {
      const Link &link = topology.links()[index];
      std::optional<unsigned> image = topology.findLink(link.dst, link.src);
      if (!image)
        return false;
      images.push_back(*image);
    }
    std::ranges::sort(images);
    limits.push_back({limit.links, limit.bandwidth});
    reversed.push_back({std::move(images), limit.bandwidth});
  }
  for (const Link &link : topology.links())
    if (!topology.findLink(link.dst, link.src))
      return false;
  for (const Switch &joined : topology.switches())
    if (joined.multicast != joined.reduces)
      return false;
  std::ranges::sort(limits);
  std::ranges::sort(reversed);
  return limits == reversed;
}
