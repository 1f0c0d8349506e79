//===- Bootstrap.h - Exchanging handles through the caller ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_BOOTSTRAP_H
#define SCCL_LIB_RUNTIME_BOOTSTRAP_H

#include "Status.h"

#include <cstring>
#include <type_traits>

namespace sccl {

/// How the local part of a collective call went, for the other ranks.
struct Outcome {
  int32_t code = scclSuccess;
  char message[156] = {};

  Outcome() = default;
  explicit Outcome(const Status &status) : code(status.code()) {
    std::strncpy(message, status.message().c_str(), sizeof(message) - 1);
  }
};

/// Room for what all ranks say. Whoever has none keeps all others waiting, so
/// it is taken from the system where the heap has no more.
class GatherRoom {
public:
  explicit GatherRoom(size_t bytes);
  GatherRoom(const GatherRoom &) = delete;
  GatherRoom &operator=(const GatherRoom &) = delete;
  ~GatherRoom();
  /// Null if there is none at all.
  void *data() const { return memory; }

private:
  size_t bytes;
  void *memory;
  bool isMapped = false;
};

/// What all ranks have said, by rank.
template <typename T> class Gathered {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  explicit Gathered(unsigned numRanks)
      : room(numRanks * sizeof(T)), numRanks(numRanks) {}
  T *data() const { return static_cast<T *>(room.data()); }
  unsigned size() const { return numRanks; }
  const T &operator[](unsigned rank) const { return data()[rank]; }
  const T *begin() const { return data(); }
  const T *end() const { return data() + numRanks; }

private:
  GatherRoom room;
  unsigned numRanks;
};

/// The all-gather that the caller has supplied. Nothing here throws before it
/// was called.
class Bootstrap {
public:
  Bootstrap() = default;
  Bootstrap(scclAllGatherFn allGather, void *context, unsigned rank,
            unsigned numRanks)
      : allGather(allGather), context(context), rank(rank), numRanks(numRanks) {
  }
  /// With one of our own, which can say how it has failed.
  using ExplainFn = Status (*)(void *context);
  void explainBy(ExplainFn function) { explain = function; }

  /// Gathers `mine` from all ranks.
  template <typename T> Status gather(const T &mine, Gathered<T> &all) const {
    if (!all.data())
      return {scclErrorOutOfMemory, "out of memory"};
    int error = allGather(context, &mine, all.data(), sizeof(T));
    if (error == 0)
      return {};
    if (explain)
      return explain(context);
    if (error == SCCL_ERROR_LATE)
      return {scclErrorTimeout, "not all ranks have made the call in time"};
    return {scclErrorSystem, "the caller's all-gather failed"};
  }
  /// The same of some bytes, as scclAllGatherFn.
  int gatherBytes(const void *mine, void *all, size_t bytes) const {
    return allGather(context, mine, all, bytes);
  }
  unsigned size() const { return numRanks; }

  /// Succeeds if `status` is a success on all ranks. Otherwise returns the own
  /// error, or that of the first rank that has one.
  Status agree(const Status &status) const;
  /// The same for what has been gathered already, each with its `outcome`.
  template <typename T>
  Status agree(const Status &status, const Gathered<T> &all) const {
    for (unsigned other = 0; other < all.size() && status.ok(); ++other)
      if (all[other].outcome.code != scclSuccess)
        return describe(other, all[other].outcome);
    return status;
  }

private:
  static Status describe(unsigned rank, const Outcome &outcome);

  scclAllGatherFn allGather = nullptr;
  void *context = nullptr;
  ExplainFn explain = nullptr;
  unsigned rank = 0, numRanks = 0;
};

/// `config`, whose text lasts.
scclConfig keptConfig(scclConfig config);

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_BOOTSTRAP_H
