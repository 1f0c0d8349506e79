//===- CollDialect.cpp - The coll dialect ---------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Dialect/Coll/CollDialect.h"

#include "../BytecodeVersion.h"

#include "sccl/Dialect/Coll/CollMachine.h"
#include "sccl/Dialect/Coll/CollOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sccl::coll;

#include "sccl/Dialect/Coll/CollDialect.cpp.inc"

#include "sccl/Dialect/Coll/CollEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "sccl/Dialect/Coll/CollAttrs.cpp.inc"

void CollDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "sccl/Dialect/Coll/CollAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "sccl/Dialect/Coll/CollOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "sccl/Dialect/Coll/CollMachineOps.cpp.inc"
      >();
  addInterfaces<sccl::BytecodeVersion>();
}
