//===- CallHistory.h - The calls of ranks, to be compared -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Messages of two launches look alike, so each message that another rank may
// take for one of its own call carries a mark: the number of the call, and a
// hash of it and of all calls before. Equal marks: the ranks have made the same
// calls.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_CALLHISTORY_H
#define SCCL_LIB_RUNTIME_MESSAGES_CALLHISTORY_H

#include "Runtime/ControlPlane.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sccl {

/// What a rank calls for, and after which calls.
struct CallMark {
  uint64_t number = 0;               ///< of the call, from 1; 0: none
  uint64_t history = 0;              ///< see ControlPlane::extend
  uint64_t signature = 0, count = 0; ///< see ControlPlane::Announcement
  /// A signature that is not known any more.
  static constexpr uint64_t unknown = ~uint64_t(0);
  bool isSameAs(const CallMark &other) const {
    return number == other.number && history == other.history;
  }
};
static_assert(sizeof(CallMark) == 32);

/// The calls of one rank, and what it has heard of those of others.
class CallHistory {
public:
  using Announcement = ControlPlane::Announcement;
  /// Of calls that are no launches.
  static constexpr uint64_t gather = ControlPlane::sign(0xfffffffe, 0, 0);

  /// Room for what `ranks` ranks tell.
  void prepare(unsigned ranks) { early.resize(ranks); }
  /// The next call of this rank.
  void begin(const Announcement &what);
  const CallMark &current() const { return marks[number % marks.size()]; }
  /// The own call with the number of `mark`; null if it has not been made, or
  /// long ago.
  const CallMark *find(const CallMark &mark) const;
  /// `peer` is, or was, in a call. True if this rank has made another one in
  /// its place. What this rank has not come to yet is kept for `differing`.
  bool differs(unsigned peer, const CallMark &mark);
  /// A rank that was in the current call before this one, and in another one;
  /// `numRanks` if there is none.
  unsigned findEarly();
  const CallMark &earlyMark(unsigned peer) const { return early[peer]; }

  /// In words, what `who` has called for, where `mark` is not that of the own
  /// call. `note` says why the call of `who` has failed.
  std::string describe(const CallMark &mark, const std::string &who,
                       const std::string &self, const std::string &note) const;

private:
  uint64_t number = 0;
  /// The last ones. A rank that runs ahead may have made some more.
  std::array<CallMark, 64> marks = {};
  std::vector<CallMark> early; ///< by rank: the last one that came too early
  unsigned numEarly = 0;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_CALLHISTORY_H
