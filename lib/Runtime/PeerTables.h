//===- PeerTables.h - The addresses that functions get ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_PEERTABLES_H
#define SCCL_LIB_RUNTIME_PEERTABLES_H

#include "Group.h"
#include "Programs.h"

#include <memory>
#include <vector>

namespace sccl {

/// The tables of peers that functions get: one per program for own buffers, and
/// one that every direct launch fills in.
class PeerTables {
public:
  /// Fills in the tables for own buffers, and brings them to the device.
  Status create(Group &group, unsigned numPrograms,
                const std::vector<MemoryLayout> &layouts,
                const std::vector<std::unique_ptr<DeviceBuffer>> &memory);

  /// The table for own buffers of program number `slot`.
  PeerEntry *of(unsigned slot) { return entries.data() + slot * numRanks; }
  const PeerEntry *of(unsigned slot) const {
    return entries.data() + slot * numRanks;
  }
  /// The number of the table of direct launches.
  unsigned direct() const { return numPrograms; }
  /// The same as functions see it.
  PeerEntry *onDevice(unsigned slot) const;
  /// Brings the table of direct launches to the device, if it has changed.
  Status upload(Device &device, void *stream);
  /// Moves the caller's buffers in the table of direct launches on.
  void advance(uint64_t bytes);

private:
  size_t numRanks = 0;
  unsigned numPrograms = 0;
  std::vector<PeerEntry> entries;
  /// A copy in memory of the device, if that has its own, and what was last
  /// written to the table of direct launches there.
  std::unique_ptr<DeviceBuffer> deviceTables;
  std::vector<PeerEntry> uploaded;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_PEERTABLES_H
