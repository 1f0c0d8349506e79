//===- Constants.h - What steers searches for bounds ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_BOUNDS_CONSTANTS_H
#define SCCL_LIB_BOUNDS_CONSTANTS_H

#include "sccl/Optimize/Constant.h"

namespace sccl::tuned {

SCCL_CONSTANT(size_t, mostCellColumns, 1500,
              "columns of a program of cells, in fractions");
SCCL_CONSTANT(uint64_t, mostCellChecks, uint64_t(1) << 30,
              "links and targets that its proof looks at");
SCCL_CONSTANT(uint64_t, mostClassified, uint64_t(1) << 26,
              "links that are put into classes: half a minute");
SCCL_CONSTANT(size_t, mostSearchedSends, 2000, "sends of a bound by search");
SCCL_CONSTANT(int64_t, mostSearchPrice, 64,
              "largest price of a bound by search");
SCCL_CONSTANT(unsigned, mostProgramRanks, 64,
              "ranks of programs of all trees or flows");
SCCL_CONSTANT(uint64_t, searchWork, 20'000'000,
              "work of a bound that engines wait for, and of one by search");
SCCL_CONSTANT(uint64_t, mostParts, uint64_t(1) << 23,
              "pairs of something that moves and a link or rank of a program");
SCCL_CONSTANT(size_t, mostOrbitLinks, 1u << 15,
              "links whose orbits are found for cuts");
SCCL_CONSTANT(size_t, mostThroughputColumns, 10000,
              "columns of a program of any number of steps");
SCCL_CONSTANT(double, sumPriceRate, 0.1,
              "how fast prices of sums rise in the first turn");
SCCL_CONSTANT(double, sumShareRate, 3.0,
              "how fast a target's share of a send does");

} // namespace sccl::tuned

#endif // SCCL_LIB_BOUNDS_CONSTANTS_H
