//===- Regions.h - Memory that peers can access -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_REGIONS_H
#define SCCL_LIB_RUNTIME_REGIONS_H

#include "Bootstrap.h"
#include "Runtime/Devices/Device.h"

#include <memory>
#include <vector>

namespace sccl {

/// Where a buffer is: the number of a region, which is the same on all ranks,
/// and the offset in it; or `none` and an address of the process.
struct BufferPlace {
  uint64_t region, offset;
  static constexpr uint64_t none = UINT64_MAX;
  bool isRegistered() const { return region != none; }
  bool operator==(const BufferPlace &) const = default;
};

/// The memory of scclMemAlloc, as all ranks have it.
class Regions {
public:
  Regions(unsigned rank, unsigned numRanks) : rank(rank), numRanks(numRanks) {}

  /// Collective; see scclMemAlloc.
  Status allocate(const Bootstrap &bootstrap, Device &device, uint64_t bytes,
                  void **memory);
  /// Collective; see scclMemFree. `freed` is the number of the region.
  Status free(void *memory, uint64_t &freed);
  void clear() { regions.clear(); }
  /// Keeps peers from a buffer of this rank, if it is in some region.
  void detach(const void *buffer, uint64_t bytes);

  /// What was allocated and freed, in which order; the same on all ranks if
  /// they have called alike.
  uint64_t past() const { return thePast; }

  BufferPlace find(const void *buffer) const;
  /// The address that this rank has for `bytes` bytes of rank `other` at a
  /// place in some region; null if they are not in it.
  char *address(const BufferPlace &place, unsigned other, uint64_t bytes) const;

private:
  Status agreeOnBytes(const Bootstrap &bootstrap, const Device &device,
                      uint64_t bytes) const;
  /// By rank; empty if the number is free.
  using Parts = std::vector<std::unique_ptr<DeviceBuffer>>;
  Parts &freeSlot();
  void note(uint64_t region, bool isFree);

  unsigned rank, numRanks;
  std::vector<Parts> regions;
  uint64_t thePast = 0; ///< a hash
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_REGIONS_H
