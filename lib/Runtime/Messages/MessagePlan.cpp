//===- MessagePlan.cpp - A plan of ranks that exchange messages -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessagePlan.h"

#include "DefaultPiece.h"

#include <algorithm>
#include <cstring>
#include <new>

using namespace sccl;

namespace {
/// What ranks tell each other when they load a plan.
struct MessagePlanHello {
  PlanHash plan;
  uint64_t budget;
  Outcome outcome;
};
} // namespace

/// Pieces of segments under way at once.
static constexpr unsigned window = 8;
static constexpr uint64_t defaultBudget = 64 << 20;

MessagePlan::MessagePlan(MessageGroup &group, MessageEngine &engine,
                         std::shared_ptr<const LoadedPlan> plan,
                         unsigned number)
    : JoinedPlan(std::move(plan), *group.device, group.rank(), group.numRanks(),
                 number),
      group(group), engine(engine) {}

static uint64_t budgetOf(const MessageGroup &group) {
  return group.config.scratchBytes ? group.config.scratchBytes : defaultBudget;
}

/// Compares the plans of all ranks, and how it went for them.
static Status agree(const MessageGroup &group, const LoadedPlan *plan,
                    uint64_t budget, const Status &status) {
  MessagePlanHello hello = {};
  hello.plan = hashOf(plan);
  hello.budget = budget;
  hello.outcome = Outcome(status);
  Gathered<MessagePlanHello> hellos(group.numRanks());
  if (Status gathered = group.bootstrap.gather(hello, hellos); !gathered.ok())
    return gathered;
  // A difference in plans explains more than what it made fail.
  if (Status same = comparePlans(hellos, group.rank()); !same.ok())
    return same;
  for (unsigned other = 0; other < hellos.size(); ++other)
    if (hellos[other].budget != hello.budget)
      return {scclErrorMismatch, "rank " + std::to_string(other) +
                                     " has other scratchBytes than rank " +
                                     std::to_string(group.rank())};
  return group.bootstrap.agree(status, hellos);
}

Status MessagePlan::load(MessageGroup &group, MessageEngine &engine,
                         std::shared_ptr<const LoadedPlan> plan,
                         unsigned number, const Status &before,
                         std::unique_ptr<JoinedPlan> &result) {
  std::unique_ptr<MessagePlan> made;
  Status status = attempt([&] {
    if (before.ok())
      made.reset(new MessagePlan(group, engine, plan, number));
    return before;
  });
  if (!made)
    return agree(group, plan.get(), budgetOf(group), status);
  if (status = made->connect(); !status.ok())
    return status;
  result = std::move(made);
  return {};
}

Status MessagePlan::loadAgain() const {
  return agree(group, plan.get(), budget, {});
}

Status MessagePlan::connect() {
  budget = budgetOf(group);
  return agree(group, plan.get(), budget, attempt([&] { return prepare(); }));
}

Status MessagePlan::prepare() {
  if (Status status = loadCode(); !status.ok())
    return status;
  if (Status status = readTables(); !status.ok())
    return status;
  uint64_t bytes = 1;
  for (const Program &program : programs) {
    unsigned rows = 0, tags = 0;
    for (const MessageProgram &table : messages) {
      rows = std::max(rows, table.header().rows);
      tags = std::max(tags, table.header().tags);
    }
    if (uint64_t(tags) * window > group.numTags())
      return {scclErrorUnsupported,
              "the plan needs " + std::to_string(uint64_t(tags) * window) +
                  " tags of messages, and there are " +
                  std::to_string(group.numTags())};
    if (Status status = engine.reserve(rows, tags, window); !status.ok())
      return status;
    if (mostScratch(program, chunkAlignment) > budget)
      return {scclErrorOutOfMemory,
              "the plan needs " +
                  std::to_string(mostScratch(program, chunkAlignment)) +
                  " bytes of memory, which is more than scratchBytes, or 64 "
                  "MiB, allows"};
    if (mostScratch(program, chunkAlignment) != 0)
      bytes = budget;
  }
  choices.resolve(manifest, programs, group.device->target(),
                  /*isOneProcess=*/false);
  return group.device->allocate(bytes, scratch);
}

Status MessagePlan::readTables() {
  messages.resize(part.part.rankTables.size());
  for (const Program &program : programs)
    for (const plan::KernelInfo *kernel : program.kernels) {
      if (!kernel)
        continue;
      if (!kernel->rankTables)
        return {scclErrorInvalidPlan, "a kernel for messages has no tables"};
      unsigned set = *kernel->rankTables;
      if (messages[set].header().version != 0)
        continue;
      if (Status status = MessageProgram::read(part.part.rankTables[set], rank,
                                               numRanks, messages[set]);
          !status.ok())
        return status;
    }
  for (llvm::StringRef table : part.part.rankTables)
    rankTables.push_back(table.data());
  return {};
}

/// True if a rank that works in place has to copy its input.
bool MessagePlan::mayStage(const Program &program) const {
  return !program.info->inPlace;
}

/// What a rank needs for one piece of its segments.
uint64_t MessagePlan::scratchBytes(const Program &program, uint64_t piece,
                                   unsigned rank) const {
  uint64_t stride = chunkStride(piece, program.chunksPerSegment);
  uint64_t staged =
      mayStage(program) ? manifest.layout[rank].inputSegments * piece : 0;
  return program.info->ranks[rank].scratchSlots * stride + staged;
}

/// The most that any rank needs for one piece.
uint64_t MessagePlan::mostScratch(const Program &program,
                                  uint64_t piece) const {
  uint64_t most = 0;
  for (unsigned other = 0; other < numRanks; ++other)
    most = std::max(most, scratchBytes(program, piece, other));
  return most;
}

Status MessagePlan::choose(Flight &flight) const {
  flight.choice = choices.forBytes(manifest.sendSegments * flight.segmentBytes);
  return findFunction(flight);
}

Status MessagePlan::execute(Flight &flight) {
  const Program &program = *flight.choice.program;
  const LaunchRequest &request = flight.request;
  const plan::KernelInfo *kernel =
      program.kernels[program.slot(request.type, request.op)];
  uint64_t piece = flight.choice.pieceBytes;
  const MessageProgram &table = messages[*kernel->rankTables];
  if (piece == 0)
    piece = defaultPiece(flight.segmentBytes, program.chunksPerSegment,
                         table.header().mostChunks);
  constexpr uint64_t alignment = 64;
  // The same on all ranks.
  while (piece > alignment && mostScratch(program, piece) > budget)
    piece /= 2;
  piece = std::max(piece / alignment, uint64_t(1)) * alignment;
  MessageLaunch launch = {};
  launch.program = &table;
  launch.function = flight.function;
  launch.reduction = reductionNumber(request.type, request.op);
  launch.input = static_cast<const char *>(request.send);
  launch.output = static_cast<char *>(request.recv);
  launch.segment = flight.segmentBytes;
  launch.piece = std::min(piece, flight.segmentBytes);
  launch.stagesInput = flight.isInPlace && mayStage(program);
  launch.inputSegments = manifest.layout[rank].inputSegments;
  launch.scratch = scratch->data();
  launch.scratchPiece =
      (scratchBytes(program, launch.piece, rank) + alignment - 1) / alignment *
      alignment;
  uint64_t most = (mostScratch(program, launch.piece) + alignment - 1) /
                  alignment * alignment;
  launch.window =
      most == 0 ? window
                : unsigned(std::clamp<uint64_t>(budget / most, 1, window));
  return engine.run(launch);
}
