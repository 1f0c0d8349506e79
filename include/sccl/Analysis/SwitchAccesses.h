//===- SwitchAccesses.h - Which ops a switch executes as one ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ANALYSIS_SWITCHACCESSES_H
#define SCCL_ANALYSIS_SWITCHACCESSES_H

#include "sccl/Dialect/Coll/CollOps.h"

namespace sccl::coll {

/// The ranks that one access through a switch reads or writes, which `op`
/// begins: those of a `coll.load_reduce`, or of the `coll.multicast`s that
/// follow each other from `op` on and differ only in their rank, ascending.
/// Empty if `op` is not the first of them, or does not go through a switch.
llvm::SmallVector<unsigned> ranksOfAccess(mlir::Operation *op);

} // namespace sccl::coll

#endif // SCCL_ANALYSIS_SWITCHACCESSES_H
