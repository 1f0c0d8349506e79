//===- Cnf.h - Clauses and counters for a SAT solver ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Literals are integers as in DIMACS: variables count from 1, a negative number
// negates.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_OPTIMIZE_CNF_H
#define SCCL_LIB_OPTIMIZE_CNF_H

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

namespace sccl {

/// Takes a formula and has a model of it.
class ClauseSolver {
public:
  virtual ~ClauseSolver() = default;
  /// Adds a literal to the clause under construction; 0 ends it.
  virtual void add(int literal) = 0;
  /// Whether the model that was found last has `literal`.
  virtual bool isTrue(int literal) = 0;
};

using Literals = std::vector<int>;

/// Adds clauses to a solver and makes new variables.
class Cnf {
public:
  explicit Cnf(ClauseSolver &solver) : solver(solver) {}

  /// Has counters end early once `stop` is true: one may have more clauses than
  /// there is time or memory for. A formula cut short must not be searched.
  void stopWhen(std::function<bool()> stop) { isStopped = std::move(stop); }

  int newVariable() { return ++variables; }
  /// Of all clauses added: what the memory of the solver grows with.
  uint64_t numLiterals() const { return literalsAdded; }

  template <typename Range> void clause(const Range &literals) {
    for (int literal : literals)
      solver.add(literal);
    solver.add(0);
    literalsAdded += literals.size();
  }
  void clause(std::initializer_list<int> literals) {
    clause<std::initializer_list<int>>(literals);
  }
  void never() { solver.add(0); }

  /// At most `bound` of the literals are true. A literal may occur several
  /// times and then counts as often.
  void atMost(const Literals &literals, unsigned bound);

  /// Literals o[0], o[1], ... such that o[i] is true if more than i of the
  /// inputs are; at most `limit` of them.
  Literals count(const Literals &literals, unsigned limit);
  /// The same for the sum of two counts.
  Literals addCounts(const Literals &left, const Literals &right,
                     unsigned limit);

private:
  void sequentialCounter(const Literals &literals, unsigned bound);

  ClauseSolver &solver;
  std::function<bool()> isStopped = [] { return false; };
  int variables = 0;
  uint64_t literalsAdded = 0;
};

} // namespace sccl

#endif // SCCL_LIB_OPTIMIZE_CNF_H
