//===- GCNInstructions.h - What instructions of GCN are ------- -*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ASSEMBLY_AUDIT_GCNINSTRUCTIONS_H
#define SCCL_LIB_ASSEMBLY_AUDIT_GCNINSTRUCTIONS_H

#include "Assembly/Assembly.h"

#include "sccl/Model/Chip.h"

namespace sccl::assembly::gcn {

/// A load ("load_"), store ("store_") or other access of memory that a peer may
/// use, too.
bool isAccess(const Instruction &op, llvm::StringRef kind);
bool isLoad(const Instruction &op);
bool isStore(const Instruction &op);
/// Accesses to memory whose order the protocol says nothing about.
bool isOtherAccess(const Instruction &op);
bool isBarrier(const Instruction &op);
bool isReturn(const Instruction &op);
bool isWaitForMemory(const Instruction &op);
/// The symbol whose address `op` takes, as all calls do, or nothing.
llvm::StringRef symbolOf(const Instruction &op);
bool callsFunction(const Instruction &op, llvm::StringRef name);
bool isCall(const Instruction &op);

/// What instructions say of caches, on chips of one generation.
struct Coherence {
  MemoryModel memoryModel;

  /// At system scope, where the generation has scopes.
  bool hasSystemScope(const Instruction &op) const;
  bool isWriteBack(const Instruction &op) const;
  bool isCoherentLoad(const Instruction &op) const;
  /// The instructions that together drop what caches hold of peers' memory.
  llvm::SmallVector<llvm::StringRef, 2> invalidations() const;
};

} // namespace sccl::assembly::gcn

#endif // SCCL_LIB_ASSEMBLY_AUDIT_GCNINSTRUCTIONS_H
