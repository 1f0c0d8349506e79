//===- Certify.h - Bounds that the checker accepted -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_BOUNDS_CERTIFY_H
#define SCCL_LIB_BOUNDS_CERTIFY_H

#include "PriceModel.h"
#include "Problem.h"

#include "sccl/Bounds/LowerBound.h"

namespace sccl::bounds {

/// Claims all that the proof of `certificate` establishes. Fails if the checker
/// does not accept it.
Result<LowerBound> finish(Certificate certificate, const Topology &topology,
                          const Collective &collective);

/// The best certificate that `duals` can be rounded to, in place of the proof
/// of `claim`.
Result<LowerBound> certify(const Problem &problem, const PriceDuals &duals,
                           Certificate claim, const Topology &topology,
                           const Collective &collective);

} // namespace sccl::bounds

#endif // SCCL_LIB_BOUNDS_CERTIFY_H
