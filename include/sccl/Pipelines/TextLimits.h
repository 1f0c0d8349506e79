//===- TextLimits.h - What MLIR's parser has stack for ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_PIPELINES_TEXTLIMITS_H
#define SCCL_PIPELINES_TEXTLIMITS_H

#include "llvm/Support/MemoryBufferRef.h"

namespace sccl {

/// The deepest that brackets of all kinds may nest: far more than what any op,
/// type or attribute needs, and far less than what MLIR's parser, which calls
/// itself for each, has stack for.
constexpr unsigned maxNesting = 256;

/// The most signs `+`, `-` and `*` in one expression of an affine map, for each
/// of which MLIR calls itself, too.
constexpr unsigned maxSigns = 1000;

/// The most seconds that bytecode may take to read.
constexpr unsigned maxBytecodeSeconds = 60;

/// True if `source` is text within these limits. If not, prints
/// "FILE:LINE:COLUMN: error: ..." about the first place that is too much.
/// MLIR's reader of bytecode trusts what it reads, so a child process reads
/// bytecode first; it is an error if the child crashes.
bool checkText(llvm::MemoryBufferRef source);

} // namespace sccl

#endif // SCCL_PIPELINES_TEXTLIMITS_H
