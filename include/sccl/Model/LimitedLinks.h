//===- LimitedLinks.h - Links that limits bound -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_LIMITEDLINKS_H
#define SCCL_MODEL_LIMITEDLINKS_H

#include "sccl/Model/Topology.h"

namespace sccl {

/// By link, whether some limit contains it. The others carry any number of
/// chunks in a round.
std::vector<bool> limitedLinks(const Topology &topology);

} // namespace sccl

#endif // SCCL_MODEL_LIMITEDLINKS_H
