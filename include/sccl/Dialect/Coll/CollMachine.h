//===- CollMachine.h - Machines as ops --------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_DIALECT_COLL_COLLMACHINE_H
#define SCCL_DIALECT_COLL_COLLMACHINE_H

#include "sccl/Dialect/Coll/CollDialect.h"
#include "sccl/Machine/Machine.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

#include "sccl/Dialect/Coll/CollMachineEnums.h.inc"

#define GET_OP_CLASSES
#include "sccl/Dialect/Coll/CollMachineOps.h.inc"

namespace sccl::coll {

/// The machine that `op` declares. Emits an error on what breaks a constraint,
/// and fails.
mlir::FailureOr<Machine> importMachine(MachineOp op);

/// Creates the ops at the builder's insertion point. Characters of the name
/// that read badly in IR are replaced.
MachineOp exportMachine(mlir::OpBuilder &builder, mlir::Location loc,
                        const Machine &machine);

} // namespace sccl::coll

#endif // SCCL_DIALECT_COLL_COLLMACHINE_H
