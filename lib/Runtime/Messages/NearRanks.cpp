//===- NearRanks.cpp - Ranks that write to each other's memory ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NearRanks.h"

#include "HostStaging.h"
#include "Wishes.h"

#include "llvm/ADT/STLExtras.h"

#include <atomic>
#include <cstring>

using namespace sccl;

/// A rank that is further ahead has filled the queue of its GPU.
static constexpr uint64_t numKept = 512;

/// Written by one rank. `number` is 0 while the rest changes.
struct alignas(64) CallBoard::Entry {
  std::atomic<uint64_t> number, history, signature, count, region, offset;
};

namespace {
struct BoardHello {
  SharedMemoryHandle memory;
  Outcome outcome;
};
} // namespace

std::string OutputPlace::describe() const {
  if (region == 0)
    return "in place or in other memory";
  return "at byte " + std::to_string(offset) + " of memory " +
         std::to_string(region) + " of scclMemAlloc";
}

Status CallBoard::open(const Bootstrap &bootstrap,
                       llvm::ArrayRef<unsigned> here, unsigned number) {
  own = number;
  BoardHello hello = {};
  Status status = attempt([&] {
    boards.resize(here.size());
    return boards[own].create(numKept * sizeof(Entry));
  });
  hello.outcome = Outcome(status);
  if (status.ok())
    hello.memory = boards[own].handle();
  Gathered<BoardHello> hellos(bootstrap.size());
  if (Status gathered = bootstrap.gather(hello, hellos); !gathered.ok())
    return gathered;
  if (Status agreed = bootstrap.agree(status, hellos); !agreed.ok())
    return agreed;
  status = bootstrap.agree(attempt([&] {
    Status opened;
    for (unsigned i = 0; i < here.size() && opened.ok(); ++i)
      if (i != own)
        opened = boards[i].open(hellos[here[i]].memory);
    return opened;
  }));
  boards[own].seal();
  return status;
}

CallBoard::Entry &CallBoard::entry(unsigned number, uint64_t call) const {
  return reinterpret_cast<Entry *>(boards[number].data())[call % numKept];
}

void CallBoard::post(const Post &what) {
  constexpr auto relaxed = std::memory_order_relaxed;
  Entry &to = entry(own, what.call.number);
  to.number.store(0, relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  to.history.store(what.call.history, relaxed);
  to.signature.store(what.call.signature, relaxed);
  to.count.store(what.call.count, relaxed);
  to.region.store(what.output.region, relaxed);
  to.offset.store(what.output.offset, relaxed);
  to.number.store(what.call.number, std::memory_order_release);
  // Of two ranks that post and then read, one reads what the other has posted.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

std::optional<CallBoard::Post> CallBoard::read(unsigned number,
                                               uint64_t call) const {
  constexpr auto relaxed = std::memory_order_relaxed;
  const Entry &from = entry(number, call);
  if (from.number.load(std::memory_order_acquire) != call)
    return std::nullopt;
  Post post = {{call, from.history.load(relaxed), from.signature.load(relaxed),
                from.count.load(relaxed)},
               {from.region.load(relaxed), from.offset.load(relaxed)}};
  std::atomic_thread_fence(std::memory_order_acquire);
  if (from.number.load(relaxed) != call)
    return std::nullopt;
  return post;
}

bool CallBoard::hasPosted(unsigned number, uint64_t call) const {
  return entry(number, call).number.load() >= call;
}

namespace {
/// What ranks tell each other to find out who is near.
struct Neighbourhood {
  NearRanks::Wish wish;
  int32_t host; ///< of the transport; below 0 if nobody is near
  uint64_t machine;
  char device[32]; ///< tells those of a machine apart
  Outcome outcome;

  bool isNear(const Neighbourhood &other) const {
    return host >= 0 && host == other.host && machine == other.machine;
  }
};
/// Memory of a rank, for those that are near.
struct Share {
  DeviceHandle handle;
  Outcome outcome;
};
} // namespace

static const char *const nearWishes[] = {"", "writes", "messages"};
static constexpr WishNames withinHost{"SCCL_WITHIN_HOST", nearWishes};

NearRanks::Wish NearRanks::wish() { return withinHost.read<Wish>(); }

static Status refuse(const std::string &why) {
  return {scclErrorUnsupported,
          "SCCL_WITHIN_HOST is writes, and cannot be used: " + why};
}

Status NearRanks::open(const Bootstrap &bootstrap, unsigned rank,
                       unsigned original, int host, HostStaging *staging,
                       std::unique_ptr<NearRanks> &result) {
  Neighbourhood own = {wish(), host, 0, {}, {}};
  if (staging)
    std::strncpy(own.device, staging->device().id().c_str(),
                 sizeof(own.device) - 1);
  own.outcome =
      Outcome(attempt([&] { return machineId(own.machine, original); }));
  Gathered<Neighbourhood> all(bootstrap.size());
  if (Status gathered = bootstrap.gather(own, all); !gathered.ok())
    return gathered;
  Wish wish = Wish::None;
  auto unknown = [](unsigned) -> std::string {
    return "SCCL_WITHIN_HOST is neither writes nor messages";
  };
  if (Status agreed = withinHost.agree(all, unknown, wish); !agreed.ok())
    return agreed;
  bool required = wish == Wish::Writes;
  if (!staging)
    return required ? refuse("messages pass through memory of the hosts: see "
                             "SCCL_TRANSPORT")
                    : Status();
  if (Status status = bootstrap.agree(Status(), all);
      wish == Wish::Messages || !status.ok())
    return required ? status : Status();
  auto isNear = [&](unsigned other) { return all[other].isNear(all[rank]); };
  std::vector<unsigned> ranks;
  bool hasSome = false;
  for (unsigned other = 0; other < all.size(); ++other) {
    if (other == rank || isNear(other))
      ranks.push_back(other);
    for (unsigned before = 0; before < other; ++before)
      hasSome |= all[before].isNear(all[other]);
  }
  if (!hasSome)
    return {};
  // Kernels that wait for each other would have to be on it at once.
  for (unsigned other = 0; other < all.size(); ++other)
    for (unsigned before = 0; before < other; ++before)
      if (all[before].isNear(all[other]) &&
          !std::strcmp(all[before].device, all[other].device))
        return required
                   ? refuse("rank " + std::to_string(before) + " and rank " +
                            std::to_string(other) + " share a GPU")
                   : Status();
  std::unique_ptr<NearRanks> made(
      new NearRanks(rank, std::move(ranks), required));
  Status status = made->tryOut(bootstrap, *staging);
  if (status.ok())
    result = std::move(made);
  return required && !status.ok() ? refuse(status.message()) : Status();
}

unsigned NearRanks::own() const {
  return llvm::find(theRanks, rank) - theRanks.begin();
}

/// Has all ranks map some memory of each other.
Status NearRanks::tryOut(const Bootstrap &bootstrap, HostStaging &staging) {
  std::unique_ptr<DeviceBuffer> memory;
  Status status = attempt([&] {
    Status mapped = staging.mapWord(word, wordOfKernels);
    return mapped.ok() ? staging.device().allocate(sizeof(uint64_t), memory)
                       : mapped;
  });
  Mapped others;
  if (Status shared =
          share(bootstrap, staging.device(), status, memory.get(), others);
      !shared.ok())
    return shared;
  // Nobody has it mapped when its owner frees it.
  others.clear();
  return theBoard.open(bootstrap, theRanks, own());
}

Status NearRanks::share(const Bootstrap &bootstrap, Device &device,
                        const Status &before, DeviceBuffer *memory,
                        Mapped &others) const {
  Share own = {};
  own.outcome = Outcome(before);
  if (before.ok())
    own.handle = memory->handle();
  Gathered<Share> all(bootstrap.size());
  if (Status gathered = bootstrap.gather(own, all); !gathered.ok())
    return gathered;
  if (Status status = bootstrap.agree(before, all); !status.ok())
    return status;
  Status status = bootstrap.agree(attempt([&] {
    others.resize(theRanks.size());
    for (unsigned i = 0; i < theRanks.size(); ++i)
      if (theRanks[i] != rank)
        if (Status mapped = device.import(all[theRanks[i]].handle, others[i]);
            !mapped.ok())
          return mapped;
    return Status();
  }));
  memory->seal();
  return status;
}

void NearRanks::add(const Bootstrap &bootstrap, Device &device,
                    DeviceBuffer &memory) {
  auto region = std::make_unique<Region>();
  region->number = ++numRegions;
  region->begin = memory.data();
  region->bytes = memory.size();
  if (share(bootstrap, device, Status(), &memory, region->others).ok())
    regions.push_back(std::move(region));
}

Status NearRanks::remove(const Bootstrap &bootstrap, const void *memory,
                         uint64_t &number) {
  auto isIt = [&](const std::unique_ptr<Region> &region) {
    return region->begin == memory;
  };
  auto found = llvm::find_if(regions, isIt);
  // 0: not mapped, or not from scclMemAlloc.
  number = found == regions.end() ? 0 : (*found)->number;
  Gathered<uint64_t> all(bootstrap.size());
  if (Status status = bootstrap.gather(number, all); !status.ok())
    return status;
  for (unsigned other = 0; other < all.size(); ++other)
    if (all[other] != number)
      return {scclErrorMismatch, "rank " + std::to_string(other) +
                                     " frees other memory than rank " +
                                     std::to_string(rank)};
  if (number == 0)
    return {};
  regions.erase(found);
  return bootstrap.agree(Status());
}

const NearRanks::Region *NearRanks::find(const void *begin,
                                         uint64_t bytes) const {
  auto *from = static_cast<const char *>(begin);
  for (const std::unique_ptr<Region> &region : regions)
    if (from >= region->begin && from < region->begin + region->bytes &&
        bytes <= region->bytes - uint64_t(from - region->begin))
      return region.get();
  return nullptr;
}

void NearRanks::abort() { std::atomic_ref<uint64_t>(*word).store(1); }
