//===- Question.h - What can be pipelined -----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_PIPELINED_QUESTION_H
#define SCCL_LIB_SOLVER_PIPELINED_QUESTION_H

#include "sccl/Model/Collective.h"
#include "sccl/Model/Result.h"
#include "sccl/Model/Topology.h"

#include <optional>

namespace sccl::pipelined {

/// Why there is no pipelined schedule to ask for, if there is none: the ranks,
/// the kind or the root.
std::optional<Error> checkQuestion(const Topology &topology,
                                   CollectiveKind kind, unsigned root);

} // namespace sccl::pipelined

#endif // SCCL_LIB_SOLVER_PIPELINED_QUESTION_H
