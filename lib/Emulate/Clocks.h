//===- Clocks.h - What a thread knows of the others -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Causality order as vector clocks. A team is a thread block, or a host thread
// of its own. What a team does is cut into intervals by its barriers: after one
// each thread knows all former intervals of all threads. Within an interval
// threads are known one by one, as far as they have released what they did.
//
// Memory behind a switch has two addresses. What was done through one of them
// happens before an access through the other one only if a fence.proxy.alias
// lies between the two in causality order, in whatever thread: so each clock
// also has what it knew at the last such fence ("proxy-preserved base causality
// order" in the PTX ISA).
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EMULATE_CLOCKS_H
#define SCCL_LIB_EMULATE_CLOCKS_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace sccl::emulate {

/// How an access is ordered, and a fence is both acquire and release.
enum class Order : uint8_t {
  Weak,
  Whole, ///< a weak store that ordered loads see all of or nothing, on AMD
  Relaxed,
  Acquire,
  Release
};
/// The threads among which it is so.
enum class Scope : uint8_t { Block, Device, System };

/// A point in the life of a thread.
struct Moment {
  uint32_t team = 0, thread = 0;
  uint32_t interval = 0; ///< of the team, from 1
  uint32_t position = 0; ///< among the thread's accesses
};

/// A set of moments, with all that come before them in their threads.
class Moments {
public:
  explicit Moments(size_t teams = 0) : complete(teams) {}

  bool has(const Moment &moment) const;
  void join(const Moments &other);
  /// Adds what the thread did up to `moment` in its interval.
  void add(const Moment &moment);
  /// Adds all intervals of a team before `interval`.
  void addBefore(uint32_t team, uint32_t interval);

private:
  /// By team: all intervals before this one are known.
  std::vector<uint32_t> complete;
  /// Of intervals that are not: threads up to a position, one entry each, by
  /// team and thread.
  llvm::SmallVector<Moment, 2> partial;
};

/// What is known to have happened.
class Clock {
public:
  explicit Clock(size_t teams = 0) : all(teams) {}

  bool knows(const Moment &moment) const { return all.has(moment); }
  /// The same of an access through another address of the same memory.
  bool knowsAcross(const Moment &moment) const {
    return fenced && fenced->has(moment);
  }
  void join(const Clock &other);
  void add(const Moment &moment) { all.add(moment); }
  void addBefore(uint32_t team, uint32_t interval) {
    all.addBefore(team, interval);
  }
  /// A fence.proxy.alias comes after all that is known.
  void fenceAliases() { fenced = std::make_shared<const Moments>(all); }

private:
  Moments all;
  /// Of before the last fence; none before the first.
  std::shared_ptr<const Moments> fenced;
};

/// A block of threads, or a host thread.
struct Team {
  uint32_t number = 0;
  uint32_t device = 0;
  uint32_t interval = 1;
  Clock clock; ///< what all of its threads know
};

/// A thread as memory sees it.
struct Actor {
  Team *team = nullptr;
  uint32_t thread = 0; ///< of all
  uint32_t position = 0;
  /// What this thread alone has acquired since the last barrier.
  std::unique_ptr<Clock> own;
  /// Of its last fence: what it covers, as Memory::remember() has it, and among
  /// whom.
  uint32_t fenced = 0;
  Scope fenceScope = Scope::Block;
  /// Writes that relaxed loads have read since: a fence acquires them.
  llvm::SmallVector<uint32_t, 2> pending;
  /// By address: the last write that an ordered load has read, or an ordered
  /// store made.
  llvm::DenseMap<uint64_t, uint32_t> seen;

  Moment now() const {
    return {team->number, thread, team->interval, position};
  }
  const Clock &clock() const { return own ? *own : team->clock; }
  bool knows(const Moment &moment) const {
    return moment.thread == thread || clock().knows(moment);
  }
  bool knowsAcross(const Moment &moment) const {
    return clock().knowsAcross(moment);
  }
  /// Another clock that gets all that is acquired, if there is one.
  Clock *acquired = nullptr;

  void acquire(const Clock &clock);
  void fenceAliases();
  /// What a release of this thread passes on.
  Clock released() const;
};

} // namespace sccl::emulate

#endif // SCCL_LIB_EMULATE_CLOCKS_H
