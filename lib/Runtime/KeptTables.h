//===- KeptTables.h - Tables of peers that do not change --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_KEPTTABLES_H
#define SCCL_LIB_RUNTIME_KEPTTABLES_H

#include "Devices/Device.h"

#include "sccl/ABI/KernelABI.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace sccl {

/// Tables of peers in memory of a device, by what they depend on. What is
/// enqueued reads them, so they stay as they are until they are forgotten.
template <typename Key> class KeptTables {
public:
  /// Null if there is none.
  PeerEntry *find(const Key &key) const {
    for (const Kept &known : all)
      if (known.isUsed && known.key == key)
        return known.place;
    return nullptr;
  }

  /// Keeps `entries`; whether or not a stream is captured.
  Status keep(Device &device, const Key &key,
              const std::vector<PeerEntry> &entries, PeerEntry *&place) {
    if (Status status = reserve(device, entries.size(), place); !status.ok())
      return status;
    all.push_back({key, true, entries.size(), place});
    Status status = device.copyNow(place, entries.data(),
                                   entries.size() * sizeof(PeerEntry));
    if (!status.ok())
      all.back().isUsed = false;
    return status;
  }

  /// Forgets those whose key `matches`: nothing that reads them is enqueued.
  template <typename Matches> void forget(Matches matches) {
    for (Kept &known : all)
      if (matches(known.key))
        known.isUsed = false;
  }

  /// Of memory of the device.
  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const std::unique_ptr<DeviceBuffer> &block : blocks)
      sum += block->size();
    return sum;
  }

private:
  struct Kept {
    Key key;
    bool isUsed;
    size_t entries;
    PeerEntry *place;
  };

  /// Memory for `count` entries: that of tables that were forgotten, or new
  /// one.
  Status reserve(Device &device, size_t count, PeerEntry *&place) {
    constexpr size_t blockEntries = 1 << 14;
    for (Kept &known : all)
      if (!known.isUsed && known.entries == count) {
        place = known.place;
        std::swap(known, all.back());
        all.pop_back();
        return {};
      }
    if (count > left) {
      size_t entriesOfBlock = std::max(count, blockEntries);
      std::unique_ptr<DeviceBuffer> block;
      if (Status status =
              device.allocate(entriesOfBlock * sizeof(PeerEntry), block);
          !status.ok())
        return status;
      blocks.push_back(std::move(block));
      left = entriesOfBlock;
    }
    const DeviceBuffer &block = *blocks.back();
    size_t used = block.size() / sizeof(PeerEntry) - left;
    place = reinterpret_cast<PeerEntry *>(block.data()) + used;
    left -= count;
    return {};
  }

  std::vector<Kept> all;
  std::vector<std::unique_ptr<DeviceBuffer>> blocks;
  size_t left = 0; ///< entries of the last block
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_KEPTTABLES_H
