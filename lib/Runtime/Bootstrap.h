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
#include <vector>

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

/// The all-gather that the caller has supplied.
class Bootstrap {
public:
  Bootstrap() = default;
  Bootstrap(scclAllGatherFn allGather, void *context, unsigned rank,
            unsigned numRanks)
      : allGather(allGather), context(context), rank(rank), numRanks(numRanks) {
  }

  /// Gathers `mine` from all ranks.
  template <typename T>
  Status gather(const T &mine, std::vector<T> &all) const {
    static_assert(std::is_trivially_copyable_v<T>);
    all.resize(numRanks);
    if (allGather(context, &mine, all.data(), sizeof(T)) != 0)
      return {scclErrorSystem, "the caller's all-gather failed"};
    return {};
  }

  /// Succeeds if `status` is a success on all ranks. Otherwise returns the own
  /// error, or that of the first rank that has one.
  Status agree(const Status &status) const;
  /// The same for what has been gathered already, each with its `outcome`.
  template <typename T>
  Status agree(const Status &status, const std::vector<T> &all) const {
    std::vector<Outcome> outcomes;
    for (const T &other : all)
      outcomes.push_back(other.outcome);
    return compare(status, outcomes);
  }

private:
  static Status compare(const Status &status, const std::vector<Outcome> &all);

  scclAllGatherFn allGather = nullptr;
  void *context = nullptr;
  unsigned rank = 0, numRanks = 0;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_BOOTSTRAP_H
