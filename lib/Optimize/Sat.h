//===- Sat.h - CaDiCaL within limits ----------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one way in which engines use CaDiCaL: clauses in, searches of so many
// conflicts each, a model out.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_OPTIMIZE_SAT_H
#define SCCL_LIB_OPTIMIZE_SAT_H

#include "Optimize/Cnf.h"
#include "sccl/Optimize/Deadline.h"

#include <memory>
#include <string>

namespace sccl {

/// What a solver is tuned for.
enum class SatAim {
  Any,
  Models, ///< a formula that is only good for finding something
  Proof,  ///< a formula whose refutation others should believe
};

class SatSolver final : public ClauseSolver {
public:
  enum class Answer { Satisfiable, Unsatisfiable, Unknown };

  /// What a formula takes. Measured: 64 to 85 with 1 to 16 million literals.
  static constexpr uint64_t bytesPerLiteral = 80;
  /// The limit where nobody, with 0, has set one.
  static uint64_t memoryLimitMiB(uint64_t given) {
    return given ? given : 4096;
  }

  /// The work on the formula counts for `deadline`, which must outlive this.
  SatSolver(const Deadline &deadline, unsigned seed, SatAim aim = SatAim::Any);
  ~SatSolver() override;

  void add(int literal) override;
  bool isTrue(int literal) override;

  /// Makes `literal` true in the next search only.
  void assume(int literal);
  /// Goes on for up to `conflicts` conflicts, fewer if there is no work left
  /// for more.
  Answer search(uint64_t conflicts);
  /// After a refutation with the aim `Proof`, how it goes: DRAT in binary form,
  /// all of whose clauses follow by unit propagation. Not to be searched again.
  std::string takeProof();
  /// The units of work that a conflict counts as.
  uint64_t workPerConflict() const;
  /// Of all clauses.
  uint64_t numLiterals() const { return literals; }

private:
  struct Implementation;
  std::unique_ptr<Implementation> solver;
  const Deadline &deadline;
  uint64_t literals = 0;
};

} // namespace sccl

#endif // SCCL_LIB_OPTIMIZE_SAT_H
