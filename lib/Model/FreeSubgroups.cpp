//===- FreeSubgroups.cpp - Groups that fix no rank ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Grows free subgroups from elements of the group that bliss finds. Where that
// is too large to list, elements are sampled.
//
//===----------------------------------------------------------------------===//

#include "Permutations.h"
#include "Twins.h"

#include "sccl/Model/Symmetry.h"

#include <algorithm>
#include <random>
#include <set>

using namespace sccl;
using namespace sccl::permutations;

//===----------------------------------------------------------------------===//
// Free subgroups
//===----------------------------------------------------------------------===//

using Group = std::vector<Permutation>;

/// Elements of a group too large to list, by a walk of fixed seed.
static std::vector<Permutation>
sampleElements(const std::vector<Permutation> &generators, unsigned numRanks) {
  std::vector<Permutation> pool = generators, samples = generators;
  // A pool of one would only walk through its powers of two.
  while (pool.size() < 8)
    pool.push_back(generators[pool.size() % generators.size()]);
  size_t count = std::clamp<size_t>((size_t(1) << 21) / numRanks, 64, 2048);
  std::mt19937 random(1);
  for (size_t i = 0; i < count; ++i) {
    // Two different ones, or the pool would degenerate into squares.
    size_t target = random() % pool.size();
    size_t other = (target + 1 + random() % (pool.size() - 1)) % pool.size();
    pool[target] = compose(pool[other], pool[target]);
    samples.push_back(pool[target]);
  }
  // Where all ranks are alike, that is a cycle through all of them, which
  // random products hardly ever are.
  Permutation all = identity(numRanks);
  for (const Permutation &generator : generators)
    all = compose(generator, all);
  samples.push_back(std::move(all));
  return samples;
}

/// The group that `parts` span, if it is free and takes no more than what is
/// left of `maxWork`.
static std::optional<Group> spanFree(const std::vector<Permutation> &parts,
                                     unsigned numRanks, uint64_t &work,
                                     uint64_t maxWork) {
  // In a free group an element is known by its image of rank 0.
  std::vector<int> byImage(numRanks, -1);
  Group group = {identity(numRanks)};
  byImage[0] = 0;
  for (size_t next = 0; next < group.size(); ++next)
    for (const Permutation &part : parts) {
      if (work >= maxWork)
        return std::nullopt;
      work += numRanks;
      Permutation product = compose(part, group[next]);
      int &slot = byImage[product[0]];
      if (slot >= 0 && group[slot] != product)
        return std::nullopt;
      if (slot >= 0)
        continue;
      if (hasFixedRank(product))
        return std::nullopt;
      slot = static_cast<int>(group.size());
      group.push_back(std::move(product));
    }
  return group;
}

namespace {
/// Grows free subgroups from elements, within a budget of work, since a group
/// may have more subgroups than anyone can list.
class FreeSubgroupSearch {
public:
  explicit FreeSubgroupSearch(const Topology &topology)
      : numRanks(topology.numRanks()),
        generators(automorphismGenerators(topology)) {}

  std::vector<Group> run();

private:
  std::vector<Permutation> candidates();
  struct Subgroup {
    Group elements;
    std::vector<Permutation> parts; // that span it
    bool extended = false;
  };

  Subgroup *nextToExtend();
  void add(std::vector<Permutation> parts);

  const unsigned numRanks;
  const std::vector<Permutation> generators;
  std::vector<Subgroup> found;
  std::set<Group> known; // with sorted elements
  uint64_t work = 0;     // entries of permutations computed, or stored
  const uint64_t maxWork = std::min<uint64_t>(
      (1u << 18) + 64 * uint64_t(numRanks) * numRanks, 1u << 24);
};
} // namespace

/// The largest power of an element that is free, if any but the identity is.
/// A power is free if all its cycles have equal length, so that exactly the
/// prime powers common to all cycles can stay. Cycles of ranks that `mayStay`,
/// if it is not empty, do not count.
static std::optional<Permutation>
freePower(const Permutation &element, const std::vector<bool> &mayStay = {}) {
  std::vector<std::vector<unsigned>> cycles;
  std::vector<bool> seen(element.size());
  uint64_t common = 0, order = 1;
  for (unsigned start = 0; start < element.size(); ++start) {
    if (seen[start])
      continue;
    std::vector<unsigned> &cycle = cycles.emplace_back();
    for (unsigned rank = start; !seen[rank]; rank = element[rank]) {
      seen[rank] = true;
      cycle.push_back(rank);
    }
    if (mayStay.empty() || !mayStay[start])
      common = std::gcd(common, cycle.size());
    order = std::lcm(order, uint64_t(cycle.size()));
    if (common == 1 || order > uint64_t(1) << 32)
      return std::nullopt;
  }
  // Remove the primes that some cycle has to a higher power than the others.
  uint64_t rest = order / common;
  for (uint64_t shared; (shared = std::gcd(common, rest)) > 1;)
    common /= shared;
  if (common == 1)
    return std::nullopt;
  uint64_t exponent = order / common;
  Permutation result(element.size());
  for (const std::vector<unsigned> &cycle : cycles)
    for (size_t i = 0; i < cycle.size(); ++i)
      result[cycle[i]] = cycle[(i + exponent) % cycle.size()];
  return result;
}

/// Free elements, each once.
std::vector<Permutation> FreeSubgroupSearch::candidates() {
  constexpr size_t maxListed = 4096;
  std::vector<Permutation> elements;
  if (numRanks <= 256)
    elements = groupElements(generators, numRanks, maxListed);
  if (elements.empty())
    elements = sampleElements(generators, numRanks);
  std::vector<Permutation> result;
  std::set<Permutation> unique;
  for (const Permutation &element : elements)
    if (std::optional<Permutation> power = freePower(element))
      if (unique.insert(*power).second)
        result.push_back(std::move(*power));
  return result;
}

void FreeSubgroupSearch::add(std::vector<Permutation> parts) {
  std::optional<Group> group = spanFree(parts, numRanks, work, maxWork);
  if (!group)
    return;
  work += group->size() * numRanks;
  Group sorted = *group;
  std::sort(sorted.begin(), sorted.end());
  if (known.insert(std::move(sorted)).second)
    found.push_back({std::move(*group), std::move(parts)});
}

/// The largest subgroup that could grow and was not yet tried, or null.
FreeSubgroupSearch::Subgroup *FreeSubgroupSearch::nextToExtend() {
  Subgroup *best = nullptr;
  for (Subgroup &group : found)
    if (!group.extended && group.elements.size() < numRanks &&
        (!best || group.elements.size() > best->elements.size()))
      best = &group;
  return best;
}

std::vector<Group> FreeSubgroupSearch::run() {
  if (generators.empty())
    return {{identity(numRanks)}};
  std::vector<Permutation> elements = candidates();
  for (const Permutation &element : elements)
    if (work < maxWork / 2)
      add({element});
  // Large groups first: they are wanted most, and may be all that the budget
  // allows.
  while (Subgroup *group = nextToExtend()) {
    group->extended = true;
    const Subgroup base = *group; // `found` is about to grow
    for (const Permutation &element : elements) {
      if (work >= maxWork)
        break;
      if (std::find(base.elements.begin(), base.elements.end(), element) !=
          base.elements.end())
        continue;
      std::vector<Permutation> parts = base.parts;
      parts.push_back(element);
      add(std::move(parts));
    }
  }
  std::vector<Group> groups;
  for (Subgroup &group : found)
    groups.push_back(std::move(group.elements));
  std::stable_sort(
      groups.begin(), groups.end(),
      [](const Group &a, const Group &b) { return a.size() > b.size(); });
  groups.push_back({identity(numRanks)});
  // Of a group too large to list, what was sampled may hold no large one.
  if (groups.front().size() < numRanks) {
    Group large = largeFreeSubgroup(generators, numRanks);
    if (large.size() > groups.front().size())
      groups.insert(groups.begin(), std::move(large));
  }
  return groups;
}

std::vector<std::vector<Permutation>>
sccl::freeSubgroups(const Topology &topology, size_t limit) {
  if (limit == 0)
    return {};
  std::vector<Group> groups = FreeSubgroupSearch(topology).run();
  // The trivial group stays, whatever must go.
  if (groups.size() > limit)
    groups.erase(groups.begin() + (limit - 1), groups.end() - 1);
  return groups;
}

//===----------------------------------------------------------------------===//
// One large free subgroup
//===----------------------------------------------------------------------===//

namespace {
/// Looks for a free subgroup that reaches many ranks: greedily, from one
/// element after the other. Groups of large machines are far too large to list,
/// and so are their free subgroups.
class LargeSubgroupSearch {
public:
  LargeSubgroupSearch(const std::vector<Permutation> &generators,
                      unsigned numRanks)
      : generators(generators), numRanks(numRanks) {}
  Group run();

private:
  struct Candidate {
    unsigned order;
    Permutation element;
  };
  void findCandidates();
  void addPowers(const Permutation &element);
  bool isHopeless(const Group &group, const Permutation &element);
  Group grow(const Permutation &base);

  const std::vector<Permutation> &generators;
  const unsigned numRanks;
  std::vector<Candidate> candidates; ///< those of large order first
  uint64_t work = 0;                 ///< entries of permutations computed
  static constexpr uint64_t maxWork = uint64_t(1) << 28;
};
} // namespace

/// A free element and its powers of smaller order: of an element that moves
/// several things at once, a power may move one of them alone.
void LargeSubgroupSearch::addPowers(const Permutation &element) {
  unsigned order = 0, rank = 0;
  do {
    rank = element[rank];
    ++order;
  } while (rank != 0);
  Permutation power = element;
  for (unsigned exponent = 1; exponent < order; ++exponent) {
    if (exponent > 1)
      power = compose(element, power);
    work += numRanks;
    if (order % exponent == 0)
      candidates.push_back({order / exponent, power});
  }
}

void LargeSubgroupSearch::findCandidates() {
  constexpr size_t most = 2048;
  constexpr size_t maxListed = 1024;
  Group elements;
  if (numRanks <= 256)
    elements = groupElements(generators, numRanks, maxListed);
  if (elements.empty())
    elements = sampleElements(generators, numRanks);
  std::set<Permutation> unique;
  for (const Permutation &element : elements)
    if (std::optional<Permutation> power = freePower(element))
      if (candidates.size() < most && unique.insert(*power).second)
        addPowers(*power);
  std::ranges::stable_sort(candidates, std::ranges::greater(),
                           &Candidate::order);
}

/// True if some product of `element` and a few of `group` fixes a rank and yet
/// moves another.
bool LargeSubgroupSearch::isHopeless(const Group &group,
                                     const Permutation &element) {
  constexpr size_t tries = 16;
  Permutation last = element;
  for (size_t i = 0; i < tries; ++i) {
    // Spread over the group, and over longer and longer products.
    const Permutation &member = group[i * group.size() / tries];
    last = compose(element, compose(member, last));
    work += 3 * numRanks;
    if (hasFixedRank(last) && !isIdentity(last))
      return true;
  }
  return false;
}

Group LargeSubgroupSearch::grow(const Permutation &base) {
  std::vector<Permutation> parts = {base};
  Group group = spanFree(parts, numRanks, work, maxWork)
                    .value_or(Group{identity(numRanks)});
  for (const Candidate &candidate : candidates) {
    if (group.size() == numRanks || work >= maxWork)
      break;
    const Permutation &element = candidate.element;
    bool isMember = std::ranges::any_of(group, [&](const Permutation &member) {
      return member[0] == element[0] && member == element;
    });
    if (isMember || isHopeless(group, element))
      continue;
    parts.push_back(element);
    if (auto larger = spanFree(parts, numRanks, work, maxWork))
      group = std::move(*larger);
    else
      parts.pop_back();
  }
  return group;
}

Group LargeSubgroupSearch::run() {
  Group best = {identity(numRanks)};
  findCandidates();
  for (const Candidate &base : candidates) {
    if (best.size() == numRanks || work >= maxWork)
      break;
    Group group = grow(base.element);
    if (group.size() > best.size())
      best = std::move(group);
  }
  return best;
}

/// One that turns classes of twins, and moves these as a free group of classes
/// does. Where there are classes of classes, random products hardly ever do.
static Group fromTwins(const std::vector<Permutation> &generators,
                       unsigned numRanks) {
  TwinClasses twins(generators, numRanks);
  if (!twins.any())
    return {identity(numRanks)};
  Group ofClasses =
      largeFreeSubgroup(twins.onClasses(generators), twins.count());
  Group group, turns = twins.turns();
  for (const Permutation &images : ofClasses) {
    Permutation lifted = twins.lifted(images);
    for (const Permutation &turn : turns)
      group.push_back(compose(turn, lifted));
  }
  return group;
}

std::vector<Permutation>
sccl::largeFreeSubgroup(const std::vector<Permutation> &generators,
                        unsigned numRanks) {
  if (generators.empty())
    return {identity(numRanks)};
  Group ofTwins = fromTwins(generators, numRanks);
  if (ofTwins.size() == numRanks)
    return ofTwins;
  Group found = LargeSubgroupSearch(generators, numRanks).run();
  return found.size() > ofTwins.size() ? found : ofTwins;
}

//===----------------------------------------------------------------------===//
// Small subgroups
//===----------------------------------------------------------------------===//

/// `element` as often as it takes to be of prime power order, for each of the
/// primes; and `element` itself.
static std::vector<Permutation> primaryParts(const Permutation &element,
                                             size_t limit) {
  Permutation power = element;
  const Permutation none = identity(unsigned(element.size()));
  std::vector<Permutation> powers = {none};
  for (; power != none; power = compose(element, power)) {
    powers.push_back(power);
    if (powers.size() > limit * limit)
      return {};
  }
  size_t order = powers.size();
  std::vector<Permutation> parts;
  if (order > 1 && order <= limit)
    parts.push_back(element);
  size_t rest = order;
  for (size_t prime = 2; rest > 1; ++prime) {
    size_t primary = 1;
    for (; rest % prime == 0; rest /= prime)
      primary *= prime;
    if (primary > 1 && primary < order && primary <= limit)
      parts.push_back(powers[order / primary]);
  }
  return parts;
}

static size_t countOrbits(const std::vector<Permutation> &generators,
                          unsigned numRanks) {
  std::vector<unsigned> firsts = rankOrbits(generators, numRanks);
  return std::set<unsigned>(firsts.begin(), firsts.end()).size();
}

/// The ranks outside the largest orbit.
static std::vector<bool>
besideLargestOrbit(const std::vector<Permutation> &generators,
                   unsigned numRanks) {
  std::vector<unsigned> firsts = rankOrbits(generators, numRanks);
  std::vector<unsigned> sizes(numRanks);
  for (unsigned first : firsts)
    ++sizes[first];
  auto largest = unsigned(std::ranges::max_element(sizes) - sizes.begin());
  std::vector<bool> beside(numRanks);
  for (unsigned rank = 0; rank < numRanks; ++rank)
    beside[rank] = firsts[rank] != largest;
  return beside;
}

/// Joins elements of `candidates` as long as that makes fewer orbits.
static Group joinGreedily(const std::set<Permutation> &candidates,
                          unsigned numRanks, size_t limit) {
  Group group = {identity(numRanks)};
  std::vector<Permutation> parts;
  for (bool isBetter = true; isBetter;) {
    isBetter = false;
    std::pair best(countOrbits(parts, numRanks), group.size());
    std::vector<Permutation> last = parts;
    for (const Permutation &candidate : candidates) {
      std::vector<Permutation> more = last;
      more.push_back(candidate);
      size_t orbits = countOrbits(more, numRanks);
      if (orbits > best.first)
        continue;
      Group span = groupElements(more, numRanks, limit);
      if (span.empty() || std::pair(orbits, span.size()) >= best)
        continue;
      best = {orbits, span.size()};
      parts = std::move(more);
      group = std::move(span);
      isBetter = true;
    }
  }
  return group;
}

std::vector<Permutation>
sccl::smallSubgroup(const std::vector<Permutation> &generators,
                    unsigned numRanks, size_t limit) {
  constexpr size_t maxCandidates = 400;
  if (generators.empty())
    return {identity(numRanks)};
  std::vector<bool> mayStay = besideLargestOrbit(generators, numRanks);
  // Of parts of elements groups grow that keep ranks; of elements that keep no
  // rank of the largest orbit, groups that have each of their images there.
  std::set<Permutation> parts, turns;
  for (const Permutation &sample : sampleElements(generators, numRanks)) {
    if (parts.size() < maxCandidates)
      for (Permutation &part : primaryParts(sample, limit))
        parts.insert(std::move(part));
    std::optional<Permutation> turn = freePower(sample, mayStay);
    if (turn && turns.size() < maxCandidates)
      turns.insert(std::move(*turn));
  }
  Group ofParts = joinGreedily(parts, numRanks, limit);
  Group ofTurns = joinGreedily(turns, numRanks, limit);
  auto quality = [&](const Group &group) {
    return std::pair(countOrbits(group, numRanks), group.size());
  };
  return quality(ofTurns) < quality(ofParts) ? ofTurns : ofParts;
}
