//===- UsedLinks.h - The links that a schedule uses -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_USEDLINKS_H
#define SCCL_LIB_EXCHANGE_USEDLINKS_H

#include "sccl/Model/Schedule.h"

namespace sccl::exchange {

/// The links that sends go over, of bandwidth 1.
Topology usedLinks(const Schedule &schedule, unsigned ranks);

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_USEDLINKS_H
