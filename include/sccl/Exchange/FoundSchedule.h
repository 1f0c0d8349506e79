//===- FoundSchedule.h - What a file of another tool does -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_EXCHANGE_FOUNDSCHEDULE_H
#define SCCL_EXCHANGE_FOUNDSCHEDULE_H

#include "sccl/Model/Schedule.h"

namespace sccl::exchange {

/// A schedule, and the links that it uses, each of bandwidth 1.
struct FoundSchedule {
  Topology topology;
  Collective collective;
  Schedule schedule;
  std::vector<std::string> notes = {}; ///< what its file leaves open
};

} // namespace sccl::exchange

#endif // SCCL_EXCHANGE_FOUNDSCHEDULE_H
