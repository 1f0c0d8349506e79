//===- GinHelpers.h - Code that sends to other boxes ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COLLTONCCLDEVICE_GINHELPERS_H
#define SCCL_LIB_CONVERSION_COLLTONCCLDEVICE_GINHELPERS_H

#include "mlir/IR/Value.h"

namespace sccl::coll {

class CodeBuilder;

/// Builds the helpers that call functions of GIN:
///
///   @coll_gin_put     puts bytes into a window of a peer, when all threads of
///                     the block are here
///   @coll_gin_signal  publishes what came before, then adds one to signals, a
///                     thread for each
///   @coll_gin_wait    returns when signals have reached their values, or on
///                     abort
///   @coll_gin_flush   returns when memory that was put may be written again
///
/// NcclArguments are an operand of each. Rows of flags are like TableFlag's:
/// those of signals have the number of a signal in place of an offset, those of
/// waits the number of a context in place of the peer, too, and count from the
/// launch before.
void buildGinHelpers(CodeBuilder &code);

/// Builds the body of the kernel NAME_nccl_peers, for boxes of `ranksPerBox`
/// ranks in a program of `ranks`.
void buildPeersKernel(CodeBuilder &code, mlir::Value net, mlir::Value peers,
                      unsigned ranks, unsigned ranksPerBox);

/// Builds the body of the kernel NAME_nccl_barrier.
void buildBarrierKernel(CodeBuilder &code, mlir::Value net);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COLLTONCCLDEVICE_GINHELPERS_H
