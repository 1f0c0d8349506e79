//===- Rounding.h - From a dual solution to a certificate -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_BOUNDS_ROUNDING_H
#define SCCL_LIB_BOUNDS_ROUNDING_H

#include "PriceModel.h"
#include "Problem.h"

#include "sccl/Check/Certificate.h"

#include <optional>

namespace sccl::bounds {

/// The smallest factor that makes every number of `duals` whole up to rounding
/// errors, if there is one of a size that people would call small.
std::optional<int64_t> findCommonDenominator(const PriceDuals &duals);

/// The smallest factor up to `most` that makes whole numbers of `values`.
std::optional<int64_t> findCommonDenominator(const std::vector<double> &values,
                                             int64_t most);

/// `duals` times `factor` in whole numbers, for the topology that `problem` was
/// made from. Where rounding made a tree dearer than the prices allow, its
/// arrival values are lowered.
PriceProof roundToProof(const Problem &problem, const PriceDuals &duals,
                        int64_t factor);

} // namespace sccl::bounds

#endif // SCCL_LIB_BOUNDS_ROUNDING_H
