//===- OrderedSums.h - Sums in one order on all ranks -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule says what a rank adds to its value of a chunk in which step, and
// leaves the order within a step open. Ranks that complete the same sum add it
// up in one order, and so end with the same bits, if
//
//   - what arrives waits until the value is sent on, or all of it is there, and
//   - then the value itself and what has waited are added in the order of the
//     least ranks that have contributed to each.
//
// Then all ranks agree that get the same partial sums, be it each rank's input,
// a box's sum, or half of all ranks'. If they get others, as in most schedules
// that engines find for few steps, no order makes them agree.
//
// Where a tree is asked for (SumTree.h), all that is combined waits, and parts
// are added up as the tree has it, if they are nodes of it that make one node.
// Where sums are to be rounded once, those of one rank wait as well, so that
// one reduction adds up all that comes in several steps.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_ORDEREDSUMS_H
#define SCCL_MODEL_ORDEREDSUMS_H

#include "sccl/Model/Collective.h"
#include "sccl/Model/Schedule.h"
#include "sccl/Model/SumTree.h"

#include <algorithm>

namespace sccl {

/// What is known of a part of a sum.
struct SumPart {
  unsigned first;                ///< the least rank that has contributed to it
  uint32_t node = SumTree::none; ///< of the tree, if it is one
};

/// Says which arrivals wait, and how they are added up. Nothing waits in a
/// collective that does not reduce, nor, unless a tree or one rounding is asked
/// for, for a chunk that one rank sums up and others copy.
class OrderedSums {
public:
  /// Nothing waits.
  OrderedSums() = default;
  /// Takes sends of `collective`, which has to outlive this, by enter().
  OrderedSums(const Collective &collective, const SumOrder &order,
              bool oneRounding);
  /// Takes those of `schedule`.
  OrderedSums(const Collective &collective, const Schedule &schedule,
              const SumOrder &order, bool oneRounding);

  /// False if nothing waits, whatever is sent.
  bool isNeeded() const { return !endsInSum.empty() || hasTree(); }
  bool hasTree() const { return !lists.empty(); }

  /// Enters a send, if that is needed, after those of earlier steps. After the
  /// last one comes finish().
  void enter(const Send &send);
  void finish();

  /// True if only a program tells whether sums are in the order asked for:
  /// there is a tree, or several ranks form one sum.
  bool mayDiffer() const {
    return hasTree() || sendsKept ||
           std::ranges::any_of(sumsOf,
                               [](uint32_t ranks) { return ranks > 1; });
  }
  /// True if `rank` sums up `chunk` in the order asked for.
  bool isOrdered(unsigned rank, uint32_t chunk) const {
    if (hasTree())
      return collective->pre().contains(rank, chunk);
    return isNeeded() && sumsOf[chunk] >= leastSums &&
           endsInSum[placeOf(rank, chunk)];
  }
  /// True if what `send` brings waits.
  bool waits(const Send &send) const {
    return send.action == SendAction::Reduce && isOrdered(send.dst, send.chunk);
  }

  /// The input of `rank`, which contributes to `chunk`.
  SumPart inputOf(unsigned rank, uint32_t chunk) const;
  /// The sum of two parts of `chunk`.
  SumPart sumOf(uint32_t chunk, SumPart a, SumPart b) const;
  /// How to add up `parts` of `chunk`, all of them in the last chain.
  std::vector<SumChain> chainsOf(uint32_t chunk,
                                 const std::vector<SumPart> &parts) const;
  /// The same for what a rank has kept: without a tree, in the given order.
  std::vector<SumChain> chainsOfKept(uint32_t chunk,
                                     const std::vector<SumPart> &parts) const;
  /// Places for the parts of `chunk`: those that one chain adds up follow each
  /// other, but for the first.
  uint32_t place(uint32_t chunk, SumPart part) const;
  uint32_t numPlaces(uint32_t chunk) const;

private:
  /// Ranks that contribute to a chunk, and their tree if there is one.
  struct Contributors {
    std::vector<unsigned> ranks;
    std::optional<SumTree> tree;
  };
  const SumTree *treeOf(uint32_t chunk) const {
    return hasTree() && lists[listOf[chunk]].tree ? &*lists[listOf[chunk]].tree
                                                  : nullptr;
  }
  void findTrees(const SumOrder &order);

  size_t placeOf(unsigned rank, uint32_t chunk) const {
    return size_t(rank) * collective->numChunks() + chunk;
  }

  const Collective *collective = nullptr;
  std::vector<bool> endsInSum;     ///< by place, of a chunk at a rank
  std::vector<uint32_t> sumsOf;    ///< ranks that complete one, by chunk
  unsigned leastSums = 2;          ///< of a chunk, for it to wait
  bool sendsKept = false;          ///< sums of what ranks keep are sent
  std::vector<Contributors> lists; ///< each once, if a tree is asked for
  std::vector<uint32_t> listOf;    ///< by chunk
};

} // namespace sccl

#endif // SCCL_MODEL_ORDEREDSUMS_H
