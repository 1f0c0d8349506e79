//===- Refinement.cpp - Ranks and links that look alike -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Colours are 64-bit hashes of what a part sees around it, until their number
// no longer grows. Two that should differ may agree, with a probability that
// nobody will live to see: then a proof or a schedule made from the classes
// would not pass its check.
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Refinement.h"

#include <algorithm>
#include <unordered_map>

using namespace sccl;

Classes::Classes(const std::vector<uint64_t> &keys) {
  std::unordered_map<uint64_t, unsigned> numbers;
  classOf.reserve(keys.size());
  for (unsigned i = 0; i < keys.size(); ++i) {
    auto [number, isNew] =
        numbers.try_emplace(keys[i], unsigned(numbers.size()));
    if (isNew) {
      firsts.push_back(i);
      sizes.push_back(0);
    }
    classOf.push_back(number->second);
    ++sizes[number->second];
  }
}

/// The finalizer of splitmix64.
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

namespace {
using Colors = std::vector<uint64_t>;

/// Refines the colours of all parts at once. Sums of mixed colours stand for
/// multisets.
class Refiner {
public:
  Refiner(const Topology &topology, Colors ranks, Colors links, Colors limits)
      : topology(topology), ranks(std::move(ranks)), links(std::move(links)),
        limits(std::move(limits)) {}
  Refinement run();

private:
  void round();

  const Topology &topology;
  Colors ranks, links, limits;
};
} // namespace

void Refiner::round() {
  const std::vector<Link> &ends = topology.links();
  Colors ofLimits(links.size()), inLimits(limits.size()), mixed(ranks);
  for (size_t i = 0; i < limits.size(); ++i) {
    uint64_t ofLimit = mix(limits[i]);
    for (unsigned link : topology.limits()[i].links)
      ofLimits[link] += ofLimit;
  }
  for (uint64_t &color : mixed)
    color = mix(color);
  Colors out(ranks.size()), in(ranks.size());
  for (size_t i = 0; i < links.size(); ++i) {
    links[i] = mix(mix(links[i]) + 3 * mixed[ends[i].src] +
                   5 * mixed[ends[i].dst] + 7 * mix(ofLimits[i]));
    // From here on what others see of it.
    ofLimits[i] = mix(links[i]);
    out[ends[i].src] += ofLimits[i];
    in[ends[i].dst] += ofLimits[i];
  }
  for (size_t i = 0; i < limits.size(); ++i)
    for (unsigned link : topology.limits()[i].links)
      inLimits[i] += ofLimits[link];
  for (size_t i = 0; i < ranks.size(); ++i)
    ranks[i] = mix(mix(ranks[i]) + 3 * mix(out[i]) + 5 * mix(in[i]));
  for (size_t i = 0; i < limits.size(); ++i)
    limits[i] = mix(mix(limits[i]) + 3 * mix(inLimits[i]));
}

static size_t countDistinct(Colors colors) {
  std::ranges::sort(colors);
  return size_t(std::ranges::unique(colors).begin() - colors.begin());
}

/// Links are told apart by their ends and limits, so that they need not be
/// counted.
Refinement Refiner::run() {
  auto count = [this] { return countDistinct(ranks) + countDistinct(limits); };
  for (size_t before = 0, now = count(); now != before;) {
    before = now;
    round();
    now = count();
  }
  return {Classes(ranks), Classes(links), Classes(limits)};
}

Refinement sccl::refine(const Topology &topology,
                        const std::vector<uint64_t> &rankKeys,
                        const std::vector<uint64_t> &limitKeys) {
  Colors limits = limitKeys;
  if (limits.empty())
    for (const BandwidthLimit &limit : topology.limits())
      limits.push_back(limit.bandwidth);
  return Refiner(topology, rankKeys, Colors(topology.links().size()),
                 std::move(limits))
      .run();
}

Refinement sccl::refine(const Topology &topology, const Refinement &coarser,
                        const std::vector<unsigned> &apart) {
  auto colors = [](const Classes &classes) {
    return Colors(classes.classOf.begin(), classes.classOf.end());
  };
  Colors ranks = colors(coarser.ranks);
  uint64_t next = coarser.ranks.count();
  for (unsigned rank : apart)
    ranks[rank] = next++;
  return Refiner(topology, std::move(ranks), colors(coarser.links),
                 colors(coarser.limits))
      .run();
}
