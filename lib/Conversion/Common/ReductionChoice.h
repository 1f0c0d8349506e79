//===- ReductionChoice.h - Code for several reductions ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a program for ten element types and five reductions, only the loop over
// elements differs. Such a program is compiled once: each launch passes the
// number of a reduction, and for each run of chunks a function chooses the
// loop.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_REDUCTIONCHOICE_H
#define SCCL_LIB_CONVERSION_COMMON_REDUCTIONCHOICE_H

#include "Helpers.h"

#include "mlir/IR/Types.h"

#include "llvm/ADT/ArrayRef.h"

namespace sccl::coll {

class CodeBuilder;

/// A function with a loop over elements.
struct ReductionLoop {
  std::string name;
  ElementOp op;
  bool divides; ///< the last reduction of an average

  /// True if an AverageWord follows the other operands.
  bool takesWord() const { return op.averages(); }
};

/// The loops that `options` ask for; `suffix` is that of a TransferShape. A
/// single reduction has the name @coll_reduce_elements, and @coll_average. Of
/// several, those that are the same but for the last reduction have one loop.
std::vector<ReductionLoop> reductionLoops(const HelperOptions &options,
                                          llvm::StringRef suffix);

/// Builds @coll_choose_elements, and for averages @coll_choose_average, which
/// call one of several loops with operands of `types`. They have more operands:
/// for averages an AverageWord, and the number of a reduction. Builds nothing
/// for a single reduction.
void buildReductionChoice(CodeBuilder &code, const HelperOptions &options,
                          llvm::StringRef suffix,
                          llvm::ArrayRef<mlir::Type> types);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_REDUCTIONCHOICE_H
