//===- Twins.cpp - Ranks that may be exchanged alone ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Twins.h"

#include "Permutations.h"

#include "sccl/Model/DisjointSets.h"
#include "sccl/Model/Refinement.h"

#include <algorithm>
#include <optional>
#include <utility>

using namespace sccl;
using namespace sccl::permutations;

using Pair = std::pair<unsigned, unsigned>;

/// The two ranks that `permutation` exchanges, if it keeps all others.
static std::optional<Pair> exchangedBy(const Permutation &permutation) {
  std::vector<unsigned> moved;
  for (unsigned rank = 0; rank < permutation.size(); ++rank)
    if (permutation[rank] != rank) {
      moved.push_back(rank);
      if (moved.size() > 2)
        return std::nullopt;
    }
  if (moved.empty())
    return std::nullopt;
  return Pair(moved[0], moved[1]);
}

/// For each rank, the first of its class. If (a b) is in a group, so is
/// (g(a) g(b)) for each element g of it.
static std::vector<unsigned>
firstTwins(const std::vector<Permutation> &generators, unsigned numRanks) {
  DisjointSets sets(numRanks);
  std::vector<Pair> joined;
  auto join = [&](unsigned a, unsigned b) {
    if (sets.join(a, b))
      joined.emplace_back(a, b);
  };
  for (const Permutation &generator : generators)
    if (std::optional<Pair> pair = exchangedBy(generator))
      join(pair->first, pair->second);
  for (size_t next = 0; next < joined.size(); ++next)
    for (const Permutation &generator : generators) {
      auto [a, b] = joined[next];
      join(generator[a], generator[b]);
    }
  std::vector<unsigned> firsts(numRanks);
  for (unsigned rank = 0; rank < numRanks; ++rank)
    firsts[rank] = sets.first(rank);
  return firsts;
}

TwinClasses::TwinClasses(const std::vector<Permutation> &generators,
                         unsigned numRanks) {
  std::vector<unsigned> firsts = firstTwins(generators, numRanks);
  classOf = Classes({firsts.begin(), firsts.end()}).classOf;
  for (unsigned rank = 0; rank < numRanks; ++rank) {
    if (classOf[rank] >= classes.size())
      classes.resize(classOf[rank] + 1);
    classes[classOf[rank]].push_back(rank);
  }
}

std::vector<Permutation>
TwinClasses::onClasses(const std::vector<Permutation> &generators) const {
  std::vector<Permutation> result;
  for (const Permutation &generator : generators) {
    Permutation images;
    for (const std::vector<unsigned> &ranks : classes)
      images.push_back(classOf[generator[ranks.front()]]);
    if (!isIdentity(images))
      result.push_back(std::move(images));
  }
  return result;
}

Permutation TwinClasses::lifted(const Permutation &ofClasses) const {
  Permutation result(classOf.size());
  for (unsigned from = 0; from < classes.size(); ++from)
    for (size_t i = 0; i < classes[from].size(); ++i)
      result[classes[from][i]] = classes[ofClasses[from]][i];
  return result;
}

std::vector<unsigned> TwinClasses::positions() const {
  std::vector<unsigned> result(classOf.size());
  for (const std::vector<unsigned> &ranks : classes)
    for (unsigned i = 0; i < ranks.size(); ++i)
      result[ranks[i]] = i;
  return result;
}

std::vector<Permutation> TwinClasses::turns() const {
  size_t order = 0;
  for (const std::vector<unsigned> &ranks : classes)
    order = std::gcd(order, ranks.size());
  std::vector<Permutation> result;
  for (size_t turn = 0; turn < order; ++turn) {
    Permutation &element = result.emplace_back(classOf.size());
    for (const std::vector<unsigned> &ranks : classes)
      for (size_t i = 0; i < ranks.size(); ++i)
        element[ranks[i]] =
            ranks[(i + turn * (ranks.size() / order)) % ranks.size()];
  }
  return result;
}

std::vector<std::vector<unsigned>>
sccl::twinPositions(const std::vector<Permutation> &generators,
                    unsigned numRanks) {
  TwinClasses twins(generators, numRanks);
  if (!twins.any() || twins.count() == 1)
    return {};
  std::vector<std::vector<unsigned>> result = {twins.positions()};
  for (const std::vector<unsigned> &ofClasses :
       twinPositions(twins.onClasses(generators), twins.count())) {
    std::vector<unsigned> &level = result.emplace_back();
    for (unsigned rank = 0; rank < numRanks; ++rank)
      level.push_back(ofClasses[twins.classOfRank(rank)]);
  }
  return result;
}
