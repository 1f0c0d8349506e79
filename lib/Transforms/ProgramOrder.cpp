//===- ProgramOrder.cpp - In which order a program reduces ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramChecker.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

/// The expression of the tree for `chunk`.
FailureOr<unsigned> ProgramChecker::expressionAsked(const SumOrder &asked,
                                                    unsigned chunk) {
  std::vector<unsigned> ranks = collective.pre().ranksOf(chunk);
  Result<SumTree> tree = asked.treeOf(unsigned(ranks.size()));
  if (!tree) {
    fault(program) << "cannot combine chunk " << chunk << ": " << tree.error()
                   << " (T2)";
    return failure();
  }
  std::vector<unsigned> nodes = ranks;
  for (uint32_t node = tree->numLeaves(); node < tree->numNodes(); ++node)
    nodes.push_back(
        *expressions.reduce(nodes[tree->left(node)], nodes[tree->right(node)]));
  return nodes.back();
}

/// All ranks that end with a chunk have reduced it in the same way (T1), or as
/// the tree has it that is asked for (T2).
LogicalResult ProgramChecker::checkOrder(const SumOrder &asked) {
  if (!collective.combining() || asked == SumOrder::Any)
    return success(); // copies are always identical
  if (asked.isTree() && program.getSumWidth() != 1)
    return fault(program) << "has partial sums in f32, which have other bits "
                             "than those of "
                          << asked.toString() << " that are rounded (T2)";
  std::map<std::vector<unsigned>, unsigned> trees;
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk) {
    std::optional<std::pair<unsigned, unsigned>> first;
    std::optional<unsigned> tree;
    if (asked.isTree()) {
      auto [it, isNew] = trees.try_emplace(collective.pre().ranksOf(chunk), 0);
      if (isNew) {
        FailureOr<unsigned> expression = expressionAsked(asked, chunk);
        if (failed(expression))
          return failure();
        it->second = *expression;
      }
      tree = it->second;
    }
    for (unsigned rank : collective.post().ranksOf(chunk)) {
      unsigned slot = *collective.outputSlot(rank, chunk);
      unsigned expression =
          states[numberOf(rank, Buffer::Output, slot)].expression;
      if (tree && expression != *tree)
        return fault(program)
               << "combines chunk " << chunk << " in another order than "
               << asked.toString() << ": rank " << rank << " ends with "
               << expressions.toString(expression) << ", expected "
               << expressions.toString(*tree) << " (T2)";
      if (!first)
        first = {rank, expression};
      if (expression != first->second)
        return fault(program)
               << "combines chunk " << chunk << " in different orders: rank "
               << first->first << " ends with "
               << expressions.toString(first->second) << ", rank " << rank
               << " with " << expressions.toString(expression) << " (T1)";
    }
  }
  return success();
}

/// No chunk is rounded more than once on its way to where it ends (T3).
LogicalResult ProgramChecker::checkRoundings() {
  if (!collective.combining())
    return success();
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk)
    for (unsigned rank : collective.post().ranksOf(chunk)) {
      unsigned slot = *collective.outputSlot(rank, chunk);
      unsigned expression =
          states[numberOf(rank, Buffer::Output, slot)].expression;
      unsigned roundings = expressions.numRoundings(expression);
      if (roundings > 1)
        return fault(program) << "rounds chunk " << chunk << " " << roundings
                              << " times: rank " << rank << " ends with "
                              << expressions.toString(expression) << " (T3)";
    }
  return success();
}
