//===- Sat.cpp - CaDiCaL within limits ------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sat.h"

#include <cadical.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace sccl;

// Measured on formulas of 10,000 to 10 million literals.
static constexpr uint64_t literalsPerUnit = 16; // to read them
static constexpr uint64_t baseOfConflict = 20;
static constexpr uint64_t literalsPerUnitOfConflict = 4000;

namespace {
/// Stops a search when the user's limits are reached. The work that may be done
/// is a number of conflicts.
class Guard final : public CaDiCaL::Terminator {
public:
  explicit Guard(const Deadline &deadline) : deadline(deadline) {}
  bool terminate() override { return deadline.isOver(); }

private:
  const Deadline &deadline;
};

/// Counts conflicts: each teaches one clause.
class Counter final : public CaDiCaL::Learner {
public:
  bool learning(int) override {
    ++clauses;
    return false;
  }
  void learn(int) override {}
  uint64_t clauses = 0;
};
} // namespace

struct SatSolver::Implementation {
  explicit Implementation(const Deadline &deadline) : guard(deadline) {}
  ~Implementation() {
    if (!proofFile)
      return;
    cadical.close_proof_trace();
    fclose(proofFile);
    free(proof);
  }
  void recordProof();

  CaDiCaL::Solver cadical;
  Guard guard;
  Counter counter;
  FILE *proofFile = nullptr;
  char *proof = nullptr;
  size_t proofSize = 0;
};

/// What these do does not follow by unit propagation. By default they are off.
void SatSolver::Implementation::recordProof() {
  for (const char *technique : {"block", "condition", "cover"})
    cadical.set(technique, 0);
  proofFile = open_memstream(&proof, &proofSize);
  if (proofFile)
    cadical.trace_proof(proofFile, "proof");
}

SatSolver::SatSolver(const Deadline &deadline, unsigned seed, SatAim aim)
    : solver(std::make_unique<Implementation>(deadline)), deadline(deadline) {
  CaDiCaL::Solver &cadical = solver->cadical;
  cadical.set("quiet", 1);
  if (aim == SatAim::Models)
    cadical.configure("sat");
  cadical.set("seed", static_cast<int>(seed & 0x7fffffff));
  if (aim == SatAim::Proof)
    solver->recordProof();
  cadical.connect_terminator(&solver->guard);
  cadical.connect_learner(&solver->counter);
}

SatSolver::~SatSolver() {
  solver->cadical.disconnect_terminator();
  solver->cadical.disconnect_learner();
}

void SatSolver::add(int literal) {
  solver->cadical.add(literal);
  if (++literals % literalsPerUnit == 0)
    deadline.charge(1);
}

bool SatSolver::isTrue(int literal) { return solver->cadical.val(literal) > 0; }

std::string SatSolver::takeProof() {
  if (!solver->proofFile)
    return "";
  solver->cadical.flush_proof_trace();
  fflush(solver->proofFile);
  return {solver->proof, solver->proofSize};
}

void SatSolver::assume(int literal) { solver->cadical.assume(literal); }

uint64_t SatSolver::workPerConflict() const {
  return baseOfConflict + literals / literalsPerUnitOfConflict;
}

SatSolver::Answer SatSolver::search(uint64_t conflicts) {
  constexpr uint64_t most = (uint64_t(1) << 31) - 1;
  constexpr int satisfiable = 10, unsatisfiable = 20;
  if (deadline.expired())
    return Answer::Unknown;
  uint64_t affordable = deadline.remainingWork() / workPerConflict();
  int limit = int(std::min({conflicts, affordable, most}));
  uint64_t before = solver->counter.clauses;
  solver->cadical.limit("conflicts", limit);
  int status = solver->cadical.solve();
  uint64_t learned = solver->counter.clauses - before;
  // Each call looks at the whole formula anew.
  uint64_t start = 1 + literals / (8 * literalsPerUnit);
  if (status == satisfiable || status == unsatisfiable) {
    deadline.charge(start + learned * workPerConflict());
    return status == satisfiable ? Answer::Satisfiable : Answer::Unsatisfiable;
  }
  // Interrupted or not, so that rounding leaves nothing to try again.
  deadline.charge(start + std::max<uint64_t>(limit, 1) * workPerConflict());
  return Answer::Unknown;
}
