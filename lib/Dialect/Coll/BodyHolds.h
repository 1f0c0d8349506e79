//===- BodyHolds.h - What ops may hold --------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_DIALECT_COLL_BODYHOLDS_H
#define SCCL_LIB_DIALECT_COLL_BODYHOLDS_H

#include "mlir/IR/Operation.h"

namespace sccl::coll {

/// Fails unless `body` holds only ops of the given types.
template <typename... Allowed>
mlir::LogicalResult verifyBodyHolds(mlir::Operation *op, mlir::Region &body,
                                    llvm::StringRef allowed) {
  for (mlir::Operation &child : body.getOps())
    if (!llvm::isa<Allowed...>(child))
      return child.emitOpError() << "is not allowed in " << op->getName()
                                 << ", which holds only " << allowed;
  return mlir::success();
}

} // namespace sccl::coll

#endif // SCCL_LIB_DIALECT_COLL_BODYHOLDS_H
