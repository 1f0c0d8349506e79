//===- Memory.h - Memory of several GPUs, weakly ordered --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each byte remembers what was written to it. A load gets the last write, or an
// older one, by chance: any that is not older than the last one which happened
// before it. So stores are seen late, and in another order than they were made,
// by each thread in its own way, until a release and an acquire of sufficient
// scope, or a barrier, put them before the load. Ordered accesses of one word
// are coherent: who has seen a write sees none before it any more.
//
// Two accesses of a byte, one of them a store, race unless one happens before
// the other, or both are ordered at scopes that include each other's thread and
// access the same bytes ("morally strong" in the PTX ISA). On some AMD GPUs an
// ordered store looks like any other, so only a load is known to be ordered.
//
// A multicast address stands for memory of several GPUs behind a switch. Only
// accesses through the switch may have it, which write to all of them or reduce
// what they read. Such an access and another one of the same memory are
// performed by different proxies: they are never morally strong, and what one
// happens before is told by the clocks of aliases (Clocks.h). The end of a
// kernel counts as no fence of aliases.
//
// What is not modelled: loads that see stores which are executed later. Of the
// outcomes of load buffering, none shows.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EMULATE_MEMORY_H
#define SCCL_LIB_EMULATE_MEMORY_H

#include "Clocks.h"

#include "sccl/Emulate/Findings.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <deque>
#include <random>
#include <set>
#include <string>

namespace sccl::emulate {

/// A constant of the code.
struct Constant {
  std::string name;
  uint64_t address;
  std::string bytes;
};

struct Access {
  Moment moment;
  uint32_t device = 0;
  unsigned line = 0; ///< of the text; 0 for a host
  uint64_t address = 0;
  uint8_t bytes = 0;
  Order order = Order::Weak;
  Scope scope = Scope::System;
  bool isMulticast = false; ///< through a switch; `address` is the memory's
};

/// How a switch reduces. The ISA says how precise a sum is at least, and
/// nothing about its order; nor which of two numbers is the least if one of
/// them is none.
struct Summation {
  uint64_t seed = 0; ///< of the order
  bool isTree = false;
  bool isWide = false;       ///< more precise than it must be
  bool takesNumbers = false; ///< of two of which one is none
};

/// Memory that a multicast address stands for.
struct Member {
  uint64_t address = 0, bytes = 0;
};

class Memory {
public:
  /// `weak` false has every load get the last write. Races are reported anyway.
  Memory(uint64_t seed, bool weak) : weak(weak), seed(seed), random(seed) {
    writes.emplace_back(); // what memory held at first
  }

  /// New memory, zeroed. What is `constant` may not be written by an access.
  uint64_t allocate(uint64_t bytes, std::string name, bool constant = false);
  /// An address at a switch for what begins at each of `members`.
  uint64_t allocateMulticast(std::vector<Member> members, std::string name);
  /// A constant of the code.
  void map(const Constant &constant);
  /// Sets bytes of constant memory.
  void initialize(uint64_t address, const void *data, uint64_t bytes);

  uint64_t load(Actor &actor, uint64_t address, unsigned bytes, Order order,
                Scope scope, unsigned line);
  void store(Actor &actor, uint64_t address, unsigned bytes, uint64_t value,
             Order order, Scope scope, unsigned line);

  // Accesses through a switch. `change` gets what one member of the group has,
  // and returns what it shall have.
  llvm::SmallVector<uint64_t, 8> loadEach(Actor &actor, uint64_t address,
                                          unsigned bytes, Order order,
                                          Scope scope, unsigned line);
  void changeEach(Actor &actor, uint64_t address, unsigned bytes,
                  llvm::function_ref<uint64_t(uint64_t)> change, Order order,
                  Scope scope, unsigned line);
  void storeEach(Actor &actor, uint64_t address, unsigned bytes, uint64_t value,
                 Order order, Scope scope, unsigned line);

  /// How switches reduce for a GPU, drawn once.
  Summation summationOf(uint32_t device) const;

  void fence(Actor &actor, Scope scope);
  /// The half of a fence that makes known what ordered loads have read.
  void acquire(Actor &actor, llvm::ArrayRef<uint32_t> writes, Scope scope);
  /// Keeps a clock for Actor::fenced.
  uint32_t remember(Clock clock);
  /// What nobody may write: `bytes` of constant memory, or null.
  const uint8_t *constant(uint64_t address, unsigned bytes, unsigned line);

  const Findings &findings() const { return theFindings; }
  void report(FindingKind kind, const std::string &message);
  /// How often something was stored; tells whether anything happens.
  uint64_t stores() const { return writes.size(); }

private:
  struct Write {
    Access access;
    uint64_t value = 0;
    uint32_t before[8] = {}; ///< by byte: the write that this one replaced
    /// Who acquires this write knows this; an index into `clocks`, 0 for none.
    uint32_t clock = 0;
    Scope clockScope = Scope::Block;
  };
  /// Loads of a byte; of several threads of a team in an interval, one entry.
  struct Read {
    Access access;
    bool isOfSeveral = false;
  };
  struct Byte {
    uint32_t last = 0;  ///< the newest write
    uint32_t reads = 0; ///< an index into `reads`, 0 for none
  };
  struct Region {
    uint64_t base = 0, bytes = 0;
    std::string name;
    bool isConstant = false;
    std::vector<uint8_t> constants;
    std::vector<Byte> shadow;
    std::vector<Member> members; ///< of a multicast address
  };

  Region *find(uint64_t address, unsigned bytes, unsigned line);
  std::string placeOf(uint64_t address) const;
  std::string describe(const Access &access, bool isStore) const;
  void reportRace(const Access &first, bool isStore, const Access &second,
                  bool secondIsStore);
  /// The memory at an address that is no multicast address; null, with a
  /// finding, if there is none.
  Region *findPlain(uint64_t address, unsigned bytes, unsigned line);
  Region &regionAt(uint64_t address);
  static uint64_t wordOf(const Access &access);
  /// The addresses that a multicast address stands for; none, with a finding,
  /// if it is none or not all members have so much.
  llvm::SmallVector<uint64_t, 8> membersAt(uint64_t address, unsigned bytes,
                                           unsigned line);
  uint64_t load(Actor &actor, const Access &access);
  void store(Actor &actor, const Access &access, uint64_t value);
  void continueRelease(Write &write, uint32_t last);
  static bool includes(Scope scope, const Access &a, const Access &b);
  static bool morallyStrong(const Access &a, const Access &b);
  /// Whether `access`, of `actor`, comes after `before`, of the same memory.
  static bool follows(const Actor &actor, const Access &access,
                      const Access &before);
  /// The newest write of byte `i` of an access, or an older one that it may
  /// get.
  uint32_t choose(const Actor &actor, const Access &access, unsigned i,
                  uint32_t last, uint32_t horizon) const;
  uint32_t horizonOf(Order order);
  void acquire(Actor &actor, const Access &access, uint32_t write);
  void noteRead(const Actor &actor, Byte &byte, const Access &access);
  void checkReads(const Actor &actor, Byte &byte, const Access &access);

  bool weak;
  uint64_t seed;
  std::mt19937_64 random;
  std::vector<Region> regions;   ///< by their number
  std::vector<Region> constants; ///< of the code
  std::vector<Write> writes;
  std::deque<llvm::SmallVector<Read, 1>> reads{1};
  std::vector<Clock> clocks{Clock()};
  std::set<std::pair<unsigned, unsigned>> reported; ///< lines that race
  Findings theFindings;
};

} // namespace sccl::emulate

#endif // SCCL_LIB_EMULATE_MEMORY_H
