//===- PeerTables.cpp - The addresses that functions get ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PeerTables.h"

#include <algorithm>
#include <cstring>

using namespace sccl;

Status PeerTables::create(
    Group &group, unsigned programs, const std::vector<MemoryLayout> &layouts,
    const std::vector<std::unique_ptr<DeviceBuffer>> &memory, char *atSwitch) {
  numRanks = memory.size();
  numEntries = numRanks + (atSwitch ? 1 : 0);
  numPrograms = programs;
  entries.resize((2 * programs + 1) * numEntries);
  for (unsigned slot = 0; slot < programs; ++slot) {
    for (unsigned rank = 0; rank < numRanks; ++rank) {
      const MemoryLayout &layout = layouts[rank];
      char *base = memory[rank]->data();
      const MemoryLayout::Separator &between = layout.separators[slot];
      of(slot)[rank] = {base + layout.input, base + layout.output,
                        base + layout.scratches[slot],
                        base + layout.controls[slot]};
      of(separator(slot))[rank] = {base + between.input, base + between.output,
                                   base + between.scratch,
                                   base + between.control};
    }
    if (!atSwitch)
      continue;
    // Scratch is at the same offsets on all ranks.
    const MemoryLayout &layout = layouts.front();
    of(slot)[numRanks].scratch = atSwitch + layout.scratches[slot];
    of(separator(slot))[numRanks].scratch =
        atSwitch + layout.separators[slot].scratch;
  }
  if (group.device->isSynchronous())
    return {};
  // Functions read their table in every operation: it has to be near.
  uint64_t bytes = entries.size() * sizeof(PeerEntry);
  if (Status status = group.device->allocate(bytes, deviceTables); !status.ok())
    return status;
  uploaded.resize(numEntries);
  return group.copyAndSettle(deviceTables->data(), entries.data(), bytes);
}

PeerEntry *PeerTables::onDevice(unsigned slot) const {
  const PeerEntry *tables =
      deviceTables ? reinterpret_cast<const PeerEntry *>(deviceTables->data())
                   : entries.data();
  return const_cast<PeerEntry *>(tables) + slot * numEntries;
}

Status PeerTables::upload(Device &device, void *stream) {
  const PeerEntry *table = of(direct());
  uint64_t bytes = numEntries * sizeof(PeerEntry);
  if (!deviceTables || std::memcmp(uploaded.data(), table, bytes) == 0)
    return {};
  std::memcpy(uploaded.data(), table, bytes);
  return device.copy(onDevice(direct()), uploaded.data(), bytes, stream);
}

void PeerTables::advance(uint64_t bytes) {
  PeerEntry *table = of(direct());
  for (size_t rank = 0; rank < numRanks; ++rank)
    for (void **address : {&table[rank].input, &table[rank].output})
      if (*address)
        *address = static_cast<char *>(*address) + bytes;
}
