//===- Expressions.h - How contributions were reduced ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TRANSFORMS_EXPRESSIONS_H
#define SCCL_TRANSFORMS_EXPRESSIONS_H

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace sccl::coll {

/// The ways in which contributions were reduced, each with a number of its own.
/// Reductions are commutative, but floats round: (a b) c is not a (b c).
class Expressions {
public:
  /// The contribution of a rank, in any chunk, is the expression `rank`.
  explicit Expressions(unsigned numRanks)
      : numRanks(numRanks), operands(numRanks) {}

  /// The reduction of two, which is not rounded yet if it is `open`; nothing if
  /// they have a contribution in common.
  std::optional<unsigned> reduce(unsigned a, unsigned b, bool isOpen = false) {
    std::pair<unsigned, unsigned> pair = std::minmax(a, b);
    auto [it, isNew] = numbers[isOpen].try_emplace(pair, operands.size());
    if (!isNew)
      return it->second;
    llvm::BitVector all = contributions(a);
    if (all.anyCommon(contributions(b))) {
      numbers[isOpen].erase(it);
      return std::nullopt;
    }
    all |= contributions(b);
    roundings.push_back(!isOpen + std::max(numRoundings(a), numRoundings(b)));
    operands.push_back({pair, isOpen});
    counts.push_back(all.count());
    sets.push_back(std::move(all));
    return it->second;
  }

  /// The same contributions, reduced in an order that nobody knows: another
  /// expression with each call.
  unsigned inUnknownOrder(unsigned expression) {
    llvm::BitVector all = contributions(expression);
    counts.push_back(all.count());
    roundings.push_back(all.count() - 1);
    sets.push_back(std::move(all));
    operands.push_back({{expression, expression}, false, true});
    return operands.size() - 1;
  }

  /// The ranks that are in an expression.
  llvm::BitVector contributions(unsigned expression) const {
    if (expression >= numRanks)
      return sets[expression - numRanks];
    llvm::BitVector own(numRanks);
    own.set(expression);
    return own;
  }
  unsigned numContributions(unsigned expression) const {
    return expression < numRanks ? 1 : counts[expression - numRanks];
  }

  /// How many roundings the contribution goes through that has most of them.
  unsigned numRoundings(unsigned expression) const {
    return expression < numRanks ? 0 : roundings[expression - numRanks];
  }

  /// "((0 1) 2)", or "(0 1 2)" if that is rounded once; "{((0 1) 2)}" in an
  /// order that nobody knows.
  std::string toString(unsigned expression) const {
    if (expression < numRanks)
      return std::to_string(expression);
    if (operands[expression].isUnknown)
      return "{" + toString(operands[expression].pair.first) + "}";
    return "(" + operandsOf(expression) + ")";
  }

private:
  struct Operands {
    std::pair<unsigned, unsigned> pair;
    bool isOpen;
    bool isUnknown = false; ///< the order of the first one
  };
  /// "0 1" of what reduces.
  std::string operandsOf(unsigned expression) const {
    auto print = [&](unsigned operand) {
      return operand >= numRanks && operands[operand].isOpen
                 ? operandsOf(operand)
                 : toString(operand);
    };
    auto [first, second] = operands[expression].pair;
    return print(first) + " " + print(second);
  }

  unsigned numRanks;
  /// By whether they are open.
  std::array<llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned>, 2>
      numbers;
  std::vector<Operands> operands;
  std::vector<llvm::BitVector> sets; ///< of the expressions that reduce
  std::vector<unsigned> counts;      ///< likewise
  std::vector<unsigned> roundings;   ///< likewise
};

} // namespace sccl::coll

#endif // SCCL_TRANSFORMS_EXPRESSIONS_H
