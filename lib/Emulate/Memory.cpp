//===- Memory.cpp - Memory of several GPUs, weakly ordered ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>

using namespace sccl::emulate;

const char *sccl::emulate::toString(FindingKind kind) {
  switch (kind) {
  case FindingKind::Race:
    return "race";
  case FindingKind::Fault:
    return "fault";
  case FindingKind::Divergence:
    return "divergence";
  case FindingKind::NoProgress:
    return "no progress";
  case FindingKind::Unawaited:
    return "unawaited";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// Regions begin at multiples of this, so that none is next to another one.
static constexpr uint64_t regionDistance = uint64_t(1) << 33;

uint64_t Memory::allocate(uint64_t bytes, std::string name, bool constant) {
  uint64_t base = (regions.size() + 1) * regionDistance;
  regions.push_back({base, bytes, std::move(name), constant, {}, {}, {}});
  if (constant)
    regions.back().constants.resize(bytes);
  else
    regions.back().shadow.resize(bytes);
  return base;
}

void Memory::map(const Constant &constant) {
  constants.push_back(
      {constant.address,
       constant.bytes.size(),
       constant.name,
       true,
       std::vector<uint8_t>(constant.bytes.begin(), constant.bytes.end()),
       {},
       {}});
}

const uint8_t *Memory::constant(uint64_t address, unsigned bytes,
                                unsigned line) {
  Region *region = find(address, bytes, line);
  if (region && region->isConstant)
    return region->constants.data() + (address - region->base);
  if (region)
    report(FindingKind::Fault, "line " + std::to_string(line) + ": a load of " +
                                   placeOf(address) +
                                   " through a cache for what is constant");
  return nullptr;
}

void Memory::initialize(uint64_t address, const void *data, uint64_t bytes) {
  if (Region *region = find(address, bytes, 0))
    std::memcpy(region->constants.data() + (address - region->base), data,
                bytes);
}

Memory::Region *Memory::find(uint64_t address, unsigned bytes, unsigned line) {
  auto holds = [&](const Region &region) {
    return address >= region.base && address - region.base < region.bytes &&
           region.bytes - (address - region.base) >= bytes;
  };
  uint64_t number = address / regionDistance;
  if (number > 0 && number <= regions.size() && holds(regions[number - 1]))
    return &regions[number - 1];
  if (number == 0)
    for (Region &region : constants)
      if (holds(region))
        return &region;
  report(FindingKind::Fault, "line " + std::to_string(line) + ": " +
                                 std::to_string(bytes) + " bytes at " +
                                 placeOf(address) + " are nobody's");
  return nullptr;
}

Memory::Region *Memory::findPlain(uint64_t address, unsigned bytes,
                                  unsigned line) {
  Region *region = find(address, bytes, line);
  if (!region || region->members.empty())
    return region;
  report(FindingKind::Fault, "line " + std::to_string(line) + ": " +
                                 placeOf(address) +
                                 " is at a switch, for multimem only");
  return nullptr;
}

Memory::Region &Memory::regionAt(uint64_t address) {
  return regions[address / regionDistance - 1];
}

std::string Memory::placeOf(uint64_t address) const {
  const Region *nearest = nullptr;
  for (const Region &region : regions)
    if (region.base <= address && (!nearest || nearest->base < region.base))
      nearest = &region;
  if (!nearest)
    return std::to_string(address);
  return nearest->name + "+" + std::to_string(address - nearest->base);
}

//===----------------------------------------------------------------------===//
// Findings
//===----------------------------------------------------------------------===//

void Memory::report(FindingKind kind, const std::string &message) {
  constexpr size_t most = 20;
  if (theFindings.size() < most)
    theFindings.push_back({kind, message});
}

std::string Memory::describe(const Access &access, bool isStore) const {
  std::string text = isStore ? "the store" : "the load";
  if (access.line == 0)
    return text + " of the host of GPU " + std::to_string(access.device);
  return text + " in line " + std::to_string(access.line) + " (GPU " +
         std::to_string(access.device) + ", block " +
         std::to_string(access.moment.team) + ", thread " +
         std::to_string(access.moment.thread) + ")";
}

void Memory::reportRace(const Access &first, bool isStore, const Access &second,
                        bool secondIsStore) {
  if (!reported.insert({first.line, second.line}).second)
    return;
  report(FindingKind::Race, describe(first, isStore) + " and " +
                                describe(second, secondIsStore) + " of " +
                                placeOf(second.address) + " are not ordered");
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

bool Memory::includes(Scope scope, const Access &a, const Access &b) {
  switch (scope) {
  case Scope::Block:
    return a.moment.team == b.moment.team;
  case Scope::Device:
    return a.device == b.device;
  case Scope::System:
    return true;
  }
  return false;
}

bool Memory::morallyStrong(const Access &a, const Access &b) {
  return a.order != Order::Weak && b.order != Order::Weak &&
         (a.order != Order::Whole || b.order != Order::Whole) &&
         includes(a.scope, a, b) && includes(b.scope, a, b) &&
         a.isMulticast == b.isMulticast && a.address == b.address &&
         a.bytes == b.bytes;
}

/// Where a thread remembers what ordered accesses of a word have seen: each
/// address of the word by itself.
uint64_t Memory::wordOf(const Access &access) {
  return access.address | uint64_t(access.isMulticast) << 63;
}

/// Writes up to this one are seen for sure. Polls see the newest every other
/// time, so that no thread waits for ever for what has happened.
uint32_t Memory::horizonOf(Order order) {
  uint32_t now = writes.size() - 1;
  if (!weak)
    return now;
  uint64_t chance = random();
  if (order != Order::Weak && (chance & 1))
    return now;
  uint32_t span = uint32_t(1) << (chance >> 1 & 15);
  uint32_t late = (chance >> 8) % span;
  return late < now ? now - late : 0;
}

bool Memory::follows(const Actor &actor, const Access &access,
                     const Access &before) {
  return access.isMulticast == before.isMulticast
             ? actor.knows(before.moment)
             : actor.knowsAcross(before.moment);
}

uint32_t Memory::choose(const Actor &actor, const Access &access, unsigned i,
                        uint32_t last, uint32_t horizon) const {
  while (last > horizon) {
    const Write &write = writes[last];
    if (follows(actor, access, write.access))
      break;
    last = write.before[access.address + i - write.access.address];
  }
  return last;
}

/// Takes over what the release that `access` reads has made known.
void Memory::acquire(Actor &actor, const Access &access, uint32_t index) {
  const Write &write = writes[index];
  if (write.clock == 0)
    return;
  Access release = write.access;
  release.scope = write.clockScope;
  if (morallyStrong(release, access) && morallyStrong(write.access, access))
    actor.acquire(clocks[write.clock]);
}

void Memory::acquire(Actor &actor, llvm::ArrayRef<uint32_t> writes,
                     Scope scope) {
  Access fence{actor.now(), actor.team->device, 0, 0, 0, Order::Acquire, scope};
  for (uint32_t index : writes) {
    fence.isMulticast = this->writes[index].access.isMulticast;
    fence.address = this->writes[index].access.address;
    fence.bytes = this->writes[index].access.bytes;
    acquire(actor, fence, index);
  }
}

uint32_t Memory::remember(Clock clock) {
  clocks.push_back(std::move(clock));
  return clocks.size() - 1;
}

void Memory::fence(Actor &actor, Scope scope) {
  acquire(actor, actor.pending, scope);
  actor.pending.clear();
  actor.fenced = remember(actor.released());
  actor.fenceScope = scope;
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

void Memory::noteRead(const Actor &actor, Byte &byte, const Access &access) {
  if (byte.reads == 0) {
    byte.reads = reads.size();
    reads.emplace_back();
  }
  for (Read &read : reads[byte.reads]) {
    if (read.access.moment.team != access.moment.team ||
        read.access.isMulticast != access.isMulticast ||
        (read.access.order == Order::Weak) != (access.order == Order::Weak))
      continue;
    read.isOfSeveral =
        read.access.moment.interval == access.moment.interval &&
        (read.isOfSeveral || read.access.moment.thread != access.moment.thread);
    read.access = access;
    return;
  }
  reads[byte.reads].push_back({access});
}

uint64_t Memory::load(Actor &actor, uint64_t address, unsigned bytes,
                      Order order, Scope scope, unsigned line) {
  Region *region = findPlain(address, bytes, line);
  if (!region)
    return 0;
  if (region->isConstant) {
    uint64_t value = 0;
    std::memcpy(&value, region->constants.data() + (address - region->base),
                bytes);
    return value;
  }
  ++actor.position;
  return load(actor, {actor.now(), actor.team->device, line, address,
                      uint8_t(bytes), order, scope});
}

uint64_t Memory::load(Actor &actor, const Access &access) {
  Region &region = regionAt(access.address);
  uint64_t at = access.address - region.base, value = 0;
  bool isStrong = access.order != Order::Weak;
  uint32_t horizon = horizonOf(access.order);
  if (isStrong)
    if (auto seen = actor.seen.find(wordOf(access)); seen != actor.seen.end())
      horizon = std::max(horizon, seen->second);
  uint32_t chosen = 0;
  for (unsigned i = 0; i < access.bytes; ++i) {
    Byte &byte = region.shadow[at + i];
    const Write &last = writes[byte.last];
    if (byte.last != 0 && !follows(actor, access, last.access) &&
        !morallyStrong(last.access, access))
      reportRace(last.access, true, access, false);
    chosen = choose(actor, access, i, byte.last, horizon);
    const Write &write = writes[chosen];
    if (chosen != 0)
      value |=
          (write.value >> (8 * (access.address + i - write.access.address)) &
           0xff)
          << (8 * i);
    noteRead(actor, byte, access);
  }
  if (!isStrong || chosen == 0)
    return value;
  actor.seen[wordOf(access)] = chosen;
  if (access.order == Order::Acquire)
    acquire(actor, access, chosen);
  else if (writes[chosen].clock != 0)
    actor.pending.push_back(chosen);
  return value;
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

void Memory::checkReads(const Actor &actor, Byte &byte, const Access &access) {
  if (byte.reads == 0)
    return;
  llvm::erase_if(reads[byte.reads], [&](const Read &read) {
    Access any = read.access;
    if (read.isOfSeveral) {
      any.moment.thread = ~0u;
      any.moment.position = ~0u;
    }
    if (follows(actor, access, any))
      return true;
    if (morallyStrong(read.access, access))
      return false;
    reportRace(read.access, false, access, true);
    return true;
  });
}

void Memory::store(Actor &actor, uint64_t address, unsigned bytes,
                   uint64_t value, Order order, Scope scope, unsigned line) {
  Region *region = findPlain(address, bytes, line);
  if (!region)
    return;
  if (region->isConstant)
    return report(FindingKind::Fault, "line " + std::to_string(line) +
                                          ": a store to " + placeOf(address) +
                                          ", which nobody may write");
  ++actor.position;
  store(actor,
        {actor.now(), actor.team->device, line, address, uint8_t(bytes), order,
         scope},
        value);
}

void Memory::store(Actor &actor, const Access &access, uint64_t value) {
  uint32_t index = writes.size();
  Write write;
  write.access = access;
  write.value = value;
  if (access.order == Order::Release) {
    write.clock = remember(actor.released());
    write.clockScope = access.scope;
  } else if (access.order != Order::Weak) {
    write.clock = actor.fenced;
    write.clockScope = actor.fenceScope;
  }
  Region &region = regionAt(access.address);
  uint64_t at = access.address - region.base;
  for (unsigned i = 0; i < access.bytes; ++i) {
    Byte &byte = region.shadow[at + i];
    const Access &last = writes[byte.last].access;
    if (byte.last != 0 && !follows(actor, access, last) &&
        !morallyStrong(last, access))
      reportRace(last, true, access, true);
    checkReads(actor, byte, access);
    write.before[i] = byte.last;
    byte.last = index;
  }
  if (access.order >= Order::Relaxed)
    actor.seen[wordOf(access)] = index;
  writes.push_back(std::move(write));
}
