//===- NearRanks.h - Ranks that write to each other's memory ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where messages go in the order of streams, GPUs of one host may write to each
// other's memory in place of sending: if that works among all ranks of each
// host. SCCL_WITHIN_HOST is writes or messages if there is to be no other way.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_NEARRANKS_H
#define SCCL_LIB_RUNTIME_MESSAGES_NEARRANKS_H

#include "CallHistory.h"
#include "Runtime/Bootstrap.h"
#include "Runtime/Devices/Device.h"

#include "llvm/ADT/ArrayRef.h"

#include <memory>
#include <optional>
#include <vector>

namespace sccl {

// GPUs of a host write to each other's memory, at places that each rank finds
// for itself. So each rank posts what it launches, and where its output is, and
// reads what others have posted, before it enqueues anything: of two ranks that
// differ one is the later, and it sees that. A rank writes to another only when
// that one's kernel says that it is ready, so nothing has been written then.
// Kernels that an abort ends write all the same: after an error, buffers are
// undefined.

/// Where ranks of the host write to the output of a rank.
struct OutputPlace {
  uint64_t region = 0; ///< see NearRanks::Region; 0: they do not
  uint64_t offset = 0; ///< bytes
  bool operator==(const OutputPlace &) const = default;
  /// "at byte 64 of memory 2 of scclMemAlloc", or where else.
  std::string describe() const;
};

/// The boards of a host's ranks, as one of them sees them.
class CallBoard {
public:
  struct Post {
    CallMark call;
    OutputPlace output;
  };

  /// Collective, on all hosts. `here` are the ranks of this host, with this
  /// one, which is number `own`. Fails on all ranks if it fails on one.
  Status open(const Bootstrap &bootstrap, llvm::ArrayRef<unsigned> here,
              unsigned own);
  /// What this rank launches, for others to read.
  void post(const Post &what);
  /// What rank number `number` of the host has posted of its call `call`; none
  /// if it has not made that yet, or has made many since.
  std::optional<Post> read(unsigned number, uint64_t call) const;
  /// Rank number `number` has come to call `call`.
  bool hasPosted(unsigned number, uint64_t call) const;

private:
  struct Entry;
  Entry &entry(unsigned number, uint64_t call) const;

  unsigned own = 0;
  std::vector<SharedMemory> boards; ///< by number
};

class HostStaging;

/// The ranks of this rank's host, and a word that ends their kernels.
class NearRanks {
public:
  /// What SCCL_WITHIN_HOST asks for.
  enum class Wish : uint32_t { None, Writes, Messages, Unknown };
  static Wish wish();

  /// Collective. `original` is that of MessageGroup, `host` that of the
  /// transport, and `staging` the GPU of this rank; null on all ranks if
  /// messages do not go in the order of streams. If not all ranks can write to
  /// those of their host, or nobody has one, `result` is null; that they cannot
  /// is an error if some rank has asked for it by name.
  static Status open(const Bootstrap &bootstrap, unsigned rank,
                     unsigned original, int host, HostStaging *staging,
                     std::unique_ptr<NearRanks> &result);

  /// Those of the host, ascending, with this one, which is number `own`.
  llvm::ArrayRef<unsigned> ranks() const { return theRanks; }
  unsigned own() const;
  /// Some rank has asked for writes by name.
  bool isRequired() const { return required; }

  /// Collective, on all hosts. Offers `memory` of this rank, which is there
  /// unless `before` is an error, and maps that of the others, by number on the
  /// host; of this rank there is none. Fails on all ranks if it fails on one.
  using Mapped = std::vector<std::unique_ptr<DeviceBuffer>>;
  Status share(const Bootstrap &bootstrap, Device &device, const Status &before,
               DeviceBuffer *memory, Mapped &others) const;

  /// Memory of this rank at whose place ranks of the host have as much.
  struct Region {
    uint64_t number; ///< no other has had it
    char *begin;
    uint64_t bytes;
    Mapped others; ///< as `share` gives it
  };
  /// Collective, on all hosts. Lets ranks of the host write to `memory`, which
  /// lasts until `remove`; none if not all can.
  void add(const Bootstrap &bootstrap, Device &device, DeviceBuffer &memory);
  /// Collective. Returns when no rank has the memory mapped any more. `number`
  /// is that of its region, or 0.
  Status remove(const Bootstrap &bootstrap, const void *memory,
                uint64_t &number);
  /// That of these bytes; null if there is none.
  const Region *find(const void *begin, uint64_t bytes) const;

  /// What its ranks launch.
  CallBoard &board() { return theBoard; }
  const CallBoard &board() const { return theBoard; }

  /// Not 0 if kernels are to end; as they see it.
  uint64_t *abortWord() const { return wordOfKernels; }
  /// Ends kernels of this rank that wait. Thread-safe.
  void abort();

private:
  NearRanks(unsigned rank, std::vector<unsigned> ranks, bool required)
      : rank(rank), theRanks(std::move(ranks)), required(required) {}
  Status tryOut(const Bootstrap &bootstrap, HostStaging &staging);

  const unsigned rank;
  const std::vector<unsigned> theRanks;
  const bool required;
  std::vector<std::unique_ptr<Region>> regions;
  uint64_t numRegions = 0; ///< that there have been
  CallBoard theBoard;
  uint64_t *word = nullptr, *wordOfKernels = nullptr;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_NEARRANKS_H
