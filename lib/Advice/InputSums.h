//===- InputSums.h - Candidates that add up inputs only ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ADVICE_INPUTSUMS_H
#define SCCL_LIB_ADVICE_INPUTSUMS_H

#include "Candidates.h"

namespace sccl::advice {

/// Candidates for `family` in which each sum is made of inputs, at one rank or
/// at all that want it, and no partial sum is sent: a reduce_scatter as an
/// all_to_all that adds up, a reduce as a gather or an all_reduce as an
/// all_gather that does, or each as such a reduce_scatter, and then a gather or
/// an all_gather. None for what does not reduce, and once `deadline` is over;
/// for each of the parts half of what is left of its time is taken.
std::vector<Candidate> inputSums(const Fabric &fabric,
                                 const CollectiveFamily &family,
                                 const FrontierOptions &options,
                                 const Deadline &deadline);

} // namespace sccl::advice

#endif // SCCL_LIB_ADVICE_INPUTSUMS_H
