//===- Regions.cpp - Memory that peers can access -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Regions.h"

#include <algorithm>
#include <bit>

using namespace sccl;

/// Fails on all ranks alike if they have freed different memory, ask for
/// different sizes, or for more than there is. Each looks before any of them
/// has taken its part.
Status Regions::agreeOnBytes(const Bootstrap &bootstrap, const Device &device,
                             uint64_t bytes) const {
  struct Request {
    uint64_t bytes, available, past;
  };
  Request own = {bytes, 0, thePast};
  (void)attempt([&] {
    own.available = device.availableBytes();
    return Status();
  });
  Gathered<Request> requests(numRanks);
  if (Status gathered = bootstrap.gather(own, requests); !gathered.ok())
    return gathered;
  uint64_t available = UINT64_MAX;
  for (unsigned other = 0; other < numRanks; ++other) {
    if (requests[other].past != thePast)
      return {scclErrorMismatch, "rank " + std::to_string(other) +
                                     " has freed other memory than rank " +
                                     std::to_string(rank)};
    if (requests[other].bytes != bytes)
      return {scclErrorMismatch,
              "rank " + std::to_string(other) + " allocates " +
                  std::to_string(requests[other].bytes) + " bytes, rank " +
                  std::to_string(rank) + " " + std::to_string(bytes)};
    available = std::min(available, requests[other].available);
  }
  if (bytes <= available / numRanks)
    return {};
  return {scclErrorOutOfMemory, std::to_string(numRanks) + " ranks allocate " +
                                    std::to_string(bytes) + " bytes each, " +
                                    std::to_string(available) +
                                    " are available for all of them"};
}

/// The first number that nobody uses. Calls come in the same order on all
/// ranks, so it is the same on all of them.
Regions::Parts &Regions::freeSlot() {
  for (Parts &parts : regions)
    if (parts.empty())
      return parts;
  return regions.emplace_back();
}

void Regions::note(uint64_t region, bool isFree) {
  thePast = (std::rotl(thePast, 23) ^ (2 * region + isFree + 1)) *
            0x9e3779b97f4a7c15u;
}

Status Regions::allocate(const Bootstrap &bootstrap, Device &device,
                         uint64_t bytes, void **result) {
  struct Offer {
    DeviceHandle handle;
    Outcome outcome;
  };
  if (Status status = agreeOnBytes(bootstrap, device, bytes); !status.ok())
    return status;
  Parts parts;
  Status status = attempt([&]() -> Status {
    if (!result)
      return invalid("memory is null");
    parts.resize(numRanks);
    freeSlot(); // which cannot fail later
    return device.allocate(std::max<uint64_t>(bytes, 1), parts[rank]);
  });
  Offer offer = {};
  offer.outcome = Outcome(status);
  if (status.ok())
    offer.handle = parts[rank]->handle();
  Gathered<Offer> offers(numRanks);
  if (Status gathered = bootstrap.gather(offer, offers); !gathered.ok())
    return gathered;
  if (status = bootstrap.agree(status, offers); !status.ok())
    return status;
  status = bootstrap.agree(attempt([&] {
    for (unsigned other = 0; other < numRanks && status.ok(); ++other)
      if (other != rank)
        status = device.import(offers[other].handle, parts[other]);
    return status;
  }));
  parts[rank]->seal();
  if (!status.ok())
    return status;
  *result = parts[rank]->data();
  Parts &slot = freeSlot();
  slot = std::move(parts);
  note(&slot - regions.data(), false);
  return {};
}

Status Regions::free(void *memory, uint64_t &freed) {
  for (size_t i = 0; i < regions.size(); ++i)
    if (!regions[i].empty() && regions[i][rank]->data() == memory) {
      regions[i].clear();
      note(i, true);
      freed = i;
      return {};
    }
  return invalid("this address was not returned by scclMemAlloc, or is free");
}

void Regions::detach(const void *buffer, uint64_t bytes) {
  BufferPlace place = find(buffer);
  if (place.isRegistered())
    regions[place.region][rank]->detach(place.offset, bytes);
}

BufferPlace Regions::find(const void *buffer) const {
  uintptr_t address = uintptr_t(buffer);
  for (size_t i = 0; i < regions.size(); ++i) {
    if (regions[i].empty())
      continue;
    const DeviceBuffer &part = *regions[i][rank];
    uintptr_t begin = uintptr_t(part.data());
    if (address >= begin && address < begin + part.size())
      return {i, address - begin};
  }
  return {BufferPlace::none, address};
}

char *Regions::address(const BufferPlace &place, unsigned other,
                       uint64_t bytes) const {
  if (place.region >= regions.size() || regions[place.region].empty())
    return nullptr;
  const DeviceBuffer &part = *regions[place.region][other];
  if (place.offset > part.size() || bytes > part.size() - place.offset)
    return nullptr;
  return part.data() + place.offset;
}
