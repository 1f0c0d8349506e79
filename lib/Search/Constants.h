//===- Constants.h - What steers searches for frontiers ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SEARCH_CONSTANTS_H
#define SCCL_LIB_SEARCH_CONSTANTS_H

#include "sccl/Optimize/Constant.h"

namespace sccl::tuned {

SCCL_CONSTANT(uint64_t, sumBoundWork, 150'000,
              "work of a bound under an order of additions");
SCCL_CONSTANT(uint64_t, firstCandidateWork, 150'000,
              "work of a candidate's first search");
SCCL_CONSTANT(unsigned, fewRanks, 8,
              "ranks up to which engines meet bounds with few chunks");
SCCL_CONSTANT(unsigned, mostSearchedRanks, 16,
              "ranks up to which engines of one C and R are asked for sums");
SCCL_CONSTANT(unsigned, mostFactorRanks, 32,
              "ranks of a factor that is searched");
SCCL_CONSTANT(double, closeCost, 1.25,
              "cost over the bound at which a hasty all_reduce ends");
SCCL_CONSTANT(double, fairCost, 2,
              "cost over the bound that leaves the rest to trees");
SCCL_CONSTANT(unsigned, usualPerRound, 16,
              "chunks of a round beyond which trees are asked first");

} // namespace sccl::tuned

#endif // SCCL_LIB_SEARCH_CONSTANTS_H
