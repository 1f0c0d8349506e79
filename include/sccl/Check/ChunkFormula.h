//===- ChunkFormula.h - Which sends a chunk can do with ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The question "is there a set of sends of one chunk, of a price below V, that
// informs everyone who must be?" as clauses. docs/Certificates.md defines them,
// in this order and with these numbers of variables, for whoever checks a
// refutation. Whoever finds one uses the same function: what the clauses say is
// so short that it can be read.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_CHECK_CHUNKFORMULA_H
#define SCCL_CHECK_CHUNKFORMULA_H

#include "sccl/Check/Certificate.h"

#include <span>

namespace sccl {

/// Clauses, one after another. Literals are integers as in DIMACS: variables
/// count from 1, a negative number negates.
class Clauses {
public:
  size_t size() const { return ends.size(); }
  size_t numLiterals() const { return literals.size(); }
  std::span<const int> operator[](size_t clause) const {
    size_t begin = clause == 0 ? 0 : ends[clause - 1];
    return {literals.data() + begin, ends[clause] - begin};
  }
  void add(std::span<const int> clause) {
    literals.insert(literals.end(), clause.begin(), clause.end());
    ends.push_back(literals.size());
  }

private:
  std::vector<int> literals;
  std::vector<size_t> ends;
};

/// What a chunk needs, and what its sends cost.
struct ChunkQuestion {
  unsigned numRanks, steps;
  std::vector<Link> links;
  /// Per link, and for each link per step; at least 0.
  std::vector<int64_t> prices;
  std::vector<unsigned> pre, post; ///< ascending
  /// Each rank of `pre` must be joined to each of `post`, rather than one.
  bool combining;
  int64_t value; ///< V, at least 1
};

struct ChunkFormula {
  Clauses clauses;
  int numVariables = 0;
  std::vector<int> sendOf; ///< variables, in the order of the prices
};

/// The most literals of a formula: 16 MiB.
constexpr uint64_t maxFormulaLiterals = uint64_t(1) << 22;

/// The clauses of `question`. Fails if there would be more than `maxLiterals`
/// literals.
Result<ChunkFormula> chunkFormula(const ChunkQuestion &question,
                                  uint64_t maxLiterals = maxFormulaLiterals);

/// What checks of refutations may take in all: literals of formulas, and
/// literals of the clauses that steps look at. Some seconds.
struct SearchCheckLimits {
  uint64_t formulaLiterals = 4 * maxFormulaLiterals;
  uint64_t refutationWork = uint64_t(1) << 31;
};

/// Nothing if `steps` refute the formula of `question`, else why not. What that
/// took is taken from `limits`; if it is too much, that is the answer.
std::optional<std::string> checkSearch(const ChunkQuestion &question,
                                       const std::vector<RefutationStep> &steps,
                                       SearchCheckLimits &limits);

} // namespace sccl

#endif // SCCL_CHECK_CHUNKFORMULA_H
