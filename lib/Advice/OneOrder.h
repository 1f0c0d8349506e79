//===- OneOrder.h - Candidates that all ranks sum up alike ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ADVICE_ONEORDER_H
#define SCCL_LIB_ADVICE_ONEORDER_H

#include "sccl/Advice/Advice.h"
#include "sccl/Optimize/Deadline.h"

namespace sccl::advice {

/// True if only the program of `implementation` tells whether ranks sum up in
/// the order that `options` ask for, and round as often.
bool mayBreakContract(const Implementation &implementation,
                      const LoweringOptions &options);

/// True if the ranks sum up as `options` ask for in the program that
/// `implementation` is lowered to with them, or they ask for nothing.
bool isInOneOrder(mlir::MLIRContext &context, const Topology &topology,
                  const Implementation &implementation,
                  const LoweringOptions &options);

/// Leaves out the candidates in whose programs, lowered with `options`, ranks
/// do not sum up as `options` ask for; and, once `deadline` is
/// over, those of which that is not known. Fails if none is left before.
std::optional<Error> keepInOneOrder(mlir::MLIRContext &context,
                                    const Topology &topology,
                                    const LoweringOptions &options,
                                    const Deadline &deadline,
                                    std::vector<Candidate> &candidates);

} // namespace sccl::advice

#endif // SCCL_LIB_ADVICE_ONEORDER_H
