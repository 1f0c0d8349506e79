//===- Backends.h - The engines of this library -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How engines are made, one function each, which only the registry in
// Solver.cpp calls, and how they are run.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_BACKENDS_H
#define SCCL_LIB_SOLVER_BACKENDS_H

#include "sccl/Solver/Solver.h"

#include <functional>

namespace sccl {

/// What `engine` says about `instance`, how long that took and how much work it
/// was: `answer()`, or that it does not take it, or what `answer` throws. Lack
/// of memory is unknown; any other exception is a mistake, and fails.
SynthesisResult
runEngine(const SolverBackend &engine, const Instance &instance,
          const SearchLimits &limits,
          const std::function<Outcome(const Deadline &)> &answer);

/// What to say when `deadline` has expired.
inline Unknown gaveUp(const Deadline &deadline) {
  return {deadline.reason(), !deadline.isOver()};
}

/// Max-flow for gather and scatter.
std::unique_ptr<SolverBackend> createFlowBackend();
/// Breadth-first matching for all_gather.
std::unique_ptr<SolverBackend> createMatchingBackend();
/// Routes by column generation, for all_to_all on many ranks.
std::unique_ptr<SolverBackend> createRoutesBackend();
/// Integer flows for all_to_all. Only built with SCCL_HAVE_CBC.
std::unique_ptr<SolverBackend> createMilpBackend();
/// Clauses for everything that only moves chunks. Only built with
/// SCCL_HAVE_CADICAL.
std::unique_ptr<SolverBackend> createSatBackend();
/// Inversion and composition of what the other engines find, for collectives
/// that combine. The others are those that `synthesize` calls `partEngine`.
std::unique_ptr<SolverBackend>
createCombiningBackend(std::string_view partEngine = "auto");
/// Trees packed by linear programs, for broadcast and all_reduce. Only built
/// with SCCL_HAVE_CBC.
std::unique_ptr<SolverBackend> createPackingBackend();
/// Trees packed by column generation, on machines of any size.
std::unique_ptr<SolverBackend> createTreesBackend();
/// The same for collectives in groups, user-defined ones, gather and scatter.
std::unique_ptr<SolverBackend> createMulticastBackend();
/// Clauses for everything that combines, all_reduce above all. Only built with
/// SCCL_HAVE_CADICAL.
std::unique_ptr<SolverBackend> createDirectAllReduceBackend();
/// The reference engine. Only built with SCCL_HAVE_Z3.
std::unique_ptr<SolverBackend> createZ3Backend();

} // namespace sccl

#endif // SCCL_LIB_SOLVER_BACKENDS_H
