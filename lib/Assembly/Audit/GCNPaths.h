//===- GCNPaths.h - Paths that a wave of GCN can take -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM joins the ends of blocks that do the same, and remembers in pairs of
// scalar registers, all ones or zero, where to go behind them. So some paths of
// the text are none of the program's.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ASSEMBLY_AUDIT_GCNPATHS_H
#define SCCL_LIB_ASSEMBLY_AUDIT_GCNPATHS_H

#include "Assembly/Assembly.h"

namespace sccl::assembly::gcn {

/// As assembly::findPath(), but leaves out paths on which a branch goes against
/// a constant that was put into its register on the way. Where lanes may be
/// switched off, or paths are too many, it leaves out none.
const Instruction *findPossiblePath(const Function &function,
                                    llvm::ArrayRef<unsigned> starts,
                                    Condition stop, Condition goal);

} // namespace sccl::assembly::gcn

#endif // SCCL_LIB_ASSEMBLY_AUDIT_GCNPATHS_H
