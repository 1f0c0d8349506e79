//===- Cadical.h - CaDiCaL as a solver of clauses ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_OPTIMIZE_CADICAL_H
#define SCCL_LIB_OPTIMIZE_CADICAL_H

#include "Cnf.h"
#include "sccl/Optimize/Deadline.h"

#include <cadical.hpp>

namespace sccl {

/// Lets CaDiCaL ask whether to go on.
class DeadlineTerminator final : public CaDiCaL::Terminator {
public:
  explicit DeadlineTerminator(const Deadline &deadline) : deadline(deadline) {}
  bool terminate() override { return deadline.expired(); }

private:
  const Deadline &deadline;
};

class CadicalSolver final : public CaDiCaL::Solver, public ClauseSolver {
public:
  void add(int literal) override { CaDiCaL::Solver::add(literal); }
  bool isTrue(int literal) override { return val(literal) > 0; }
};

} // namespace sccl

#endif // SCCL_LIB_OPTIMIZE_CADICAL_H
