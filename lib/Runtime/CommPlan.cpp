//===- CommPlan.cpp - Loading a plan into a group -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommPlan.h"

#include <algorithm>
#include <cstring>
#include <new>

using namespace sccl;

namespace sccl {
/// What ranks tell each other when they load a plan.
struct PlanHello {
  char planHash[64];
  uint64_t maxPiece;
  DeviceHandle memory;
  Outcome outcome;
};
} // namespace sccl

static constexpr uint64_t defaultMaxPiece = 1 << 20;
static constexpr uint64_t defaultBudget = 64 << 20;
static constexpr uint64_t smallestPiece = 4096;

CommPlan::CommPlan(Group &group, std::shared_ptr<const LoadedPlan> plan,
                   unsigned number)
    : group(group), plane(group.plane), plan(std::move(plan)),
      manifest(this->plan->view.manifest), rank(group.rank()),
      numRanks(group.numRanks()), number(number) {}

Status CommPlan::load(Group &group, std::shared_ptr<const LoadedPlan> plan,
                      unsigned number, std::unique_ptr<CommPlan> &result) {
  std::unique_ptr<CommPlan> made(new CommPlan(group, std::move(plan), number));
  if (Status status = made->connect(); !status.ok())
    return status;
  result = std::move(made);
  return {};
}

/// The largest power of two that a segment of own buffers can have on all ranks
/// within the memory that the caller allows; 0 if none.
uint64_t CommPlan::fitPiece() const {
  uint64_t budget =
      group.config.scratchBytes ? group.config.scratchBytes : defaultBudget;
  uint64_t piece = defaultMaxPiece;
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
                         std::vector<Program> &programs) {
  std::erase_if(programs,
                [](const Program &program) { return program.hasCopies(); });
  if (!programs.empty())
    return {};
  return {scclErrorUnsupported,
          "the plan for " + plan.view.manifest.collective +
              " has only programs in which hosts copy between steps, and on "
              "GPUs launches are enqueued; compile it with another --variant"};
}

/// The part of loading that needs nobody else.
Status CommPlan::prepare() {
  if (manifest.ranks != numRanks)
    return {scclErrorMismatch,
            "the plan is for " + std::to_string(manifest.ranks) +
                " ranks, and there are " + std::to_string(numRanks)};
  if (Status status =
          loadPrograms(*plan, rank, number, *group.device, programs);
      !status.ok())
    return status;
  if (group.isStreamOrdered())
    if (Status status = dropCopies(*plan, programs); !status.ok())
      return status;
  if (group.together)
    if (Status status = group.together->load(*plan, programs); !status.ok())
      return status;
  if (Status status = plan->readPart(rank, part); !status.ok())
    return status;
  maxPiece = fitPiece();
  if (maxPiece == 0) {
    MemoryLayout least(manifest, programs, rank, smallestPiece,
                       group.isStreamOrdered());
    return {scclErrorOutOfMemory, "the plan needs " +
                                      std::to_string(least.bytes) +
                                      " bytes of memory, which is more than "
                                      "scratchBytes, or 64 MiB, allows"};
  }
  for (const plan::RankLayout &layout : manifest.layout) {
    mostInputSegments = std::max(mostInputSegments, layout.inputSegments);
    mostOutputSegments = std::max(mostOutputSegments, layout.outputSegments);
  }
  for (unsigned other = 0; other < numRanks; ++other)
    layouts.emplace_back(manifest, programs, other, maxPiece,
                         group.isStreamOrdered());
  memory.resize(numRanks);
  if (Status status = group.device->allocate(
          std::max<uint64_t>(layouts[rank].bytes, 1), memory[rank]);
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

/// Fails on every rank in the same way if plans differ (check M1).
static Status comparePlans(const std::vector<PlanHello> &hellos,
                           unsigned rank) {
  const PlanHello &own = hellos[rank];
  for (unsigned other = 0; other < hellos.size(); ++other)
    if (std::memcmp(hellos[other].planHash, own.planHash,
                    sizeof(own.planHash)) != 0)
      return {scclErrorMismatch, "rank " + std::to_string(other) +
                                     " has another plan than rank " +
                                     std::to_string(rank) + " (M1)"};
  return {};
}

/// Runs `body`; running out of memory is an error as others are, of which all
/// ranks must learn.
template <typename Body> static Status guarded(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return {scclErrorOutOfMemory, "out of memory"};
  }
}

Status CommPlan::loadAgain() const {
  PlanHello hello = {};
  std::memcpy(hello.planHash, plan->view.hash.data(), sizeof(hello.planHash));
  std::vector<PlanHello> hellos;
  if (Status gathered = group.bootstrap.gather(hello, hellos); !gathered.ok())
    return gathered;
  return comparePlans(hellos, rank);
}

Status CommPlan::connect() {
  PlanHello hello = {};
  Status status = guarded([&] { return prepare(); });
  std::memcpy(hello.planHash, plan->view.hash.data(), sizeof(hello.planHash));
  hello.outcome = Outcome(status);
  if (status.ok()) {
    hello.maxPiece = maxPiece;
    hello.memory = memory[rank]->handle();
  }
  std::vector<PlanHello> hellos;
  if (Status gathered = group.bootstrap.gather(hello, hellos); !gathered.ok())
    return gathered;
  // A difference in plans explains more than what it made fail.
  if (Status same = comparePlans(hellos, rank); !same.ok())
    return same;
  std::vector<Outcome> outcomes;
  for (const PlanHello &other : hellos)
    outcomes.push_back(other.outcome);
  if (status = group.bootstrap.agree(status, outcomes); !status.ok())
    return status;
  status = group.bootstrap.agree(guarded([&] { return join(hellos); }));
  memory[rank]->seal();
  if (!status.ok())
    return status;
  return hasCopies() ? group.probeProcesses() : Status();
}

bool CommPlan::hasCopies() const {
  return std::any_of(
      programs.begin(), programs.end(),
      [](const Program &program) { return program.hasCopies(); });
}

/// Maps the memory of the others.
Status CommPlan::join(const std::vector<PlanHello> &hellos) {
  for (unsigned other = 0; other < numRanks; ++other) {
    if (hellos[other].maxPiece != maxPiece)
      return {scclErrorMismatch, "rank " + std::to_string(other) +
                                     " has other scratchBytes than rank " +
                                     std::to_string(rank)};
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
  if (Status status = group.takeLanes(
          group.isStreamOrdered() ? programs.size() : 0, firstLane);
      !status.ok())
    return status;
  lastSegments.assign(programs.size(), never);
  calls.resize(numRanks);
  foreign.resize(numRanks);
  choices.resolve(manifest, programs, group.device->target(),
                  group.isOneProcess);
  if (Status status = tables.create(group, programs.size(), layouts, memory);
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
  for (llvm::StringRef table : sets)
    rankTables.push_back(base + (table.data() - part.bytes.data()));
  return {};
}

bool CommPlan::reduces(scclDataType type, scclRedOp op) const {
  return std::any_of(programs.begin(), programs.end(),
                     [&](const Program &program) {
                       return program.find(type, op) != nullptr;
                     });
}

Status CommPlan::queryChoice(size_t count, scclDataType type, scclRedOp op,
                             scclChoice &result) const {
  Flight flight;
  flight.request = {nullptr, nullptr, count, type, op, nullptr};
  if (Status status = checkTypes(flight.request); !status.ok())
    return status;
  flight.segmentBytes = count * dataTypeBytes(type);
  if (Status status = choose(flight); !status.ok())
    return status;
  const Choice &choice = flight.choice;
  const std::string &schedule =
      manifest.schedules[choice.program->info->schedule].name;
  result.program = choice.program->index;
  result.path = scclPath(choice.path);
  result.pieceBytes = choice.pieceBytes;
  std::memset(result.schedule, 0, sizeof(result.schedule));
  std::memset(result.reason, 0, sizeof(result.reason));
  std::strncpy(result.schedule, schedule.c_str(), sizeof(result.schedule) - 1);
  std::strncpy(result.reason, choice.reason, sizeof(result.reason) - 1);
  return {};
}

Status CommPlan::setChoice(const scclChoice *choice) {
  return choices.set(choice, group.device->target());
}
