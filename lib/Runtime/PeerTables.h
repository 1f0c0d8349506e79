//===- PeerTables.h - The addresses that functions get ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_PEERTABLES_H
#define SCCL_LIB_RUNTIME_PEERTABLES_H

#include "Group.h"
#include "KeptTables.h"
#include "Programs.h"

#include <memory>
#include <vector>

namespace sccl {

/// What the table of a stream-ordered direct launch depends on.
struct DirectKey {
  unsigned program = 0;
  bool isInPlace = false;
  BufferPlace send{BufferPlace::none, 0}, recv{BufferPlace::none, 0};
  uint64_t segment = 0;    ///< 0 if it makes no difference
  uint64_t pieceBytes = 0; ///< likewise
  uint64_t pieces = 1;     ///< a table for each
  bool operator==(const DirectKey &) const = default;
};

/// The tables of peers that functions get: one per program for own buffers, one
/// per program for separators, and one that every direct launch fills in.
/// Stream-ordered launches have tables that never change once they are there.
class PeerTables {
public:
  /// Fills in the tables for own buffers, and brings them to the device.
  /// `atSwitch` is what `memory` begins with at the switch of the group, or
  /// null.
  Status create(Group &group, unsigned numPrograms,
                const std::vector<MemoryLayout> &layouts,
                const std::vector<std::unique_ptr<DeviceBuffer>> &memory,
                char *atSwitch);

  /// Entries of a table: one for each rank, and one for a switch.
  size_t size() const { return numEntries; }
  /// The table for own buffers of program number `slot`.
  PeerEntry *of(unsigned slot) { return entries.data() + slot * numEntries; }
  const PeerEntry *of(unsigned slot) const {
    return entries.data() + slot * numEntries;
  }
  unsigned separator(unsigned slot) const { return numPrograms + 1 + slot; }
  /// The number of the table of direct launches.
  unsigned direct() const { return numPrograms; }
  /// The same as functions see it.
  PeerEntry *onDevice(unsigned slot) const;
  /// Brings the table of direct launches to the device, if it has changed.
  Status upload(Device &device, void *stream);
  /// Moves the caller's buffers in the table of direct launches on.
  void advance(uint64_t bytes);

  /// Forgets all tables of a region.
  void forget(uint64_t region) {
    kept.forget([&](const DirectKey &key) {
      return key.send.region == region || key.recv.region == region;
    });
  }

  /// Of direct launches in streams; each has `pieces` tables.
  KeptTables<DirectKey> kept;

private:
  size_t numRanks = 0, numEntries = 0;
  unsigned numPrograms = 0;
  std::vector<PeerEntry> entries;
  /// A copy in memory of the device, if that has its own, and what was last
  /// written to the table of direct launches there.
  std::unique_ptr<DeviceBuffer> deviceTables;
  std::vector<PeerEntry> uploaded;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_PEERTABLES_H
