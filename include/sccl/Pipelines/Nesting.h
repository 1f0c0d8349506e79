//===- Nesting.h - How deep brackets in MLIR may nest -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_PIPELINES_NESTING_H
#define SCCL_PIPELINES_NESTING_H

#include "llvm/Support/MemoryBufferRef.h"

namespace sccl {

/// The deepest that brackets of all kinds may nest: far more than what any op,
/// type or attribute needs, and far less than what MLIR's parser, which calls
/// itself for each, has stack for.
constexpr unsigned maxNesting = 256;

/// True if brackets in `source`, text or bytecode, nest no deeper. If they do,
/// prints "FILE:LINE:COLUMN: error: ..." about the first that is too deep.
bool checkNesting(llvm::MemoryBufferRef source);

} // namespace sccl

#endif // SCCL_PIPELINES_NESTING_H
