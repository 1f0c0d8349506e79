//===- CollKernelOps.h - Ops of the collk dialect ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_DIALECT_COLLKERNEL_COLLKERNELOPS_H
#define SCCL_DIALECT_COLLKERNEL_COLLKERNELOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "sccl/Dialect/CollKernel/CollKernelDialect.h.inc"
#include "sccl/Dialect/CollKernel/CollKernelEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "sccl/Dialect/CollKernel/CollKernelAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "sccl/Dialect/CollKernel/CollKernelTypes.h.inc"

#define GET_OP_CLASSES
#include "sccl/Dialect/CollKernel/CollKernelOps.h.inc"

namespace sccl::collk {

/// A signal or a wait handles so many flags at once, a thread for each: blocks
/// have 64 threads and more.
inline constexpr unsigned maxFlags = 64;

} // namespace sccl::collk

#endif // SCCL_DIALECT_COLLKERNEL_COLLKERNELOPS_H
