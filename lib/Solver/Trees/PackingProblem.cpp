//===- PackingProblem.cpp - What to pack trees for ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackingProblem.h"

#include "Solver/Constants.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::trees;

std::vector<Permutation>
trees::spanningElements(const std::vector<Permutation> &group,
                        unsigned numRanks) {
  std::vector<Permutation> generators;
  std::vector<Permutation> spanned = {group.front()};
  // Each of them at least doubles what is spanned.
  for (const Permutation &element : group) {
    if (spanned.size() == group.size())
      break;
    if (std::ranges::find(spanned, element) != spanned.end())
      continue;
    generators.push_back(element);
    spanned = groupElements(generators, numRanks, group.size());
  }
  return generators;
}

void trees::chooseGroup(PackingProblem &problem) {
  unsigned ranks = problem.topology.numRanks();
  // Of fewer ranks all trees can be looked at, and fewer chunks will do.
  bool isRooted = problem.kind == CollectiveKind::Broadcast;
  std::vector<Permutation> symmetries;
  if (!isRooted)
    symmetries = automorphismGenerators(problem.topology);
  else if (ranks > tuned::fewRootedRanks())
    symmetries = automorphismGenerators(problem.topology, problem.root);
  problem.group = largeFreeSubgroup(
      isRooted ? std::vector<Permutation>() : symmetries, ranks);
  // What keeps a rank, as where a cable is lost, serves as well, with some
  // chunks for each element.
  if (problem.group.size() == 1 && ranks > tuned::fewRootedRanks())
    problem.group =
        smallSubgroup(symmetries, ranks, tuned::mostGroupElements());
  problem.generators = spanningElements(problem.group, ranks);
  problem.positions = twinPositions(symmetries, ranks);
}
