//===- CollDialect.h - The coll dialect -------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_DIALECT_COLL_COLLDIALECT_H
#define SCCL_DIALECT_COLL_COLLDIALECT_H

#include "mlir/IR/Dialect.h"

#include "sccl/Dialect/Coll/CollDialect.h.inc"

#endif // SCCL_DIALECT_COLL_COLLDIALECT_H
