//===- MessagePlan.cpp - A plan of ranks that exchange messages -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessagePlan.h"

#include "DefaultPiece.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>
#include <new>

using namespace sccl;

namespace {
/// What ranks tell each other when they load a plan.
struct MessagePlanHello {
  PlanHash plan;
  uint64_t budget;
  uint64_t balance;    ///< of all its tables, see MessageProgram
  uint32_t isStreamed; ///< as far as this rank knows
  StreamNeeds needs;
  Outcome outcome;
};
/// What they have agreed on.
struct Agreement {
  bool areStreamed = false;
  StreamNeeds needs; ///< of all ranks
};
} // namespace

/// Pieces of segments under way at once.
static constexpr unsigned window = 8;
static constexpr uint64_t alignment = 64;

MessagePlan::MessagePlan(MessageGroup &group, MessageEngine &engine,
                         StreamGroup *streams, const Device &callers,
                         std::shared_ptr<const LoadedPlan> plan,
                         unsigned number)
    : JoinedPlan(std::move(plan), *group.device, callers, group.rank(),
                 group.numRanks(), number),
      group(group), engine(engine), streams(streams) {}

/// Compares the plans of all ranks, and how it went for them.
static Status agree(const MessageGroup &group, const LoadedPlan *plan,
                    MessagePlanHello hello, const Status &status,
                    Agreement &result) {
  hello.plan = hashOf(plan);
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
  if (Status agreed = group.bootstrap.agree(status, hellos); !agreed.ok())
    return agreed;
  uint64_t sum = 0;
  result = {true, hello.needs};
  for (const MessagePlanHello &other : hellos) {
    sum += other.balance;
    result.areStreamed &= other.isStreamed != 0;
    result.needs.merge(other.needs);
  }
  if (sum != 0)
    return {scclErrorInvalidPlan,
            "the tables of messages have other messages, or other rounds, at "
            "their two ends"};
  return {};
}

Status MessagePlan::load(MessageGroup &group, MessageEngine &engine,
                         StreamGroup *streams, const Device &callers,
                         std::shared_ptr<const LoadedPlan> plan,
                         unsigned number, const Status &before,
                         std::unique_ptr<JoinedPlan> &result) {
  std::unique_ptr<MessagePlan> made;
  Status status = attempt([&] {
    if (before.ok())
      made.reset(
          new MessagePlan(group, engine, streams, callers, plan, number));
    return before;
  });
  Agreement agreement;
  if (!made)
    return agree(group, plan.get(),
                 {{}, memoryBudget(group.config, *group.device), 0, 0, {}, {}},
                 status, agreement);
  if (status = made->connect(); !status.ok())
    return status;
  result = std::move(made);
  return {};
}

Status MessagePlan::loadAgain() const {
  Agreement agreement;
  return agree(group, plan.get(), {{}, budget, balance(), isStreamed(), {}, {}},
               {}, agreement);
}

Status MessagePlan::connect() {
  budget = memoryBudget(group.config, *group.device);
  Status status = attempt([&] { return prepare(); });
  Agreement agreement;
  StreamNeeds needs = stream ? stream->needs() : StreamNeeds();
  Status agreed =
      agree(group, plan.get(), {{}, budget, balance(), isStreamed(), needs, {}},
            status, agreement);
  if (agreed.ok() && agreement.areStreamed) {
    status = stream->join(group.bootstrap, *plan, agreement.needs,
                          memoryBudget(group.config, streams->device()));
    if (status.ok())
      return {};
    if (streams->isRequired())
      agreed = status;
  }
  stream.reset();
  return agreed;
}

/// Each table counts in its own way: what one has too many, another lacks.
uint64_t MessagePlan::balance() const {
  uint64_t sum = 0;
  for (const MessageProgram &table : messages)
    sum = 3 * sum + table.balance();
  return sum;
}

Status MessagePlan::prepare() {
  if (Status status = loadCode(); !status.ok())
    return status;
  if (Status status = readTables(); !status.ok())
    return status;
  for (const LoadedProgram &program : programs) {
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
                  " bytes of memory, which is more than the " +
                  std::to_string(budget) + " that scratchBytes allows"};
  }
  choices.resolve(manifest, programs, group.device->target(),
                  /*isOneProcess=*/false);
  if (Status status = prepareStream(); !status.ok() || stream)
    return status;
  return growScratch(neededBytes());
}

/// Gets ready for streams, if there are any and the plan is for them.
Status MessagePlan::prepareStream() {
  if (!streams)
    return {};
  Status status = StreamPlan::load(*plan, rank, number, messages, *streams,
                                   group.config, stream);
  return streams->isRequired() ? status : Status();
}

/// Makes scratch memory that has `bytes` bytes; nothing is in it.
Status MessagePlan::growScratch(uint64_t bytes) {
  if (bytes <= scratchSize)
    return {};
  auto *memory = static_cast<char *>(
      std::aligned_alloc(alignment, llvm::alignTo(bytes, alignment)));
  if (!memory)
    return {scclErrorOutOfMemory,
            "no memory for " + std::to_string(bytes) + " bytes of scratch"};
  scratch.reset(memory);
  scratchSize = bytes;
  return {};
}

MessagePlan::~MessagePlan() {
  if (!engine.leavesMessages())
    return;
  (void)scratch.release();
  if (stream)
    stream->abandon();
}

const MessageProgram &
MessagePlan::tableOf(const plan::KernelInfo &kernel) const {
  return messages[*kernel.rankTables];
}

/// Of the pieces that launches may have, as far as the plan tells. Where the
/// caller has chosen others, a launch asks for more.
uint64_t MessagePlan::neededBytes() const {
  constexpr uint64_t manyBytes = uint64_t(1) << 40;
  uint64_t most = 0;
  choices.forEach([&](const Choice &choice) {
    for (const plan::KernelInfo *kernel : choice.program->kernels) {
      if (!kernel)
        continue;
      uint64_t piece =
          pieceFor(choice, manyBytes, tableOf(*kernel).header().mostChunks);
      most = std::max(most, bytesFor(*choice.program, piece));
    }
  });
  return most;
}

/// How long pieces of a segment are, the same on all ranks.
uint64_t MessagePlan::pieceFor(const Choice &choice, uint64_t segment,
                               unsigned mostChunks) const {
  uint64_t piece = choice.pieceBytes;
  if (piece == 0)
    piece = defaultPiece(segment, choice.program->chunksPerSegment, mostChunks);
  while (piece > alignment && mostScratch(*choice.program, piece) > budget)
    piece /= 2;
  return std::max(piece / alignment, uint64_t(1)) * alignment;
}

/// How many pieces may be under way, the same on all ranks.
unsigned MessagePlan::windowFor(const LoadedProgram &program,
                                uint64_t piece) const {
  uint64_t most = llvm::alignTo(mostScratch(program, piece), alignment);
  return most == 0 ? window
                   : unsigned(std::clamp<uint64_t>(budget / most, 1, window));
}

/// Scratch of this rank.
uint64_t MessagePlan::bytesFor(const LoadedProgram &program,
                               uint64_t piece) const {
  return windowFor(program, piece) *
         llvm::alignTo(scratchBytes(program, piece, rank), alignment);
}

Status MessagePlan::readTables() {
  messages.resize(part.part.rankTables.size());
  for (const LoadedProgram &program : programs)
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
bool MessagePlan::mayStage(const LoadedProgram &program) const {
  return !program.info->inPlace;
}

/// What a rank needs for one piece of its segments.
uint64_t MessagePlan::scratchBytes(const LoadedProgram &program, uint64_t piece,
                                   unsigned rank) const {
  uint64_t stride = chunkStride(piece, program.chunksPerSegment);
  uint64_t staged =
      mayStage(program) ? manifest.layout[rank].inputSegments * piece : 0;
  return program.info->ranks[rank].scratchSlots * stride + staged;
}

/// The most that any rank needs for one piece.
uint64_t MessagePlan::mostScratch(const LoadedProgram &program,
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

Status MessagePlan::execute(Flight &flight, uint64_t distance) {
  const LoadedProgram &program = *flight.choice.program;
  const LaunchRequest &request = flight.request;
  const MessageProgram &table =
      tableOf(*program.kernels[program.slot(request.type, request.op)]);
  group.beginCall(announcement(flight));
  if (Status status = group.poison(); !status.ok())
    return status;
  if (request.count == 0) {
    // Those that would send or receive wait for this rank if they have some.
    group.tellCall(table.peers(), "");
    return engine.look();
  }
  if (stream)
    return stream->launch(flight);
  MessageLaunch launch = {};
  launch.program = &table;
  launch.function = flight.function;
  launch.reduction = reductionNumber(request.type, request.op);
  launch.input = static_cast<const char *>(request.send);
  launch.output = static_cast<char *>(request.recv);
  launch.segment = flight.segmentBytes;
  launch.distance = distance;
  launch.piece = std::min(
      pieceFor(flight.choice, flight.segmentBytes, table.header().mostChunks),
      flight.segmentBytes);
  launch.stagesInput = flight.isInPlace && mayStage(program);
  launch.inputSegments = manifest.layout[rank].inputSegments;
  launch.window = windowFor(program, launch.piece);
  if (Status status = growScratch(bytesFor(program, launch.piece));
      !status.ok())
    return status;
  launch.scratch = scratch.get();
  launch.scratchPiece =
      llvm::alignTo(scratchBytes(program, launch.piece, rank), alignment);
  return engine.run(launch);
}
