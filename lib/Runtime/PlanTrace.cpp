//===- PlanTrace.cpp - What kernels of a plan tell ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanTrace.h"

#include "TraceRecords.h"

#include <algorithm>

using namespace sccl;

/// Of the records of a table, and launches that they are for at most.
static constexpr uint64_t mostTraceBytes = 32 << 20, mostLaunches = 4096;

void PlanTrace::add(llvm::StringRef bytes, const void *place) {
  TraceTable table;
  if (TraceTable::read(bytes, table) && !table.lines.empty())
    parts.push_back({std::move(table),
                     static_cast<char *>(const_cast<void *>(place)), nullptr});
}

bool PlanTrace::has(const void *place) const {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const Part &part) { return part.place == place; });
}

/// Gets memory, and has kernels write there.
Status PlanTrace::start(Device &device, Part &part) {
  uint64_t each = part.table.launchBytes();
  uint64_t launches =
      std::clamp<uint64_t>(mostTraceBytes / each, uint64_t(1), mostLaunches);
  if (!part.records)
    if (Status status = device.allocate(launches * each, part.records);
        !status.ok())
      return status;
  std::vector<char> zeros(launches * each);
  if (Status status =
          device.copyNow(part.records->data(), zeros.data(), zeros.size());
      !status.ok())
    return status;
  part.table.record(reinterpret_cast<uintptr_t>(part.records->data()),
                    launches);
  return {};
}

Status PlanTrace::record(Device &device, bool on) {
  for (Part &part : parts) {
    part.table.record(/*address=*/0, /*launches=*/0);
    if (on)
      if (Status status = start(device, part); !status.ok())
        return status;
    std::string bytes = part.table.bytes();
    if (Status status = device.copyNow(part.place, bytes.data(), bytes.size());
        !status.ok())
      return status;
  }
  return {};
}

Status PlanTrace::read(Device &device, std::vector<scclTraceEvent> &events,
                       uint64_t &lost) const {
  for (const Part &part : parts) {
    TraceTable table = part.table;
    Status status =
        device.copyNow(table.lines.data(), part.place + traceLineOffset(0),
                       table.lines.size() * sizeof(TraceLine));
    // What kernels do not write is as it was set.
    for (size_t i = 0; i < table.lines.size(); ++i) {
      uint64_t launches = table.lines[i].launches;
      table.lines[i] = part.table.lines[i];
      table.lines[i].launches = launches;
    }
    auto readMemory = [&](void *to, uint64_t address, uint64_t bytes) {
      status = device.copyNow(to, reinterpret_cast<void *>(address), bytes);
      return status.ok();
    };
    if (!status.ok() || !readRecords(table, readMemory, events, lost))
      return status;
  }
  return {};
}
