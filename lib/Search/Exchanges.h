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

/// Where each rank is in two sets that links join completely, as its box and
/// its rail, and these make a grid: all sum up one, and then the sums of the
/// other. Half of the chunks take the sets in the other order.
std::optional<FrontierPoint> exchangeTwice(const FrontierProblem &problem);

} // namespace sccl

#endif // SCCL_LIB_SEARCH_EXCHANGES_H
