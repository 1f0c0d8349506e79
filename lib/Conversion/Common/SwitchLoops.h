//===- SwitchLoops.h - Loops over what a switch moves -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_SWITCHLOOPS_H
#define SCCL_LIB_CONVERSION_COMMON_SWITCHLOOPS_H

#include "mlir/Support/LLVM.h"

#include <optional>
#include <string>

namespace sccl::coll {

class CodeBuilder;
struct ElementOp;
struct HelperOptions;
struct TransferShape;

/// Why no instruction has a switch reduce by one of `ops`, which the message
/// names, or nothing if each of them has one.
std::optional<std::string> whyNotSwitched(llvm::ArrayRef<ElementOp> ops);

/// Builds @coll_copy or @coll_reduce_elements with the suffix of `shape`, by a
/// switch: what the threads of a block do, in units of 16 bytes. Arguments: the
/// destination, the source, and the bytes, a multiple of 16.
void buildSwitchLoops(CodeBuilder &code, const HelperOptions &options,
                      const TransferShape &shape);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_SWITCHLOOPS_H
