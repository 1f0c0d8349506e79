//===- StreamPlan.cpp - A plan in the order of streams --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamPlan.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace sccl;

/// Enough to read and write faster than any network.
static constexpr unsigned mostBlocks = 32;
/// Pieces begin at these bytes of a segment, which no element crosses.
static constexpr uint64_t pieceAlignment = 64;
static constexpr uint64_t tableAlignment = 256;

Status StreamPlan::load(const LoadedPlan &plan, unsigned rank, unsigned number,
                        const std::vector<MessageProgram> &tables,
                        StreamGroup &group, const scclConfig &config,
                        std::unique_ptr<StreamPlan> &result) {
  std::unique_ptr<StreamPlan> made(new StreamPlan(plan, rank, tables, group));
  Device &device = group.device();
  made->blocks = config.smBudget
                     ? std::min<unsigned>(mostBlocks, config.smBudget)
                     : mostBlocks;
  if (Status status = loadMessageCode(plan, rank, number, device, made->blocks,
                                      made->programs);
      !status.ok())
    return status;
  if (Status status = made->addRounds(made->blocks); !status.ok())
    return status;
  if (Status status = made->makeMemory(memoryBudget(config, device));
      !status.ok())
    return status;
  result = std::move(made);
  return {};
}

/// Makes lists of the tables that the code is for.
Status StreamPlan::addRounds(unsigned blocks) {
  rounds.resize(tables.size());
  firstTable.resize(tables.size());
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
                "NCCL and RCCL take them; compile it again"};
      RoundProgram &made = rounds[*kernel->rankTables];
      if (made.rounds.empty())
        made = RoundProgram::make(table, blocks);
    }
  return {};
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

/// What rank `of` needs for pieces of `piece` bytes of its segments.
uint64_t StreamPlan::scratchBytes(const LoadedProgram &program, uint64_t piece,
                                  unsigned of) const {
  const plan::RankLayout &layout = manifest.layout[of];
  uint64_t staged = program.info->inPlace ? 0 : layout.inputSegments;
  if (closesGaps(program))
    staged += layout.outputSegments;
  return llvm::SaturatingAdd(program.scratchBytes(of, piece),
                             llvm::SaturatingMultiply(staged, piece));
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

/// Control memory and a word that stays 0, then tables; and scratch.
Status StreamPlan::makeMemory(uint64_t budget) {
  uint64_t bytes = llvm::alignTo(ControlLayout{1, 0, blocks}.controlBytes() +
                                     sizeof(uint64_t),
                                 tableAlignment);
  for (unsigned set = 0; set < rounds.size(); ++set) {
    firstTable[set] = bytes;
    bytes += llvm::alignTo(rounds[set].tables.size(), tableAlignment);
  }
  Device &device = group.device();
  if (Status status = device.allocate(bytes, constants); !status.ok())
    return status;
  for (unsigned set = 0; set < rounds.size(); ++set)
    if (const std::string &table = rounds[set].tables; !table.empty())
      if (Status status = device.copyNow(constants->data() + firstTable[set],
                                         table.data(), table.size());
          !status.ok())
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
  return most == 0 ? Status() : device.allocate(most, scratch);
}

uint64_t StreamPlan::ownBytes() const {
  return constants->size() + (scratch ? scratch->size() : 0);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

Status StreamPlan::launch(const JoinedPlan::Flight &flight) {
  const LaunchRequest &request = flight.request;
  auto isChosen = [&](const LoadedProgram &program) {
    return program.index == flight.choice.program->index;
  };
  auto program = std::find_if(programs.begin(), programs.end(), isChosen);
  if (program == programs.end() || !program->find(request.type, request.op))
    return {scclErrorUnsupported,
            "the plan has no code for messages of this call on a GPU"};
  unsigned slot = program->slot(request.type, request.op);
  const plan::KernelInfo &kernel = *program->kernels[slot];
  Piece piece = {};
  piece.program = &*program;
  piece.messages = &tables[*kernel.rankTables];
  piece.rounds = &rounds[*kernel.rankTables];
  piece.tables = firstTable[*kernel.rankTables];
  piece.function = program->find(request.type, request.op);
  piece.blockSize = kernel.blockSize;
  piece.reduction = reductionNumber(request.type, request.op);
  piece.stream = request.stream;
  piece.distance = flight.segmentBytes;
  Device &device = group.device();
  if (Status status = device.begin(request.stream); !status.ok())
    return status;
  uint64_t most = pieces[program - programs.begin()];
  for (; piece.at < flight.segmentBytes; piece.at += piece.bytes) {
    piece.bytes = std::min(most, flight.segmentBytes - piece.at);
    bool isStaged = flight.isInPlace && !program->info->inPlace;
    auto *send = static_cast<const char *>(request.send);
    auto *recv = static_cast<char *>(request.recv);
    piece.input = send ? const_cast<char *>(send) + piece.at : nullptr;
    piece.output = recv ? recv + piece.at : nullptr;
    Status status = isStaged ? runStaged(flight, piece) : runPiece(piece);
    if (!status.ok())
      return status;
  }
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
  char *area = scratch->data() + piece.program->scratchBytes(rank, piece.bytes);
  if (Status status =
          copySegments(area, piece.bytes, piece.input, segment,
                       layout.inputSegments, piece.bytes, piece.stream);
      !status.ok())
    return status;
  piece.input = area;
  if (!closesGaps(*piece.program))
    return runPiece(piece);
  piece.output = area + layout.inputSegments * piece.bytes;
  piece.distance = piece.bytes;
  if (Status status = runPiece(piece); !status.ok())
    return status;
  return copySegments(output, segment, piece.output, piece.bytes,
                      layout.outputSegments, piece.bytes, piece.stream);
}

Status StreamPlan::runPiece(const Piece &piece) {
  const RoundProgram &program = *piece.rounds;
  llvm::ArrayRef<uint32_t> messages = program.messages;
  for (size_t i = 0; i + 1 < program.rounds.size(); ++i) {
    const RoundProgram::Round &round = program.rounds[i],
                              &next = program.rounds[i + 1];
    for (uint32_t j = round.firstLaunch; j < next.firstLaunch; ++j)
      if (Status status = compute(piece, program.launches[j]); !status.ok())
        return status;
    if (Status status = exchange(
            piece, messages.slice(round.firstMessage,
                                  next.firstMessage - round.firstMessage));
        !status.ok())
      return status;
  }
  return {};
}

Status StreamPlan::compute(const Piece &piece,
                           const RoundProgram::Launch &launch) {
  uint64_t stride = chunkStride(piece.bytes, piece.program->chunksPerSegment);
  constexpr uint64_t accessBytes = 16;
  uint64_t busy = llvm::divideCeil(launch.mostChunks * stride,
                                   piece.blockSize * accessBytes);
  LaunchArguments arguments = {};
  arguments.input = piece.input;
  arguments.output = piece.output;
  arguments.scratch = scratch ? scratch->data() : nullptr;
  arguments.control = constants->data();
  arguments.abort = reinterpret_cast<uint64_t *>(
      constants->data() + ControlLayout{1, 0, blocks}.controlBytes());
  arguments.segment = piece.bytes;
  arguments.distance = piece.distance;
  arguments.table = constants->data() + piece.tables + launch.table;
  arguments.reduction = piece.reduction;
  arguments.blocks = std::clamp<uint64_t>(busy, 1, blocks);
  return group.device().launch(*piece.function, arguments, piece.stream);
}

/// The messages of a round are one group: see MessageTable.h for why groups do
/// not wait for each other forever.
Status StreamPlan::exchange(const Piece &piece, llvm::ArrayRef<uint32_t> rows) {
  if (rows.empty())
    return {};
  return group.device().withStream(piece.stream, [&](void *stream) {
    if (Status status = group.begin(); !status.ok())
      return status;
    Status status;
    for (uint32_t row : rows)
      if (status.ok())
        status = post(piece, piece.messages->rows()[row], stream);
    Status ended = group.end();
    return status.ok() ? ended : status;
  });
}

Status StreamPlan::post(const Piece &piece, const MessageRow &row,
                        void *stream) {
  unsigned chunks = piece.program->chunksPerSegment;
  uint64_t stride = chunkStride(piece.bytes, chunks);
  uint64_t begin = row.position * stride;
  uint64_t end = std::min(begin + row.count * stride, piece.bytes);
  if (end <= begin)
    return {};
  bool sends = row.kind == MessageRow::Send;
  const MessageSlot &place = sends ? row.src : row.dst;
  auto buffer = BufferField(place.buffer);
  char *from = buffer == BufferField::Input    ? piece.input
               : buffer == BufferField::Output ? piece.output
                                               : scratch->data();
  char *at = from + slotOffset(buffer, place.slot, chunks, piece.bytes,
                               piece.distance);
  return sends ? group.send(at, end - begin, row.peer, stream)
               : group.receive(at, end - begin, row.peer, stream);
}
