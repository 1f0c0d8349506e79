//===- CommPlan.cpp - Loading a plan into a group -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommPlan.h"

#include "TraceRecords.h"

#include <algorithm>
#include <cstring>
#include <new>

using namespace sccl;

/// Of the records of a table, and launches that they are for at most.
static constexpr uint64_t mostTraceBytes = 32 << 20, mostLaunches = 4096;

void PlanTrace::add(llvm::StringRef bytes, const void *place) {
  TraceTable table;
  if (TraceTable::read(bytes, table) && !table.lines.empty())
    parts.push_back({std::move(table),
                     static_cast<char *>(const_cast<void *>(place)), nullptr});
}

bool PlanTrace::has(const void *place) const {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const Part &part) { return part.place == place; });
}

/// Gets memory, and has kernels write there.
Status PlanTrace::start(Device &device, Part &part) {
  uint64_t each = part.table.launchBytes();
  uint64_t launches =
      std::clamp<uint64_t>(mostTraceBytes / each, uint64_t(1), mostLaunches);
  if (!part.records)
    if (Status status = device.allocate(launches * each, part.records);
        !status.ok())
      return status;
  std::vector<char> zeros(launches * each);
  if (Status status =
          device.copyNow(part.records->data(), zeros.data(), zeros.size());
      !status.ok())
    return status;
  part.table.record(reinterpret_cast<uintptr_t>(part.records->data()),
                    launches);
  return {};
}

Status PlanTrace::record(Device &device, bool on) {
  for (Part &part : parts) {
    part.table.record(/*address=*/0, /*launches=*/0);
    if (on)
      if (Status status = start(device, part); !status.ok())
        return status;
    std::string bytes = part.table.bytes();
    if (Status status = device.copyNow(part.place, bytes.data(), bytes.size());
        !status.ok())
      return status;
  }
  return {};
}

Status PlanTrace::read(Device &device, std::vector<scclTraceEvent> &events,
                       uint64_t &lost) const {
  for (const Part &part : parts) {
    TraceTable table = part.table;
    Status status =
        device.copyNow(table.lines.data(), part.place + traceLineOffset(0),
                       table.lines.size() * sizeof(TraceLine));
    // What kernels do not write is as it was set.
    for (size_t i = 0; i < table.lines.size(); ++i) {
      uint64_t launches = table.lines[i].launches;
      table.lines[i] = part.table.lines[i];
      table.lines[i].launches = launches;
    }
    auto readMemory = [&](void *to, uint64_t address, uint64_t bytes) {
      status = device.copyNow(to, reinterpret_cast<void *>(address), bytes);
      return status.ok();
    };
    if (!status.ok() || !readRecords(table, readMemory, events, lost))
      return status;
  }
  return {};
}

Status PeerTables::create(
    Group &group, unsigned programs, const std::vector<MemoryLayout> &layouts,
    const std::vector<std::unique_ptr<DeviceBuffer>> &memory, char *atSwitch) {
  numRanks = memory.size();
  numEntries = numRanks + (atSwitch ? 1 : 0);
  numPrograms = programs;
  entries.resize((2 * programs + 1) * numEntries);
  for (unsigned slot = 0; slot < programs; ++slot) {
    for (unsigned rank = 0; rank < numRanks; ++rank) {
      const MemoryLayout &layout = layouts[rank];
      char *base = memory[rank]->data();
      const MemoryLayout::Separator &between = layout.separators[slot];
      of(slot)[rank] = {base + layout.input, base + layout.output,
                        base + layout.scratches[slot],
                        base + layout.controls[slot]};
      of(separator(slot))[rank] = {base + between.input, base + between.output,
                                   base + between.scratch,
                                   base + between.control};
    }
    if (!atSwitch)
      continue;
    // Scratch is at the same offsets on all ranks.
    const MemoryLayout &layout = layouts.front();
    of(slot)[numRanks].scratch = atSwitch + layout.scratches[slot];
    of(separator(slot))[numRanks].scratch =
        atSwitch + layout.separators[slot].scratch;
  }
  if (group.device->isSynchronous())
    return {};
  // Functions read their table in every operation: it has to be near.
  uint64_t bytes = entries.size() * sizeof(PeerEntry);
  if (Status status = group.device->allocate(bytes, deviceTables); !status.ok())
    return status;
  uploaded.resize(numEntries);
  return group.copyAndSettle(deviceTables->data(), entries.data(), bytes);
}

PeerEntry *PeerTables::onDevice(unsigned slot) const {
  const PeerEntry *tables =
      deviceTables ? reinterpret_cast<const PeerEntry *>(deviceTables->data())
                   : entries.data();
  return const_cast<PeerEntry *>(tables) + slot * numEntries;
}

Status PeerTables::upload(Device &device, void *stream) {
  const PeerEntry *table = of(direct());
  uint64_t bytes = numEntries * sizeof(PeerEntry);
  if (!deviceTables || std::memcmp(uploaded.data(), table, bytes) == 0)
    return {};
  std::memcpy(uploaded.data(), table, bytes);
  return device.copy(onDevice(direct()), uploaded.data(), bytes, stream);
}

void PeerTables::advance(uint64_t bytes) {
  PeerEntry *table = of(direct());
  for (size_t rank = 0; rank < numRanks; ++rank)
    for (void **address : {&table[rank].input, &table[rank].output})
      if (*address)
        *address = static_cast<char *>(*address) + bytes;
}

namespace sccl {
/// What ranks tell each other when they load a plan.
struct PlanHello {
  PlanHash plan;
  uint64_t maxPiece;
  int smBudget;
  bool isAtSwitch;
  DeviceHandle memory;
  Outcome outcome;
};
} // namespace sccl

/// Of a segment, unless a table names more.
static uint64_t largestPiece(const Device &device) {
  return device.isSynchronous() ? 1 << 20 : 256 << 20;
}

static constexpr uint64_t smallestPiece = 4096;

CommPlan::CommPlan(Group &group, std::shared_ptr<const LoadedPlan> plan,
                   unsigned number)
    : JoinedPlan(std::move(plan), *group.device, *group.device, group.rank(),
                 group.numRanks(), number),
      group(group), plane(group.plane) {}

/// What a rank says of `plan` if `status` is all that there is to say.
static PlanHello greet(const LoadedPlan *plan, const Status &status) {
  PlanHello hello = {};
  hello.plan = hashOf(plan);
  hello.outcome = Outcome(status);
  return hello;
}

/// Collective: tells the others why the plan is not loaded here.
static Status decline(const Group &group, const LoadedPlan *plan,
                      const Status &why) {
  Gathered<PlanHello> hellos(group.numRanks());
  (void)group.bootstrap.gather(greet(plan, why), hellos);
  return why;
}

Status CommPlan::load(Group &group, std::shared_ptr<const LoadedPlan> plan,
                      unsigned number, const Status &before,
                      std::unique_ptr<JoinedPlan> &result) {
  std::unique_ptr<CommPlan> made;
  Status status = attempt([&] {
    if (before.ok())
      made.reset(new CommPlan(group, plan, number));
    return before;
  });
  if (!made)
    return decline(group, plan.get(), status);
  if (status = made->connect(); !status.ok())
    return status;
  result = std::move(made);
  return {};
}

/// The largest power of two that a segment of own buffers can have on all ranks
/// within the memory that the caller allows; 0 if none.
uint64_t CommPlan::fitPiece() const {
  uint64_t budget = memoryBudget(group.config, *group.device);
  uint64_t piece = largestPiece(*group.device);
  for (const plan::SizeTable &table : manifest.tables)
    for (const plan::SizeChoice &choice : table.choices)
      while (piece < choice.pieceBytes && piece < budget)
        piece *= 2;
  bool isEnqueued = group.isStreamOrdered();
  auto fits = [&] {
    for (unsigned other = 0; other < numRanks; ++other)
      if (MemoryLayout(manifest, programs, other, piece, isEnqueued).bytes >
          budget)
        return false;
    return true;
  };
  while (piece >= smallestPiece && !fits())
    piece /= 2;
  return piece >= smallestPiece ? piece : 0;
}

/// Hosts that copy would have to wait for streams.
static Status dropCopies(const LoadedPlan &plan,
                         std::vector<LoadedProgram> &programs) {
  std::erase_if(programs, [](const LoadedProgram &program) {
    return program.hasCopies();
  });
  if (!programs.empty())
    return {};
  return {scclErrorUnsupported,
          "the plan for " + plan.view.manifest.collective +
              " has only programs in which hosts copy between steps, and on "
              "GPUs launches are enqueued; compile it with another --variant"};
}

/// The part of loading that needs nobody else.
Status CommPlan::prepare() {
  bool isCPU = group.device->isSynchronous();
  if (Status status = loadCode(isCPU ? 0 : group.config.smBudget); !status.ok())
    return status;
  if (Status status = findFetches(); !status.ok())
    return status;
  if (group.isStreamOrdered())
    if (Status status = dropCopies(*plan, programs); !status.ok())
      return status;
  if (Status status = chooseSwitch(); !status.ok())
    return status;
  if (group.together)
    if (Status status = group.together->load(*plan, programs); !status.ok())
      return status;
  maxPiece = fitPiece();
  if (maxPiece == 0) {
    MemoryLayout least(manifest, programs, rank, smallestPiece,
                       group.isStreamOrdered());
    return {scclErrorOutOfMemory,
            "the plan needs " + std::to_string(least.bytes) +
                " bytes of memory, which is more than the " +
                std::to_string(memoryBudget(group.config, *group.device)) +
                " that scratchBytes allows"};
  }
  for (const plan::RankLayout &layout : manifest.layout) {
    mostInputSegments = std::max(mostInputSegments, layout.inputSegments);
    mostOutputSegments = std::max(mostOutputSegments, layout.outputSegments);
  }
  for (unsigned other = 0; other < numRanks; ++other)
    layouts.emplace_back(manifest, programs, other, maxPiece,
                         group.isStreamOrdered());
  memory.resize(numRanks);
  uint64_t bytes = std::max<uint64_t>(layouts[rank].bytes, 1);
  if (Status status = switchRanks.size() > 1
                          ? group.device->allocateForSwitch(
                                bytes, switchRanks.size(), memory[rank])
                          : group.device->allocate(bytes, memory[rank]);
      !status.ok())
    return status;
  fillGaps();
  return {};
}

static constexpr unsigned char gapByte = 0xA5;

void CommPlan::fillGaps() const {
  if (!group.device->isSynchronous())
    return;
  char *base = memory[rank]->data();
  for (const MemoryLayout::Gap &gap : layouts[rank].gaps)
    std::memset(base + gap.begin, gapByte, gap.end - gap.begin);
}

Status CommPlan::checkGaps() const {
  if (!group.device->isSynchronous() || !memory[rank])
    return {};
  const char *base = memory[rank]->data();
  auto isFilled = [&](const MemoryLayout::Gap &gap) {
    return std::all_of(base + gap.begin, base + gap.end, [](char byte) {
      return static_cast<unsigned char>(byte) == gapByte;
    });
  };
  const std::vector<MemoryLayout::Gap> &gaps = layouts[rank].gaps;
  if (std::all_of(gaps.begin(), gaps.end(), isFilled))
    return {};
  return {scclErrorInternal, "a program for " + manifest.collective +
                                 " has written beside the memory that rank " +
                                 std::to_string(rank) + " has for it"};
}

Status CommPlan::loadAgain() const {
  Gathered<PlanHello> hellos(numRanks);
  if (Status gathered = group.bootstrap.gather(greet(plan.get(), {}), hellos);
      !gathered.ok())
    return gathered;
  if (Status same = comparePlans(hellos, rank); !same.ok())
    return same;
  return group.bootstrap.agree({}, hellos);
}

Status CommPlan::connect() {
  Status status = attempt([&] { return prepare(); });
  PlanHello hello = greet(plan.get(), status);
  if (status.ok()) {
    hello.maxPiece = maxPiece;
    hello.smBudget = group.config.smBudget;
    hello.isAtSwitch = isAtSwitch();
    hello.memory = memory[rank]->handle();
  }
  Gathered<PlanHello> hellos(numRanks);
  if (Status gathered = group.bootstrap.gather(hello, hellos); !gathered.ok())
    return gathered;
  // A difference in plans explains more than what it made fail.
  if (Status same = comparePlans(hellos, rank); !same.ok())
    return same;
  if (status = group.bootstrap.agree(status, hellos); !status.ok())
    return status;
  status = group.bootstrap.agree(attempt([&] { return join(hellos); }));
  memory[rank]->seal();
  if (status.ok() && isAtSwitch())
    status = bindAtSwitch();
  if (!status.ok())
    return status;
  return hasCopies() ? group.probeProcesses() : Status();
}

bool CommPlan::hasCopies() const {
  return std::any_of(
      programs.begin(), programs.end(),
      [](const LoadedProgram &program) { return program.hasCopies(); });
}

/// Between processes; elsewhere peers reach all buffers.
Status CommPlan::findFetches() {
  if (!hasCopies() || group.isOneProcess || !group.device->isSynchronous())
    return {};
  fetches = part.part.copies;
  for (std::vector<std::vector<EngineCopy>> &steps : fetches)
    for (std::vector<EngineCopy> &copies : steps)
      copies.clear();
  for (unsigned other = 0; other < numRanks; ++other) {
    if (other == rank)
      continue;
    LoadedPart theirs;
    if (Status status = plan->readPart(other, theirs); !status.ok())
      return status;
    for (size_t program = 0; program < fetches.size(); ++program)
      for (size_t step = 0; step < fetches[program].size(); ++step)
        for (const EngineCopy &copy : theirs.part.copies[program][step])
          if (copy.dstRank == rank)
            fetches[program][step].push_back(copy);
  }
  return {};
}

/// Maps the memory of the others.
Status CommPlan::join(const Gathered<PlanHello> &hellos) {
  for (unsigned other = 0; other < numRanks; ++other) {
    // Which explains other differences.
    if (hellos[other].isAtSwitch != isAtSwitch()) {
      unsigned with = isAtSwitch() ? rank : other;
      return {scclErrorMismatch,
              "rank " + std::to_string(with) +
                  " has multicast through a switch for this plan, and rank " +
                  std::to_string(rank + other - with) + " has none"};
    }
    if (hellos[other].maxPiece != maxPiece)
      return {scclErrorMismatch, "rank " + std::to_string(other) +
                                     " has other scratchBytes than rank " +
                                     std::to_string(rank)};
    if (hellos[other].smBudget != group.config.smBudget)
      return {scclErrorMismatch,
              "rank " + std::to_string(other) + " has smBudget " +
                  std::to_string(hellos[other].smBudget) + ", and rank " +
                  std::to_string(rank) + " has " +
                  std::to_string(group.config.smBudget)};
    if (other == rank)
      continue;
    if (Status status =
            group.device->import(hellos[other].memory, memory[other]);
        !status.ok())
      return status;
    if (memory[other]->size() < layouts[other].bytes)
      return {scclErrorInternal, "the memory of rank " + std::to_string(other) +
                                     " is smaller than it should be"};
  }
  return isAtSwitch() ? Status() : finish();
}

/// The rest, when all memory is where it will be.
Status CommPlan::finish() {
  if (Status status = group.takeLanes(
          group.isStreamOrdered() ? programs.size() : 0, firstLane);
      !status.ok())
    return status;
  lastSegments.assign(programs.size(), never);
  clearedAfter.assign(programs.size(), 0);
  calls.resize(numRanks);
  foreign.resize(numRanks);
  choices.resolve(manifest, programs, group.device->target(),
                  group.isOneProcess);
  if (Status status =
          tables.create(group, programs.size(), layouts, memory,
                        switchMemory ? switchMemory->data() : nullptr);
      !status.ok())
    return status;
  return placeRankTables();
}

/// Brings the tables of this rank to where functions can read them.
Status CommPlan::placeRankTables() {
  const std::vector<llvm::StringRef> &sets = part.part.rankTables;
  if (sets.empty())
    return {};
  const char *base = part.bytes.data();
  if (!group.device->isSynchronous()) {
    if (Status status =
            group.device->allocate(part.bytes.size(), rankTableMemory);
        !status.ok())
      return status;
    if (Status status = group.copyAndSettle(rankTableMemory->data(), base,
                                            part.bytes.size());
        !status.ok())
      return status;
    base = rankTableMemory->data();
  }
  for (llvm::StringRef table : sets) {
    rankTables.push_back(base + (table.data() - part.bytes.data()));
    // Only kernels write to their tables.
    if (!group.device->isSynchronous())
      trace.add(table, rankTables.back());
  }
  return {};
}
