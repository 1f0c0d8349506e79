//===- ProgramFacts.h - What a plan says about a program --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_PLAN_PROGRAMFACTS_H
#define SCCL_LIB_PLAN_PROGRAMFACTS_H

#include "sccl/Analysis/Program.h"
#include "sccl/Model/Collective.h"
#include "sccl/Plan/Plan.h"

namespace sccl {

/// The buffers of every rank of `collective`.
std::vector<plan::RankLayout> layoutOf(const Collective &collective);

/// True if every access to memory of peers is a copy of the host's.
bool leavesPeersToCopies(coll::ProgramOp program);

/// What a plan says about a synchronized program, but for its schedule and
/// variant.
plan::ProgramInfo planInfoOf(coll::ProgramOp program,
                             const Collective &collective);

} // namespace sccl

#endif // SCCL_LIB_PLAN_PROGRAMFACTS_H
