//===- Cnf.cpp - Clauses and counters for a SAT solver --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cnf.h"

#include "Optimize/Constants.h"

#include <algorithm>

using namespace sccl;

void Cnf::atMost(const Literals &literals, unsigned bound) {
  if (literals.size() <= bound)
    return;
  if (bound == 0) {
    for (int literal : literals)
      clause({-literal});
  } else if (bound == 1 && literals.size() <= tuned::mostPairwise()) {
    for (size_t i = 0; i < literals.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        clause({-literals[i], -literals[j]});
  } else {
    sequentialCounter(literals, bound);
  }
}

/// After Sinz, "Towards an optimal CNF encoding of Boolean cardinality
/// constraints", CP 2005.
void Cnf::sequentialCounter(const Literals &literals, unsigned bound) {
  Literals before; // before[j]: more than j of the literals so far
  for (size_t i = 0; i < literals.size(); ++i) {
    int literal = literals[i];
    if (before.size() == bound)
      clause({-literal, -before[bound - 1]});
    if (i + 1 == literals.size() || isStopped())
      return;
    Literals after;
    for (unsigned j = 0; j < std::min<size_t>(bound, i + 1); ++j) {
      int counted = newVariable();
      if (j < before.size())
        clause({-before[j], counted});
      if (j == 0)
        clause({-literal, counted});
      else
        clause({-literal, -before[j - 1], counted});
      after.push_back(counted);
    }
    before = std::move(after);
  }
}

/// A totalizer, after Bailleux and Boufkhad, CP 2003.
Literals Cnf::count(const Literals &literals, unsigned limit) {
  if (literals.size() <= 1 || limit == 0)
    return {literals.begin(),
            literals.begin() + std::min<size_t>(limit, literals.size())};
  auto middle = literals.begin() + literals.size() / 2;
  return addCounts(count({literals.begin(), middle}, limit),
                   count({middle, literals.end()}, limit), limit);
}

Literals Cnf::addCounts(const Literals &left, const Literals &right,
                        unsigned limit) {
  Literals sum(std::min<size_t>(limit, left.size() + right.size()));
  for (int &output : sum)
    output = newVariable();
  for (size_t i = 0; i <= left.size() && !isStopped(); ++i)
    for (size_t j = 0; j <= right.size(); ++j) {
      if (i + j == 0 || sum.empty())
        continue;
      Literals implication = {sum[std::min(i + j, sum.size()) - 1]};
      if (i > 0)
        implication.push_back(-left[i - 1]);
      if (j > 0)
        implication.push_back(-right[j - 1]);
      clause(implication);
    }
  return sum;
}
