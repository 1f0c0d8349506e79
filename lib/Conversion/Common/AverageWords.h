//===- AverageWords.h - How averages weigh what they add --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_AVERAGEWORDS_H
#define SCCL_LIB_CONVERSION_COMMON_AVERAGEWORDS_H

#include "sccl/Analysis/Program.h"
#include "sccl/Model/Collective.h"

#include "llvm/ADT/DenseMap.h"

namespace sccl::coll {

/// A reduction, or a part of one, whose chunks all have the same word.
struct WeighedTransfer {
  Transfer transfer;
  uint32_t average; ///< an AverageWord; 0 of what does not reduce
};

/// The words of all reductions of a program, see AverageWord.h.
class AverageWords {
public:
  /// Counts what each operand holds, by executing `program`. Emits an error and
  /// fails where walkInExecutionOrder does, and unless it is `unweighted`, so
  /// that no average is formed, for terms that an average weighs differently.
  static mlir::FailureOr<AverageWords>
  of(ProgramOp program, const Collective &collective, bool unweighted);

  /// `transfer`, which `op` performs, in as many parts as its chunks have
  /// different words.
  std::vector<WeighedTransfer> split(mlir::Operation *op,
                                     const Transfer &transfer) const;

private:
  // By reduction, only looked up: the word of all its chunks, or of each.
  llvm::DenseMap<mlir::Operation *, uint32_t> words;
  llvm::DenseMap<mlir::Operation *, std::vector<uint32_t>> mixedWords;
};

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_AVERAGEWORDS_H
