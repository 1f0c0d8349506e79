//===- Contributors.h - What averages are divided by ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_CONTRIBUTORS_H
#define SCCL_LIB_CONVERSION_COMMON_CONTRIBUTORS_H

#include "sccl/Analysis/Program.h"
#include "sccl/Model/Collective.h"

namespace sccl::coll {

/// The number of ranks that contribute to `chunk`.
unsigned countContributors(const Collective &collective, unsigned chunk);

/// `transfer`; or if it ends sums to which different numbers of ranks
/// contribute, each chunk for itself: one op divides by one number.
std::vector<Transfer> splitByContributors(const Transfer &transfer,
                                          const Collective &collective);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_CONTRIBUTORS_H
