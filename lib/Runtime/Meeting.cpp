//===- Meeting.cpp - What ranks tell each other before a launch -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommPlan.h"

#include <algorithm>

using namespace sccl;

/// Raises an error for all if a rank calls for something else than this one.
Status CommPlan::compareCalls(const Call &own) {
  for (unsigned other = 0; other < numRanks; ++other)
    if (calls[other].signature != own.signature ||
        calls[other].segmentBytes != own.segmentBytes) {
      plane.raiseOtherCalls(other);
      plane.raise({scclErrorMismatch, other, rank});
      return group.poison();
    } else if (calls[other].regionsPast != own.regionsPast) {
      plane.raise({scclErrorMismatch, other, rank, difference::Memory});
      return group.poison();
    }
  return {};
}

/// Tells programs, types and reductions apart.
uint64_t CommPlan::callSignature(const Flight &flight) const {
  return flight.choice.program->signature << 32 |
         uint64_t(flight.request.type) << 8 | reductionOf(flight);
}

/// Learns what all ranks pass, and decides as all of them do whether peers can
/// access it.
Status CommPlan::meetPeers(Flight &flight, bool &direct) {
  const LaunchRequest &request = flight.request;
  Call own;
  own.signature = callSignature(flight);
  own.segmentBytes = flight.segmentBytes;
  BufferPlace send = group.regions.find(request.send);
  BufferPlace recv = group.regions.find(request.recv);
  own.sendRegion = send.region;
  own.sendOffset = send.offset;
  own.recvRegion = recv.region;
  own.recvOffset = recv.offset;
  own.regionsPast = group.regions.past();
  Call told = own;
  told.signature |= flight.isInPlace ? Call::inPlaceBit : 0;
  if (!plane.exchange(told, calls.data()))
    return group.poison();
  for (Call &call : calls) {
    flight.someInPlace |= (call.signature & Call::inPlaceBit) != 0;
    call.signature &= ~Call::inPlaceBit;
  }
  if (Status status = compareCalls(own); !status.ok())
    return status;
  direct = locateBuffers(flight);
  return {};
}

/// To the program with copies, if that can reach all buffers. All ranks find
/// the same.
bool CommPlan::switchToCopies(Flight &flight) {
  const LaunchRequest &request = flight.request;
  const LoadedProgram *program = flight.choice.program;
  const LoadedProgram *copying = flight.choice.copying;
  if (!group.reachesProcesses() || !copying ||
      !copying->find(request.type, request.op))
    return false;
  flight.choice.program = copying;
  if (locateBuffers(flight))
    return findFunction(flight).ok();
  flight.choice.program = program;
  return false;
}

/// Fills in the table of direct launches; false if a buffer that peers access
/// is out of their reach, or if some rank works in place and the program is not
/// right then. All ranks find the same.
bool CommPlan::locateBuffers(const Flight &flight) {
  const LoadedProgram &program = *flight.choice.program;
  const plan::ProgramEntry &info = *program.info;
  if (flight.someInPlace && !info.inPlace)
    return false;
  PeerEntry *own = tables.of(programSlot(program));
  PeerEntry *table = tables.of(tables.direct());
  bool reachesAll = group.isOneProcess
                        ? group.device->peersReachAnyMemory()
                        : program.hasCopies() && !info.stepsTouchPeers &&
                              group.reachesProcesses() && !isSmall(flight);
  // The address that this rank has for a buffer; null if none.
  auto locate = [&](unsigned other, uint64_t region, uint64_t offset,
                    uint64_t bytes, bool &reachable) -> void * {
    if (region == Call::unregistered) {
      reachable &= reachesAll || bytes == 0;
      return group.isOneProcess || program.hasCopies()
                 ? reinterpret_cast<void *>(offset)
                 : nullptr;
    }
    char *address = group.regions.address({region, offset}, other, bytes);
    reachable &= address != nullptr;
    return address;
  };
  std::copy(own + numRanks, own + tables.size(), table + numRanks);
  bool inputs = true, outputs = true;
  for (unsigned other = 0; other < numRanks; ++other) {
    const Call &call = calls[other];
    const plan::RankLayout &layout = manifest.layout[other];
    uint64_t segment = flight.segmentBytes;
    table[other] = own[other];
    foreign[other] = group.isOneProcess
                         ? 0
                         : (call.sendRegion == Call::unregistered) |
                               (call.recvRegion == Call::unregistered) << 1;
    table[other].input = locate(other, call.sendRegion, call.sendOffset,
                                layout.inputSegments * segment, inputs);
    table[other].output = locate(other, call.recvRegion, call.recvOffset,
                                 layout.outputSegments * segment, outputs);
  }
  return (inputs || !info.peersReadInput) &&
         (outputs || !info.peersTouchOutput);
}

/// Numbers of launches in LL words have 32 bits. Who is about to launch another
/// size than before clears what may be older than half of what that counts to,
/// as docs/Rationale/LL.md explains. `launches` of the program have ended; they
/// may be more by what is enqueued.
Status CommPlan::clearOldWords(const LoadedProgram &program, uint64_t launches,
                               void *stream) {
  constexpr uint64_t oldAfter = uint64_t(1) << 30;
  unsigned slot = programSlot(program);
  if (launches - clearedAfter[slot] < oldAfter)
    return {};
  clearedAfter[slot] = launches;
  // As a number of a launch: 2^31 away from this one, by less than 2^24.
  uint8_t distant = uint8_t((launches >> 24) + 0x80);
  return group.device->fill(
      tables.of(slot)[rank].scratch, distant,
      program.scratchBytes(rank, program.mostOf(maxPiece)), stream);
}

/// A program whose ranks do not announce themselves may begin only when all are
/// done with what came before, if that divides scratch memory otherwise.
Status CommPlan::separate(const LoadedProgram &program, uint64_t bytes,
                          void *stream) {
  bool same = program.signature == lastProgram && bytes == lastBytes;
  lastProgram = program.signature;
  lastBytes = bytes;
  if (same || program.info->announcesReady)
    return {};
  uint64_t launches = 0;
  if (program.info->ranks[rank].scratchSlots != 0)
    if (Status status = group.device->copy(
            &launches, tables.of(programSlot(program))[rank].control,
            sizeof(launches), stream);
        !status.ok())
      return status;
  if (Status status = group.settle(stream); !status.ok())
    return status;
  if (Status status = clearOldWords(program, launches, stream); !status.ok())
    return status;
  if (Status status = group.settle(stream); !status.ok())
    return status;
  return meet(program, bytes);
}

/// Waits for all ranks to come here.
Status CommPlan::meet(const LoadedProgram &program, uint64_t bytes) {
  Call call = {};
  call.signature = program.signature;
  call.segmentBytes = bytes;
  if (!plane.exchange(call, calls.data()))
    return group.poison();
  return compareCalls(call);
}
