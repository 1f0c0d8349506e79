//===- Exchanges.h - Sums by all-to-all exchanges ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The all_reduces of fewest steps, which engines find on many ranks only after
// seconds. None costs anything to have.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SEARCH_EXCHANGES_H
#define SCCL_LIB_SEARCH_EXCHANGES_H

#include "StepSearch.h"

namespace sccl {

/// All ranks send their inputs to all others, where links join them all.
std::optional<FrontierPoint> exchangeOnce(const FrontierProblem &problem);

/// Among all ranks.
bool isPlainAllReduce(const FrontierProblem &problem);

/// `schedule`, with the rounds that it needs, as a point; nothing if it is not
/// an all_reduce of `chunks` chunks.
std::optional<FrontierPoint> pointOfSums(const FrontierProblem &problem,
                                         unsigned chunks, Schedule schedule);

} // namespace sccl

#endif // SCCL_LIB_SEARCH_EXCHANGES_H
