//===- Backends.h - The engines of this library -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function per engine; the registry in Solver.cpp is their only caller.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_BACKENDS_H
#define SCCL_LIB_SOLVER_BACKENDS_H

#include "sccl/Solver/Solver.h"

namespace sccl {

/// The reference engine. Only built with SCCL_HAVE_Z3.
std::unique_ptr<SolverBackend> createZ3Backend();

} // namespace sccl

#endif // SCCL_LIB_SOLVER_BACKENDS_H
