//===- UsualModel.h - The clock where nothing says another ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_USUALMODEL_H
#define SCCL_MODEL_USUALMODEL_H

#include "sccl/Model/CostModel.h"

namespace sccl {

/// What all tools assume of links of which neither a file nor an option says
/// how fast they are: some of NVLink's.
inline constexpr double usualMicroseconds = 0.7, usualGigabytes = 25;
inline constexpr CostModel usualModel = {usualMicroseconds,
                                         1e-3 / usualGigabytes};

} // namespace sccl

#endif // SCCL_MODEL_USUALMODEL_H
