//===- Steps.cpp - Programs in which hosts copy ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Such a program has a function for each step, which seldom accesses memory of
// peers, and copies that hosts do or have done: by the copy engines of GPUs, by
// the operating system between processes. Nobody writes to memory of another
// process that is not mapped: the rank there fetches what is for it, so that
// whoever has been stopped until the launch had failed cannot change memory
// that its owner has another use for by then.
//
//===----------------------------------------------------------------------===//

#include "CommPlan.h"

#include "Tracer.h"

#include <algorithm>
#include <unistd.h>

using namespace sccl;

/// Between two looks at the abort word, and two signs of progress.
static constexpr uint64_t bytesPerSlice = 16 << 20;

/// Where a slot of a buffer of rank `owner` begins.
CommPlan::Place CommPlan::placeOf(const Flight &flight, const Piece &piece,
                                  unsigned table, unsigned owner,
                                  BufferField buffer, unsigned slot) const {
  unsigned perSegment = flight.choice.program->chunksPerSegment;
  const PeerEntry &entry = tables.of(table)[owner];
  uint64_t at =
      slotOffset(buffer, slot, perSegment, piece.bytes, piece.distance);
  if (buffer == BufferField::Scratch)
    return {static_cast<char *>(entry.scratch) + at, owner, false};
  bool isOutput = buffer == BufferField::Output;
  if (owner == rank)
    return {(isOutput ? piece.output : const_cast<char *>(piece.input)) + at,
            owner, false};
  return {static_cast<char *>(isOutput ? entry.output : entry.input) + at,
          owner, table == tables.direct() && isForeign(owner, isOutput)};
}

/// True if a copy goes to a buffer that its executor has not mapped.
bool CommPlan::isFetched(const EngineCopy &copy, unsigned table) const {
  return table == tables.direct() && copy.dstRank != copy.executor &&
         BufferField(copy.dstBuffer) == BufferField::Output &&
         isForeign(copy.dstRank, /*isOutput=*/true);
}

/// The memory of a process that is killed may go before the process does.
static bool endsSoon(const ProcessId &process) {
  for (unsigned look = 0; look < 20 && process.isAlive(); ++look)
    usleep(2500);
  return !process.isAlive();
}

/// Copies slice by slice, to be stopped between them.
Status CommPlan::copySlices(const Place &to, const Place &from, uint64_t bytes,
                            void *stream) {
  for (uint64_t at = 0; at < bytes; at += bytesPerSlice) {
    if (Status stopped = group.poison(); !stopped.ok())
      return stopped;
    uint64_t length = std::min(bytesPerSlice, bytes - at);
    bool isTheirs = false;
    const ProcessId &process = group.processes[from.owner];
    Status status =
        from.isForeign
            ? group.device->readFrom(
                  process, reinterpret_cast<uintptr_t>(from.address + at),
                  to.address + at, length, isTheirs)
            : group.device->copy(to.address + at, from.address + at, length,
                                 stream);
    if (!status.ok() && from.isForeign && (isTheirs || !process.isAlive())) {
      bool isLost = status.code() == scclErrorRankLost || endsSoon(process);
      plane.raise(
          {isLost ? scclErrorRankLost : status.code(), from.owner, rank});
      return group.poison();
    }
    if (!status.ok())
      return status;
    plane.advance();
  }
  return group.poison();
}

Status CommPlan::copyChunks(const Flight &flight, const Piece &piece,
                            unsigned table, const EngineCopy &copy) {
  uint64_t stride =
      chunkStride(piece.bytes, flight.choice.program->chunksPerSegment);
  uint64_t start = std::min(copy.position * stride, piece.bytes);
  uint64_t bytes = std::min(copy.count * stride, piece.bytes - start);
  if (bytes == 0)
    return {};
  Place from = placeOf(flight, piece, table, copy.srcRank,
                       BufferField(copy.srcBuffer), copy.srcSlot);
  Place to = placeOf(flight, piece, table, copy.dstRank,
                     BufferField(copy.dstBuffer), copy.dstSlot);
  Tracer *tracer = group.device->tracer();
  uint64_t begin = Tracer::begin(tracer);
  Status status = copySlices(to, from, bytes, flight.request.stream);
  bool isPull = copy.srcRank != rank;
  unsigned peer = isPull ? copy.srcRank : copy.dstRank;
  Tracer::note(tracer, scclTraceTransfer, begin, peer == rank ? -1 : int(peer),
               isPull, bytes);
  return status;
}

/// Gets from peers, when they have it, what they cannot copy to this rank.
Status CommPlan::fetchChunks(const Flight &flight, const Piece &piece,
                             unsigned table, unsigned step) {
  const LoadedProgram &program = *flight.choice.program;
  if (Status status = meet(program, piece.bytes); !status.ok())
    return status;
  for (const EngineCopy &copy : fetches[program.index][step])
    if (isFetched(copy, table))
      if (Status status = copyChunks(flight, piece, table, copy); !status.ok())
        return status;
  return {};
}

/// Executes step after step; nobody begins one before all are done with the one
/// before.
Status CommPlan::runSteps(const Flight &flight, const Piece &piece,
                          unsigned table) {
  const LoadedProgram &program = *flight.choice.program;
  const LaunchRequest &request = flight.request;
  const PeerEntry &own = tables.of(programSlot(program))[rank];
  LaunchArguments arguments =
      argumentsFor(flight, own, piece, tables.onDevice(table));
  const std::vector<std::vector<EngineCopy>> &copies =
      part.part.copies[program.index];
  // Peers may be copying out of their own buffers, or not yet into them.
  bool usesOwnBuffers = table != tables.direct();
  if (usesOwnBuffers) {
    if (Status status = group.settle(request.stream); !status.ok())
      return status;
    if (Status status = meet(program, piece.bytes); !status.ok())
      return status;
  }
  // The same on all ranks.
  bool someFetch = false;
  for (unsigned other = 0; other < numRanks; ++other)
    someFetch |= !usesOwnBuffers && !fetches.empty() &&
                 isForeign(other, /*isOutput=*/true);
  for (unsigned step = 0; step < program.info->steps; ++step) {
    const DeviceFunction *function =
        program.find(request.type, request.op, step);
    if (Status status =
            group.device->launch(*function, arguments, request.stream);
        !status.ok())
      return status;
    for (const EngineCopy &copy : copies[step])
      if (!isFetched(copy, table))
        if (Status status = copyChunks(flight, piece, table, copy);
            !status.ok())
          return status;
    if (Status status = group.settle(request.stream); !status.ok())
      return status;
    if (someFetch)
      if (Status status = fetchChunks(flight, piece, table, step); !status.ok())
        return status;
    uint64_t begin = Tracer::begin(group.device->tracer());
    if (Status status = meet(program, piece.bytes); !status.ok())
      return status;
    Tracer::note(group.device->tracer(), scclTraceBarrier, begin);
  }
  return {};
}
