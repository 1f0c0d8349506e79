//===- HelperLoops.h - Loops over what helpers move -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_HELPERLOOPS_H
#define SCCL_LIB_CONVERSION_COMMON_HELPERLOOPS_H

#include "ElementOps.h"

#include "mlir/Support/LLVM.h"

#include <optional>
#include <string>

namespace sccl::coll {

class CodeBuilder;
struct HelperOptions;
struct TransferShape;

/// Builds @coll_copy for a GPU and, if the program reduces,
/// @coll_reduce_elements, and for averages @coll_average: what copies, reduces
/// and averages plain memory; also several terms if the program `hasTerms`.
void buildBlockLoops(CodeBuilder &code, const HelperOptions &options,
                     bool hasTerms);

/// Why no instruction has a switch reduce by one of `ops`, which the message
/// names, or nothing if each of them has one.
std::optional<std::string> whyNotSwitched(llvm::ArrayRef<ElementOp> ops);

/// Builds @coll_copy or @coll_reduce_elements with the suffix of `shape`, by a
/// switch: what the threads of a block do, in units of 16 bytes. Arguments: the
/// destination, the source, and the bytes, a multiple of 16.
void buildSwitchLoops(CodeBuilder &code, const HelperOptions &options,
                      const TransferShape &shape);

/// Why what reduces by `ops` cannot have partial sums in f32 that have `width`
/// times the bytes of an element, or nothing if it can.
std::optional<std::string> whyNotWide(llvm::ArrayRef<ElementOp> ops,
                                      unsigned width);

/// Builds @coll_copy or @coll_reduce_elements, and for averages @coll_average,
/// with the suffix of `shape`, which is wide: for the threads of a block or for
/// a host thread. Bytes are those of the elements that are not wide; the
/// distance of terms is in bytes of memory.
void buildWideLoops(CodeBuilder &code, const HelperOptions &options,
                    const TransferShape &shape);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_HELPERLOOPS_H
