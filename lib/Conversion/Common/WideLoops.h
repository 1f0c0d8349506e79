//===- WideLoops.h - Loops where partial sums are f32 --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_WIDELOOPS_H
#define SCCL_LIB_CONVERSION_COMMON_WIDELOOPS_H

#include "ElementOps.h"

#include <optional>
#include <string>

namespace sccl::coll {

class CodeBuilder;
struct HelperOptions;
struct TransferShape;

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

#endif // SCCL_LIB_CONVERSION_COMMON_WIDELOOPS_H
