//===- TreeMixes.cpp - Trees between two others ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TreeMixes.h"

#include "Solver/Constants.h"
#include "sccl/Model/DisjointSets.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::trees;

namespace {
/// By rank, the send that brings the chunk; nothing for the origin.
using Incoming = std::vector<const TreeSend *>;

Incoming incomingOf(const ChunkTree &tree, unsigned numRanks) {
  Incoming incoming(numRanks);
  for (const TreeSend &send : tree.sends)
    incoming[send.dst] = &send;
  return incoming;
}

/// For each rank the first one of its branch; `common` for those that get the
/// chunk in the same way, or as early, in both trees.
constexpr unsigned common = ~0u;
std::vector<unsigned> branchesOf(const ChunkTree &first,
                                 const Incoming &inFirst,
                                 const Incoming &inSecond) {
  unsigned numRanks = unsigned(inFirst.size());
  std::vector<bool> isCommon(numRanks);
  isCommon[first.origin] = true;
  std::vector<const TreeSend *> inOrder;
  for (const TreeSend &send : first.sends)
    inOrder.push_back(&send);
  std::ranges::stable_sort(inOrder, {}, &TreeSend::step);
  for (const TreeSend *send : inOrder)
    isCommon[send->dst] = isCommon[send->src] && inSecond[send->dst] &&
                          inSecond[send->dst]->step == send->step;
  DisjointSets sets(numRanks);
  for (const Incoming *incoming : {&inFirst, &inSecond})
    for (const TreeSend *send : *incoming)
      if (send && !isCommon[send->src] && !isCommon[send->dst])
        sets.join(send->src, send->dst);
  std::vector<unsigned> branches;
  for (unsigned rank = 0; rank < numRanks; ++rank)
    branches.push_back(isCommon[rank] ? common : sets.first(rank));
  return branches;
}
} // namespace

std::vector<ChunkTree> trees::mixesOf(const ChunkTree &first,
                                      const ChunkTree &second,
                                      unsigned numRanks) {
  Incoming inFirst = incomingOf(first, numRanks);
  Incoming inSecond = incomingOf(second, numRanks);
  std::vector<unsigned> branches = branchesOf(first, inFirst, inSecond);
  std::vector<unsigned> roots;
  for (unsigned rank = 0; rank < numRanks; ++rank)
    if (branches[rank] == rank)
      roots.push_back(rank);
  std::vector<ChunkTree> mixes;
  for (size_t taken = 1; taken < roots.size(); ++taken) {
    ChunkTree mix{first.origin, 1, {}};
    for (unsigned rank = 0; rank < numRanks; ++rank) {
      bool isSecond = branches[rank] != common && branches[rank] < roots[taken];
      if (const TreeSend *send = (isSecond ? inSecond : inFirst)[rank])
        mix.sends.push_back(*send);
    }
    mixes.push_back(std::move(mix));
  }
  return mixes;
}

TreeProgram trees::withMixes(const TreeProgram &program, unsigned numRanks) {
  TreeProgram result = program;
  std::vector<size_t> used;
  for (size_t i = 0; i < program.numTrees(); ++i)
    if (program.isUsed(i))
      used.push_back(i);
  for (size_t i : used)
    for (size_t j : used) {
      bool isPair = i < j && program.demandOf(i) == program.demandOf(j) &&
                    program.shareOf(i) == program.shareOf(j) &&
                    program.tree(i).origin == program.tree(j).origin;
      if (!isPair ||
          result.numTrees() > program.numTrees() + tuned::mostMixes())
        continue;
      for (ChunkTree &mix : mixesOf(program.tree(i), program.tree(j), numRanks))
        result.add(program.demandOf(i), program.shareOf(i), std::move(mix));
    }
  return result;
}
