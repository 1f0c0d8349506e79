//===- PlanTrace.h - What kernels of a plan tell ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tables of traced kernels are in memory of the device, where kernels look
// at every launch whether somebody records: so nothing about a launch is
// different, be it of a graph or not, and the host reads when it likes.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_PLANTRACE_H
#define SCCL_LIB_RUNTIME_PLANTRACE_H

#include "Runtime/Devices/Device.h"

#include "sccl/ABI/TraceTable.h"
#include "sccl/sccl-trace.h"

#include <memory>
#include <vector>

namespace sccl {

class PlanTrace {
public:
  /// Takes a table of this rank, which kernels find at `place`, if it is one of
  /// traced kernels.
  void add(llvm::StringRef bytes, const void *place);
  /// True if kernels find the table of traced ones there.
  bool has(const void *place) const;
  /// Begins anew, or ends. No launch may be under way.
  Status record(Device &device, bool on);
  /// Adds what launches have told that have ended, in ticks of the device.
  /// `lost` is how many of a program there was no memory for, if any.
  Status read(Device &device, std::vector<scclTraceEvent> &events,
              uint64_t &lost) const;

private:
  /// Of the programs that have the same table.
  struct Part {
    TraceTable table;
    char *place; ///< on the device
    std::unique_ptr<DeviceBuffer> records;
  };
  Status start(Device &device, Part &part);

  std::vector<Part> parts;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_PLANTRACE_H
