//===- Events.h - What a litmus test executes -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_LITMUS_EVENTS_H
#define SCCL_LIB_LITMUS_EVENTS_H

#include "Relation.h"

namespace sccl::litmus {

/// An access, a fence or a barrier. The initial stores belong to no thread.
struct Event {
  Operation op;
  std::optional<unsigned> thread = std::nullopt;
  /// The load that a store has its value from.
  std::optional<unsigned> source = std::nullopt;

  bool isLoad() const { return op.kind == Kind::Load; }
  bool isStore() const { return op.kind == Kind::Store; }
  bool isFence() const { return op.kind == Kind::Fence; }
  bool isAccess() const { return isLoad() || isStore(); }
  bool isStrong() const { return isFence() || op.order != Order::Weak; }
};

/// That the value of a load compares so.
struct Requirement {
  unsigned load;
  Comparison comparison;
  int64_t value;
};

/// What all executions of a program have in common.
struct Events {
  std::vector<Event> list = {};
  std::vector<Requirement> requirements = {};
  std::vector<std::vector<Requirement>> outcomes = {};

  // Relations between them. Between threads, `barrier` goes both ways.
  Relation programOrder, sameLocation, barrier, dependency, initial;
  /// Of accesses to one location by different proxies.
  Relation aliases;
  Relation morallyStrong;
  /// From the first to the last operation of each pattern.
  Relation releasePattern, acquirePattern;

  static Result<Events> of(const Program &program);

private:
  explicit Events(unsigned count)
      : programOrder(count), sameLocation(count), barrier(count),
        dependency(count), initial(count), aliases(count), morallyStrong(count),
        releasePattern(count), acquirePattern(count) {}
  void addThread(const Program &program, unsigned thread,
                 std::vector<std::vector<unsigned>> &lastLoads);
  void relate(const Program &program);
  void relatePatterns();
  bool areMorallyStrong(const Program &program, const Event &a,
                        const Event &b) const;
};

} // namespace sccl::litmus

#endif // SCCL_LIB_LITMUS_EVENTS_H
