//===- ScratchSlots.h - Numbers for the scratch of a program *- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TRANSFORMS_SCRATCHSLOTS_H
#define SCCL_TRANSFORMS_SCRATCHSLOTS_H

#include "sccl/Analysis/Program.h"

namespace sccl::coll {

/// Gives back the scratch that nobody uses. In a program with `sum_width` the
/// slots for partial sums come first, and are wide. Returns the number of slots
/// given back.
unsigned compactScratch(ProgramOp program);

} // namespace sccl::coll

#endif // SCCL_TRANSFORMS_SCRATCHSLOTS_H
