//===- FlagCode.h - Code of flags and epochs --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_FLAGCODE_H
#define SCCL_LIB_CONVERSION_COMMON_FLAGCODE_H

#include "mlir/IR/ValueRange.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace sccl::coll {

class CodeBuilder;
struct HelperOptions;

/// Builds @coll_begin, @coll_end, @coll_signal and @coll_wait.
void buildFlagHelpers(CodeBuilder &code, const HelperOptions &options);

/// The abort word is in memory of the host. A GPU that polls it often has no
/// time for anything else: 67 us for each look on an H100, as
/// docs/KernelQuality.md says. So many polls take a few milliseconds.
inline constexpr unsigned gpuAbortPeriod = 1 << 13;

/// Words of 64 bits that a thread polls.
struct Poll {
  /// Builds what loads them.
  llvm::function_ref<llvm::SmallVector<mlir::Value>()> read;
  mlir::Value abort; ///< address of the abort word
  bool isHost;
  unsigned words = 1; ///< that `read` loads
  /// Every so many polls, a power of two, the abort word is looked at.
  unsigned abortPeriod = isHost ? 64 : gpuAbortPeriod;
};

/// What the last poll has found.
struct Polled {
  llvm::SmallVector<mlir::Value> words;
  /// What `isEarly` says of them: true if the launch was aborted.
  mlir::Value early;
};

/// Builds a loop that polls until `isEarly` does not hold for the words, or the
/// launch is aborted.
Polled buildPoll(CodeBuilder &code, const Poll &poll,
                 llvm::function_ref<mlir::Value(mlir::ValueRange)> isEarly);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_FLAGCODE_H
