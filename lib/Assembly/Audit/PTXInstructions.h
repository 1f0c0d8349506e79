//===- PTXInstructions.h - What instructions of PTX are ------- -*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ASSEMBLY_AUDIT_PTXINSTRUCTIONS_H
#define SCCL_LIB_ASSEMBLY_AUDIT_PTXINSTRUCTIONS_H

#include "Assembly/Assembly.h"

namespace sccl::assembly::ptx {

/// True if `opcode` has `part` between its dots.
bool has(llvm::StringRef opcode, llvm::StringRef part);
llvm::StringRef verb(const Instruction &op);

/// A load ("ld") or store ("st") that may reach memory of a peer.
bool isAccess(const Instruction &op, llvm::StringRef kind);
/// True if it says how it is ordered.
bool isOrdered(const Instruction &op);
bool isPlainLoad(const Instruction &op);
bool isPlainStore(const Instruction &op);
bool isStore(const Instruction &op);
/// These are at system scope.
bool isAcquire(const Instruction &op);
bool isRelaxedLoad(const Instruction &op);
bool isRelaxedStore(const Instruction &op);
bool isPublish(const Instruction &op); ///< a release or a relaxed store
bool isFence(const Instruction &op);
/// An access to memory by other means than loads and stores, whose order the
/// protocol says nothing about.
bool isOtherAccess(const Instruction &op);
bool is64Bit(const Instruction &op);
bool is16Bytes(const Instruction &op); ///< a load or store

/// A barrier of all threads of the block.
bool isBarrier(const Instruction &op);
bool isReturn(const Instruction &op);
/// True for a branch that some threads may take and others not.
bool isCondition(const Instruction &op);
/// The function that `op` calls, or nothing if it is no call.
llvm::StringRef calleeOf(const Instruction &op);
bool callsFunction(const Instruction &op, llvm::StringRef name);

} // namespace sccl::assembly::ptx

#endif // SCCL_LIB_ASSEMBLY_AUDIT_PTXINSTRUCTIONS_H
