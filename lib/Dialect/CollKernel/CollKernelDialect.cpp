//===- CollKernelDialect.cpp - The collk dialect --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Dialect/CollKernel/CollKernelOps.h"

#include "../BytecodeVersion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sccl::collk;

#include "sccl/Dialect/CollKernel/CollKernelDialect.cpp.inc"

#include "sccl/Dialect/CollKernel/CollKernelEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "sccl/Dialect/CollKernel/CollKernelAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "sccl/Dialect/CollKernel/CollKernelTypes.cpp.inc"

#define GET_OP_CLASSES
#include "sccl/Dialect/CollKernel/CollKernelOps.cpp.inc"

void CollKernelDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "sccl/Dialect/CollKernel/CollKernelAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "sccl/Dialect/CollKernel/CollKernelTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "sccl/Dialect/CollKernel/CollKernelOps.cpp.inc"
      >();
  addInterfaces<sccl::BytecodeVersion>();
}
