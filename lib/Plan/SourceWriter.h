//===- SourceWriter.h - Keeps the modules of a plan -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_PLAN_SOURCEWRITER_H
#define SCCL_LIB_PLAN_SOURCEWRITER_H

#include "sccl/Dialect/Coll/Way.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace sccl {

/// Makes the blob of a module (Plan/Sources.h) with the ways that its schedules
/// were lowered in.
class SourceWriter {
public:
  /// Writes nothing if `isWanted` is false or `module` is too long to be worth
  /// it.
  SourceWriter(mlir::ModuleOp module, bool isWanted);
  void setWays(llvm::StringRef schedule, llvm::ArrayRef<coll::Way> ways);
  /// Empty if nothing is written.
  std::string take();

private:
  mlir::OwningOpRef<mlir::ModuleOp> copy;
};

} // namespace sccl

#endif // SCCL_LIB_PLAN_SOURCEWRITER_H
