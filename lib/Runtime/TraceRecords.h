//===- TraceRecords.h - What channels have told -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_TRACERECORDS_H
#define SCCL_LIB_RUNTIME_TRACERECORDS_H

#include "sccl/ABI/TraceTable.h"
#include "sccl/sccl-trace.h"

#include <functional>
#include <vector>

namespace sccl {

/// What `mark` says of launch number `launch` with segments of so many bytes,
/// without its time.
scclTraceEvent eventOf(const TraceMark &mark, uint64_t launch,
                       uint64_t segment);

/// Copies bytes of a device from an address; false if that fails.
using ReadMemory =
    std::function<bool(void *to, uint64_t address, uint64_t bytes)>;

/// Adds what the channels of `table` have written down, whose lines are as they
/// have left them, with times in ticks of the device. Leaves out launches that
/// have not ended. `lost` is how many launches there was no room for, at least.
/// False if memory cannot be read.
bool readRecords(const TraceTable &table, const ReadMemory &read,
                 std::vector<scclTraceEvent> &events, uint64_t &lost);

/// Turns ticks into nanoseconds on the clock of the host, on which all of
/// `events` lie between `from` and `to`: in the middle of where they can.
void putOnHostClock(std::vector<scclTraceEvent> &events,
                    double nanosecondsPerTick, uint64_t from, uint64_t to);

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_TRACERECORDS_H
