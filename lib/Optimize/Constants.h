//===- Constants.h - What steers searches for formulas ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_OPTIMIZE_CONSTANTS_H
#define SCCL_LIB_OPTIMIZE_CONSTANTS_H

#include "sccl/Optimize/Constant.h"

namespace sccl::tuned {

SCCL_CONSTANT(size_t, mostPairwise, 5,
              "literals of which at most one holds, pair by pair");

} // namespace sccl::tuned

#endif // SCCL_LIB_OPTIMIZE_CONSTANTS_H
