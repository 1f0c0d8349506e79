//===- TraceSums.h - The partial sums of a trace ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_TRACESUMS_H
#define SCCL_LIB_EXCHANGE_TRACESUMS_H

#include "TraceSchedule.h"

namespace sccl::exchange {

/// The same as `scheduleOfValues` for a trace that reduces, whatever partial
/// sums its ranks work on: each message is a sum of its source's input and of
/// what has arrived there. A sum that its receiver has is not sent. Fails if no
/// schedule can say it.
Result<Schedule> scheduleOfSums(const Trace &trace,
                                const std::vector<uint32_t> &order,
                                const TraceTask &task);

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_TRACESUMS_H
