//===- TransferVerifiers.h - What ops of channels have to be ---*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_DIALECT_COLL_TRANSFERVERIFIERS_H
#define SCCL_DIALECT_COLL_TRANSFERVERIFIERS_H

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Model/Collective.h"

#include <array>

namespace sccl::coll {

/// The program that a transfer belongs to, as far as its verifier needs it.
struct TransferContext {
  const Collective &collective;
  /// The slots of each buffer of each rank.
  llvm::ArrayRef<std::array<unsigned, 3>> slots;
  unsigned rank;
  unsigned peer;
};

/// Emits an error and fails if `op`, of a channel, names ranks or slots that do
/// not exist, or does not fit the collective.
llvm::LogicalResult verifyBlockTransfer(mlir::Operation *op,
                                        const TransferContext &context);

} // namespace sccl::coll

#endif // SCCL_DIALECT_COLL_TRANSFERVERIFIERS_H
