//===- Events.h - What a litmus test executes -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_LITMUS_EVENTS_H
#define SCCL_LIB_LITMUS_EVENTS_H

#include "sccl/Litmus/Program.h"

#include <array>

namespace sccl::litmus {

/// A set of pairs of the first `size` events.
class Relation {
public:
  explicit Relation(unsigned size) : size(size) {}

  bool has(unsigned from, unsigned to) const { return rows[from] >> to & 1; }
  void add(unsigned from, unsigned to) { rows[from] |= uint64_t(1) << to; }
  void remove(unsigned from, unsigned to) {
    rows[from] &= ~(uint64_t(1) << to);
  }
  /// The events that `from` leads to.
  uint64_t operator[](unsigned from) const { return rows[from]; }

  Relation &operator|=(const Relation &other) {
    for (unsigned i = 0; i < size; ++i)
      rows[i] |= other.rows[i];
    return *this;
  }
  Relation &operator&=(const Relation &other) {
    for (unsigned i = 0; i < size; ++i)
      rows[i] &= other.rows[i];
    return *this;
  }
  Relation without(const Relation &other) const {
    Relation result = *this;
    for (unsigned i = 0; i < size; ++i)
      result.rows[i] &= ~other.rows[i];
    return result;
  }
  friend Relation operator|(Relation a, const Relation &b) { return a |= b; }
  friend Relation operator&(Relation a, const Relation &b) { return a &= b; }

  /// A pair of this one, followed by one of `other`.
  Relation then(const Relation &other) const {
    Relation result(size);
    for (unsigned i = 0; i < size; ++i)
      for (uint64_t left = rows[i]; left; left &= left - 1)
        result.rows[i] |= other.rows[__builtin_ctzll(left)];
    return result;
  }
  Relation inverse() const {
    Relation result(size);
    for (unsigned i = 0; i < size; ++i)
      for (uint64_t left = rows[i]; left; left &= left - 1)
        result.add(__builtin_ctzll(left), i);
    return result;
  }
  /// Paths of one pair and more.
  Relation closure() const {
    Relation result = *this;
    for (unsigned k = 0; k < size; ++k)
      for (unsigned i = 0; i < size; ++i)
        if (result.has(i, k))
          result.rows[i] |= result.rows[k];
    return result;
  }
  bool isIrreflexive() const {
    for (unsigned i = 0; i < size; ++i)
      if (has(i, i))
        return false;
    return true;
  }
  bool isAcyclic() const { return closure().isIrreflexive(); }

private:
  std::array<uint64_t, maxEvents> rows = {};
  unsigned size;
};

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
