//===- Multicast.cpp - Memory behind a switch -----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An access through the switch is one of each member of the group, all of them
// at one point in the life of the thread.
//
//===----------------------------------------------------------------------===//

#include "Memory.h"

#include <algorithm>

using namespace sccl::emulate;

uint64_t Memory::allocateMulticast(std::vector<Member> members,
                                   std::string name) {
  uint64_t address = allocate(0, std::move(name));
  Region &region = regions.back();
  for (const Member &member : members)
    region.bytes = std::max(region.bytes, member.bytes);
  region.members = std::move(members);
  return address;
}

Summation Memory::summationOf(uint32_t device) const {
  std::seed_seq sequence{uint32_t(seed), uint32_t(seed >> 32), device};
  uint32_t drawn[2];
  sequence.generate(std::begin(drawn), std::end(drawn));
  return {drawn[0], bool(drawn[1] & 1), bool(drawn[1] & 2), bool(drawn[1] & 4)};
}

llvm::SmallVector<uint64_t, 8>
Memory::membersAt(uint64_t address, unsigned bytes, unsigned line) {
  Region *region = find(address, bytes, line);
  if (!region)
    return {};
  std::string fault = "line " + std::to_string(line) + ": ";
  if (region->members.empty()) {
    report(FindingKind::Fault, fault + placeOf(address) +
                                   " is at no switch, and an access is through "
                                   "one");
    return {};
  }
  uint64_t offset = address - region->base;
  llvm::SmallVector<uint64_t, 8> addresses;
  for (const Member &member : region->members) {
    if (offset + bytes > member.bytes) {
      report(FindingKind::Fault, fault + placeOf(address) + " is beyond " +
                                     placeOf(member.address + member.bytes) +
                                     ", where what is bound there ends");
      return {};
    }
    addresses.push_back(member.address + offset);
  }
  return addresses;
}

llvm::SmallVector<uint64_t, 8> Memory::loadEach(Actor &actor, uint64_t address,
                                                unsigned bytes, Order order,
                                                Scope scope, unsigned line) {
  llvm::SmallVector<uint64_t, 8> values;
  ++actor.position;
  for (uint64_t member : membersAt(address, bytes, line))
    values.push_back(load(actor, {actor.now(), actor.team->device, line, member,
                                  uint8_t(bytes), order, scope, true}));
  return values;
}

void Memory::storeEach(Actor &actor, uint64_t address, unsigned bytes,
                       uint64_t value, Order order, Scope scope,
                       unsigned line) {
  ++actor.position;
  for (uint64_t member : membersAt(address, bytes, line))
    store(actor,
          {actor.now(), actor.team->device, line, member, uint8_t(bytes), order,
           scope, true},
          value);
}

/// Nobody comes between the read and the write of an atomic change.
void Memory::changeEach(Actor &actor, uint64_t address, unsigned bytes,
                        llvm::function_ref<uint64_t(uint64_t)> change,
                        Order order, Scope scope, unsigned line) {
  ++actor.position;
  for (uint64_t member : membersAt(address, bytes, line)) {
    Region &region = regionAt(member);
    uint64_t value = 0;
    uint32_t last = 0;
    for (unsigned i = 0; i < bytes; ++i) {
      last = region.shadow[member - region.base + i].last;
      const Write &write = writes[last];
      if (last != 0)
        value |=
            (write.value >> (8 * (member + i - write.access.address)) & 0xff)
            << (8 * i);
    }
    store(actor,
          {actor.now(), actor.team->device, line, member, uint8_t(bytes), order,
           scope, true},
          change(value));
    continueRelease(writes.back(), last);
  }
}

/// Who acquires an atomic change acquires what it has changed, too.
void Memory::continueRelease(Write &write, uint32_t last) {
  const Write &before = writes[last];
  if (before.clock == 0 || !morallyStrong(before.access, write.access))
    return;
  if (write.clock == 0) {
    write.clock = before.clock;
    write.clockScope = before.clockScope;
    return;
  }
  Clock both = clocks[write.clock];
  both.join(clocks[before.clock]);
  write.clock = remember(std::move(both));
  write.clockScope = std::min(write.clockScope, before.clockScope);
}
