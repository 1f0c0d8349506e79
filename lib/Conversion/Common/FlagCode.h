//===- FlagCode.h - Code of flags and epochs --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_FLAGCODE_H
#define SCCL_LIB_CONVERSION_COMMON_FLAGCODE_H

#include "mlir/IR/Value.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <functional>

namespace sccl::coll {

class CodeBuilder;
enum class HelperTarget;
enum class Order;

/// Builds @coll_begin, @coll_end, @coll_signal and @coll_wait.
void buildFlagHelpers(CodeBuilder &code, HelperTarget target);

/// A word of 64 bits that a thread polls.
struct Poll {
  mlir::Value address; ///< null if `read` is there
  Order order;
  mlir::Value abort; ///< address of the abort word
  bool isHost;
  /// Every so many polls, a power of two, the abort word is looked at.
  unsigned abortPeriod = 64;
  /// Builds what returns the word, in place of a load.
  std::function<mlir::Value()> read = {};
};

/// What the last poll has found.
struct Polled {
  mlir::Value word;
  /// What `isEarly` says of it: true if the launch was aborted.
  mlir::Value early;
};

/// Builds a loop that polls until `isEarly` does not hold for the word, or the
/// launch is aborted.
Polled buildPoll(CodeBuilder &code, const Poll &poll,
                 llvm::function_ref<mlir::Value(mlir::Value)> isEarly);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_FLAGCODE_H
