//===- Mutants.h - Wrong schedules, programs, proofs, ... -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mutant is something right with one change. Each of these makes one mutant
// of each of its classes, where the class applies, from one case, and notes
// what became of it.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_PROVE_MUTANTS_H
#define SCCL_TEST_PROVE_MUTANTS_H

#include "KillMatrix.h"
#include "RandomCase.h"

namespace sccl::test {

/// Changes a send, or a step. What the checker of schedules accepts, a slow
/// replay must accept too, and it must run.
void mutateSchedule(const RandomCase &given, Random &random,
                    KillMatrix &matrix);

/// Changes an op of the lowered program. What MLIR's verifier and the check of
/// programs accept, the slow check must accept too, and it must run.
void mutateProgram(const RandomCase &given, Random &random, KillMatrix &matrix);

/// Changes the order in which a program or a schedule adds up, if it has one:
/// the checks of orders must refuse all other sums and no equal ones.
void mutateOrder(const RandomCase &given, Random &random, KillMatrix &matrix);

/// Changes a certificate of a lower bound. What the checker accepts must not
/// claim more than is true.
void mutateCertificate(const RandomCase &given, Random &random,
                       KillMatrix &matrix);

/// Changes the bytes of a plan. None may be accepted.
void mutatePlan(const RandomCase &given, Random &random, KillMatrix &matrix);

/// Changes a coll.machine, and a file that another tool writes of its machine;
/// of machines that have a name, not of the case. A second reader must take
/// what is accepted, find the same in it, and a topology must follow.
void mutateMachine(const RandomCase &given, Random &random, KillMatrix &matrix);

} // namespace sccl::test

#endif // SCCL_TEST_PROVE_MUTANTS_H
