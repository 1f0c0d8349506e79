//===- StreamPlan.cpp - A plan in the order of streams --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace sccl;

/// Pieces begin at these bytes of a segment, which no element crosses.
static constexpr uint64_t pieceAlignment = 64;
static constexpr uint64_t tableAlignment = 256;
/// MPI counts the bytes of a message in an int.
static constexpr uint64_t mostOfMessage = 1 << 30;

Status StreamPlan::load(const LoadedPlan &plan, unsigned rank, unsigned number,
                        const std::vector<MessageProgram> &tables,
                        StreamGroup &group, const scclConfig &config,
                        std::unique_ptr<StreamPlan> &result) {
  std::unique_ptr<StreamPlan> made(new StreamPlan(plan, rank, tables, group));
  made->theNeeds.blocks = blocksOfMessageKernels;
  if (config.smBudget)
    made->theNeeds.blocks =
        std::min<unsigned>(blocksOfMessageKernels, config.smBudget);
  made->theNeeds.divides = group.device().hasRoomToFork();
  if (Status status = loadMessageCode(plan, rank, number, group.device(),
                                      made->theNeeds.blocks, made->programs);
      !status.ok())
    return status;
  if (Status status = made->addRounds(); !status.ok())
    return status;
  result = std::move(made);
  return {};
}

/// None if all messages are of the library.
llvm::ArrayRef<unsigned> StreamPlan::nearRanks() const {
  return group.near() ? group.near()->ranks() : llvm::ArrayRef<unsigned>();
}

/// Makes lists of the tables that the code is for.
Status StreamPlan::addRounds() {
  rounds.resize(tables.size());
  auto isNear = [&](unsigned peer) {
    return llvm::is_contained(nearRanks(), peer);
  };
  for (const LoadedProgram &program : programs)
    for (const plan::KernelInfo *kernel : program.kernels) {
      if (!kernel)
        continue;
      if (!kernel->rankTables ||
          tables[*kernel->rankTables].header().ranks == 0)
        return {scclErrorInvalidPlan, "a kernel for messages has no tables"};
      const MessageProgram &table = tables[*kernel->rankTables];
      if (table.rounds().size() != table.rows().size())
        return {scclErrorUnsupported,
                "the plan was compiled before messages had rounds, in which "
                "those of GPUs go; compile it again"};
      RoundProgram &made = rounds[*kernel->rankTables];
      if (!made.rounds.empty())
        continue;
      made = RoundProgram::make(table, theNeeds.blocks, isNear);
      posted.reserve(made.messages.size());
      NearProgram::Needs near = NearProgram::needs(table, nearRanks());
      theNeeds.epochs += near.epochs;
      theNeeds.landingSegments = std::max<uint32_t>(
          theNeeds.landingSegments,
          llvm::divideCeil(near.slots, program.chunksPerSegment));
    }
  return {};
}

Status StreamPlan::join(const Bootstrap &bootstrap, const LoadedPlan &plan,
                        const StreamNeeds &needs, uint64_t budget) {
  const NearRanks *near = group.near();
  Status status = attempt([&] {
    if (near) {
      theNeeds.landingSegments = needs.landingSegments;
      theNeeds.divides = needs.divides;
      layout.emplace(near->ranks(), near->own(), tables.size(), needs.blocks);
      // Peers know where scratch memory begins.
      nearControl = llvm::alignTo(layout->epoch(needs.epochs), tableAlignment);
      if (Status added = addNear(plan); !added.ok())
        return added;
    }
    return makeMemory(budget);
  });
  if (near)
    status =
        near->share(bootstrap, group.device(), status, memory.get(), others);
  return bootstrap.agree(status.ok() ? attempt([&] { return fillConstants(); })
                                     : status);
}

/// True if a rank that works in place has copies of both its buffers, whose
/// segments have another distance than the caller's: kernels know one distance.
bool StreamPlan::closesGaps(const LoadedProgram &program) const {
  return std::any_of(manifest.layout.begin(), manifest.layout.end(),
                     [](const plan::RankLayout &layout) {
                       return layout.inputSegments > 1;
                     }) &&
         !program.info->inPlace;
}

/// The scratch memory of the program, and behind it of what arrives for the
/// buffers of rank `of`.
uint64_t StreamPlan::scratchOf(const LoadedProgram &program, uint64_t piece,
                               unsigned of) const {
  uint64_t slots =
      uint64_t(theNeeds.landingSegments) * program.chunksPerSegment;
  return llvm::SaturatingMultiplyAdd(
      slots, chunkStride(piece, program.chunksPerSegment),
      program.scratchBytes(of, piece));
}

/// What rank `of` needs for pieces of `piece` bytes of its segments.
uint64_t StreamPlan::scratchBytes(const LoadedProgram &program, uint64_t piece,
                                  unsigned of) const {
  const plan::RankLayout &layout = manifest.layout[of];
  uint64_t staged = program.info->inPlace ? 0 : layout.inputSegments;
  if (closesGaps(program))
    staged += layout.outputSegments;
  return llvm::SaturatingMultiplyAdd(staged, piece,
                                     scratchOf(program, piece, of));
}

/// The longest piece for which all ranks have memory, the same on all.
uint64_t StreamPlan::pieceOf(const LoadedProgram &program,
                             uint64_t budget) const {
  auto mostFor = [&](uint64_t piece) {
    uint64_t most = 0;
    for (unsigned of = 0; of < manifest.ranks; ++of)
      most = std::max(most, scratchBytes(program, piece, of));
    return most;
  };
  if (mostFor(pieceAlignment) == 0)
    return mostBytes;
  uint64_t piece = pieceAlignment;
  for (uint64_t bit = llvm::PowerOf2Ceil(budget + 1); bit >= pieceAlignment;
       bit /= 2)
    if (mostFor(piece + bit) <= budget)
      piece += bit;
  return piece;
}

Status StreamPlan::makeMemory(uint64_t budget) {
  uint64_t bytes = ControlLayout{1, 0, theNeeds.blocks}.controlBytes();
  auto place = [&](uint64_t size) {
    uint64_t begin = llvm::alignTo(bytes, tableAlignment);
    bytes = begin + size;
    return begin;
  };
  idleWord = place(sizeof(uint64_t));
  peerTable = place(nearRanks().size() * sizeof(PeerEntry));
  for (const RoundProgram &each : rounds)
    firstTable.push_back(place(each.tables.size()));
  for (const NearProgram &each : nearPrograms)
    firstNear.push_back(place(each.tables.size()));
  for (const NearProgram &each : outputPrograms)
    firstOutput.push_back(place(each.tables.size()));
  Device &device = group.device();
  if (Status status = device.allocate(bytes, constants); !status.ok())
    return status;
  uint64_t most = 0;
  for (const LoadedProgram &program : programs) {
    pieces.push_back(pieceOf(program, budget));
    uint64_t needed = scratchBytes(program, pieces.back(), rank);
    if (pieces.back() == mostBytes)
      continue;
    if (needed > budget)
      return {scclErrorOutOfMemory,
              "the plan needs " + std::to_string(needed) +
                  " bytes of memory, which is more than the " +
                  std::to_string(budget) + " that scratchBytes allows"};
    most = std::max(most, needed);
  }
  return nearControl + most == 0 ? Status()
                                 : device.allocate(nearControl + most, memory);
}

/// Brings tables to the GPU, and the addresses of peers.
Status StreamPlan::fillConstants() {
  auto fill = [&](uint64_t at, const void *data, uint64_t size) {
    return size == 0
               ? Status()
               : group.device().copyNow(constants->data() + at, data, size);
  };
  std::vector<PeerEntry> peers = peersAt(/*region=*/nullptr, 0);
  if (Status status =
          fill(peerTable, peers.data(), peers.size() * sizeof(PeerEntry));
      !status.ok())
    return status;
  for (unsigned set = 0; set < rounds.size(); ++set)
    if (Status status = fill(firstTable[set], rounds[set].tables.data(),
                             rounds[set].tables.size());
        !status.ok())
      return status;
  for (unsigned set = 0; set < nearPrograms.size(); ++set)
    for (auto [at, program] : {std::pair(firstNear[set], &nearPrograms[set]),
                               {firstOutput[set], &outputPrograms[set]}})
      if (Status status =
              fill(at, program->tables.data(), program->tables.size());
          !status.ok())
        return status;
  return {};
}

uint64_t StreamPlan::ownBytes() const {
  return constants->size() + (memory ? memory->size() : 0) +
         outputPeers.bytes();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// The program that `flight` executes; null if there is no code for it.
const LoadedProgram *
StreamPlan::programOf(const JoinedPlan::Flight &flight) const {
  const LaunchRequest &request = flight.request;
  for (const LoadedProgram &program : programs)
    if (program.index == flight.choice.program->index)
      return program.find(request.type, request.op) ? &program : nullptr;
  return nullptr;
}

/// The memory of this rank's output, if ranks of the host write there.
const NearRanks::Region *
StreamPlan::regionOf(const JoinedPlan::Flight &flight) const {
  const LaunchRequest &request = flight.request;
  const LoadedProgram *program = programOf(flight);
  if (!group.near() || !program)
    return nullptr;
  // A rank in place may have a copy of its output.
  if (flight.isInPlace && closesGaps(*program))
    return nullptr;
  const plan::KernelInfo &kernel =
      *program->kernels[program->slot(request.type, request.op)];
  if (!reachOutputs[*kernel.rankTables])
    return nullptr;
  return group.near()->find(request.recv, outputSegments * flight.segmentBytes);
}

OutputPlace StreamPlan::outputOf(const JoinedPlan::Flight &flight) const {
  const NearRanks::Region *region = regionOf(flight);
  if (!region)
    return {};
  auto *output = static_cast<const char *>(flight.request.recv);
  return {region->number, uint64_t(output - region->begin)};
}

Status StreamPlan::launch(const JoinedPlan::Flight &flight) {
  const LaunchRequest &request = flight.request;
  const LoadedProgram *program = programOf(flight);
  if (!program)
    return {scclErrorUnsupported,
            "the plan has no code for messages of this call on a GPU"};
  unsigned slot = program->slot(request.type, request.op);
  const plan::KernelInfo &kernel = *program->kernels[slot];
  Piece piece = {};
  piece.program = program;
  piece.messages = &tables[*kernel.rankTables];
  piece.set = *kernel.rankTables;
  piece.function = program->find(request.type, request.op);
  piece.blockSize = kernel.blockSize;
  piece.reduction = reductionNumber(request.type, request.op);
  piece.stream = request.stream;
  piece.distance = flight.segmentBytes;
  Device &device = group.device();
  RoundCarrier &carrier = group.carrier();
  if (Status status = device.begin(request.stream); !status.ok())
    return status;
  if (Status status = carrier.begin(piece.messages->peers(), request.stream);
      !status.ok())
    return status;
  uint64_t most = std::min(pieces[program - programs.data()], mostOfMessage);
  const NearRanks::Region *region = regionOf(flight);
  for (; piece.at < flight.segmentBytes; piece.at += piece.bytes) {
    piece.bytes = std::min(most, flight.segmentBytes - piece.at);
    bool isStaged = flight.isInPlace && !program->info->inPlace;
    auto *send = static_cast<const char *>(request.send);
    auto *recv = static_cast<char *>(request.recv);
    piece.input = send ? const_cast<char *>(send) + piece.at : nullptr;
    piece.output = recv ? recv + piece.at : nullptr;
    if (Status status = findPeers(region, piece); !status.ok())
      return status;
    Status status = isStaged ? runStaged(flight, piece) : runPiece(piece);
    if (!status.ok())
      return status;
  }
  if (Status status = carrier.end(request.stream); !status.ok())
    return status;
  return device.end(request.stream);
}

Status StreamPlan::copySegments(char *to, uint64_t toPitch, const char *from,
                                uint64_t fromPitch, unsigned segments,
                                uint64_t bytes, void *stream) {
  for (unsigned i = 0; i < segments; ++i)
    if (Status status = group.device().copy(
            to + i * toPitch, from + i * fromPitch, bytes, stream);
        !status.ok())
      return status;
  return {};
}

/// The same from a copy of the input, behind the scratch of the program.
Status StreamPlan::runStaged(const JoinedPlan::Flight &flight, Piece piece) {
  const plan::RankLayout &layout = manifest.layout[rank];
  uint64_t segment = flight.segmentBytes;
  char *output = piece.output;
  char *area = scratch() + scratchOf(*piece.program, piece.bytes, rank);
  if (Status status =
          copySegments(area, piece.bytes, piece.input, segment,
                       layout.inputSegments, piece.bytes, piece.stream);
      !status.ok())
    return status;
  piece.input = area;
  if (!closesGaps(*piece.program))
    return runPiece(piece);
  // The output is a copy, too.
  piece.output = area + layout.inputSegments * piece.bytes;
  piece.distance = piece.bytes;
  if (Status status = runPiece(piece); !status.ok())
    return status;
  return copySegments(output, segment, piece.output, piece.bytes,
                      layout.outputSegments, piece.bytes, piece.stream);
}

LaunchArguments StreamPlan::argumentsFor(const Piece &piece) const {
  LaunchArguments arguments = {};
  arguments.input = piece.input;
  arguments.output = piece.output;
  arguments.scratch = scratch();
  arguments.segment = piece.bytes;
  arguments.distance = piece.distance;
  arguments.reduction = piece.reduction;
  return arguments;
}

/// So many as have something to do for rows of `mostChunks` chunks.
uint64_t StreamPlan::blocksFor(const Piece &piece, uint32_t mostChunks,
                               unsigned blockSize) const {
  constexpr uint64_t accessBytes = 16;
  uint64_t stride = chunkStride(piece.bytes, piece.program->chunksPerSegment);
  return std::max<uint64_t>(
      llvm::divideCeil(mostChunks * stride, blockSize * accessBytes), 1);
}

Status StreamPlan::compute(const Piece &piece,
                           const RoundProgram::Launch &launch) {
  LaunchArguments arguments = argumentsFor(piece);
  arguments.control = constants->data();
  arguments.abort = reinterpret_cast<uint64_t *>(constants->data() + idleWord);
  arguments.table = constants->data() + firstTable[piece.set] + launch.table;
  arguments.blocks = std::min<uint64_t>(
      blocksFor(piece, launch.mostChunks, piece.blockSize), theNeeds.blocks);
  return group.device().launch(*piece.function, arguments, piece.stream);
}

bool StreamPlan::isLong(const Piece &piece) const {
  return piece.messages->header().mostChunks *
             chunkStride(piece.bytes, piece.program->chunksPerSegment) >=
         longMessageBytes;
}

Status StreamPlan::exchange(const Piece &piece, llvm::ArrayRef<uint32_t> rows) {
  posted.clear();
  for (uint32_t row : rows)
    addMessage(piece, piece.messages->rows()[row]);
  return posted.empty() ? Status()
                        : group.carrier().exchange(posted, piece.stream);
}

void StreamPlan::addMessage(const Piece &piece, const MessageRow &row) {
  unsigned chunks = piece.program->chunksPerSegment;
  uint64_t stride = chunkStride(piece.bytes, chunks);
  uint64_t begin = row.position * stride;
  uint64_t end = std::min(begin + row.count * stride, piece.bytes);
  if (end <= begin)
    return;
  bool sends = row.kind == MessageRow::Send;
  const MessageSlot &place = sends ? row.src : row.dst;
  auto buffer = BufferField(place.buffer);
  char *from = buffer == BufferField::Input    ? piece.input
               : buffer == BufferField::Output ? piece.output
                                               : scratch();
  char *at = from + slotOffset(buffer, place.slot, chunks, piece.bytes,
                               piece.distance);
  posted.push_back({at, end - begin, row.peer, sends});
}
