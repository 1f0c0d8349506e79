//===- CollOps.h - Ops of the coll dialect ----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_DIALECT_COLL_COLLOPS_H
#define SCCL_DIALECT_COLL_COLLOPS_H

#include "sccl/Dialect/Coll/CollDialect.h"
#include "sccl/Dialect/Coll/Transfer.h"
#include "sccl/Model/Schedule.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace sccl::coll {
/// The ranges that triples of first, count and stride describe.
llvm::SmallVector<ChunkRange, 4> toChunkRanges(llvm::ArrayRef<int32_t> numbers);
} // namespace sccl::coll

#include "sccl/Dialect/Coll/CollInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "sccl/Dialect/Coll/CollAttrs.h.inc"

#define GET_OP_CLASSES
#include "sccl/Dialect/Coll/CollOps.h.inc"

namespace sccl::coll {

/// True for transfers that add to what is where they write.
template <typename Op>
constexpr bool reduces =
    std::is_same_v<Op, LocalReduceOp> || std::is_same_v<Op, ReducePutOp> ||
    std::is_same_v<Op, GetReduceOp>;

/// True if `op` is a transfer that a copy engine performs.
bool isDMA(mlir::Operation *op);

} // namespace sccl::coll

#endif // SCCL_DIALECT_COLL_COLLOPS_H
