//===- AsyncLaunch.cpp - Launches in the order of streams -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// On a GPU a launch is enqueued, and maybe captured in a graph that is replayed
// later: the host neither knows when it happens nor how often. So nothing here
// counts launches or waits for peers.
//
// Peers access the caller's buffers if these are in memory of scclMemAlloc, at
// the same place on all ranks. The tables of addresses are kept, one for each
// such place, and never change.
//
// Programs that do not announce themselves divide scratch memory by the size of
// a segment, which may only change when all ranks have ended the launch before.
// What sees to that is a separator: a launch of the same program with memory of
// its own, always of one size. When a rank has ended it, all ranks whose memory
// it writes to have begun it, and so have ended what came before. Whoever has
// captured a program cannot know what was replayed before a launch, and
// separates every one.
//
//===----------------------------------------------------------------------===//

#include "CommPlan.h"

#include <algorithm>

using namespace sccl;

/// True if peers can access the caller's buffers as far as the program needs;
/// all ranks find the same. Then `key` tells where they are.
bool CommPlan::findTables(const Flight &flight, DirectKey &key) const {
  const plan::ProgramEntry &info = *flight.choice.program->info;
  if (flight.isInPlace && !info.inPlace)
    return false;
  key.program = programSlot(*flight.choice.program);
  key.isInPlace = flight.isInPlace;
  if (info.peersTouchOutput || flight.isInPlace)
    key.recv = group.regions.find(flight.request.recv);
  if (info.peersReadInput && !flight.isInPlace)
    key.send = group.regions.find(flight.request.send);
  for (unsigned other = 0; other < numRanks; ++other) {
    const plan::RankLayout &layout = manifest.layout[other];
    // A rank without the buffer does not know where the others have it.
    if ((info.peersReadInput && layout.inputSegments == 0) ||
        (info.peersTouchOutput && layout.outputSegments == 0) ||
        (flight.isInPlace && !layout.inPlaceOffset))
      return false;
  }
  return (!info.peersTouchOutput || key.recv.isRegistered()) &&
         (!info.peersReadInput ||
          (flight.isInPlace ? key.recv : key.send).isRegistered());
}

/// Where the caller's buffers of rank `other` are; false if one that peers
/// access goes beyond the memory it is in.
bool CommPlan::locate(const Flight &flight, const DirectKey &key,
                      unsigned other, PeerEntry &entry) const {
  const plan::ProgramEntry &info = *flight.choice.program->info;
  const plan::RankLayout &layout = manifest.layout[other];
  uint64_t segment = flight.segmentBytes;
  entry.input = entry.output = nullptr;
  BufferPlace send = key.send;
  if (key.isInPlace) {
    send = key.recv;
    send.offset += uint64_t(int64_t(*layout.inPlaceOffset)) * segment;
  }
  if (info.peersReadInput)
    entry.input =
        group.regions.address(send, other, layout.inputSegments * segment);
  if (info.peersTouchOutput)
    entry.output =
        group.regions.address(key.recv, other, layout.outputSegments * segment);
  return (entry.input || !info.peersReadInput) &&
         (entry.output || !info.peersTouchOutput);
}

/// The tables for the pieces of a launch; null if a buffer goes beyond the
/// memory it is in. The same on all ranks: each looks at the buffers of all.
Status CommPlan::fillTables(const Flight &flight, const DirectKey &key,
                            PeerEntry *&peers) {
  peers = nullptr;
  PeerEntry entry;
  for (unsigned other = 0; other < numRanks; ++other)
    if (!locate(flight, key, other, entry))
      return {};
  peers = tables.kept.find(key);
  if (peers)
    return {};
  std::vector<PeerEntry> entries;
  for (uint64_t piece = 0; piece < key.pieces; ++piece) {
    for (unsigned other = 0; other < numRanks; ++other) {
      PeerEntry &made = entries.emplace_back(tables.of(key.program)[other]);
      locate(flight, key, other, made);
      for (void **address : {&made.input, &made.output})
        if (*address)
          *address = static_cast<char *>(*address) + piece * key.pieceBytes;
    }
    const PeerEntry *table = tables.of(key.program);
    entries.insert(entries.end(), table + numRanks, table + tables.size());
  }
  return tables.kept.keep(*group.device, key, entries, peers);
}

/// Launches a program so that no rank goes on before the others have ended what
/// came before.
Status CommPlan::enqueueSeparator(const Flight &flight) {
  const LoadedProgram &program = *flight.choice.program;
  unsigned table = tables.separator(programSlot(program));
  const PeerEntry &own = tables.of(table)[rank];
  Piece piece;
  piece.input = static_cast<char *>(own.input);
  piece.output = static_cast<char *>(own.output);
  piece.bytes = piece.distance = program.separatorBytes();
  LaunchArguments arguments =
      argumentsFor(flight, own, piece, tables.onDevice(table));
  // Nobody wants to know what it does.
  if (trace.has(arguments.table))
    arguments.table = nullptr;
  return group.device->launch(*flight.function, arguments,
                              flight.request.stream);
}

Status CommPlan::enqueuePiece(const Flight &flight, const Piece &piece,
                              PeerEntry *peers, bool isCaptured) {
  const LoadedProgram &program = *flight.choice.program;
  unsigned slot = programSlot(program);
  void *stream = flight.request.stream;
  if (program.info->ranks[rank].channels == 0)
    return {};
  const PeerEntry &own = tables.of(slot)[rank];
  // The first word of control memory counts the launches that have ended.
  ControlPlane::Lane &lane = group.lanes[firstLane + slot];
  if (Status status = group.device->copy(&lane.begun, own.control,
                                         sizeof(uint64_t), stream);
      !status.ok())
    return status;
  uint64_t &last = lastSegments[slot];
  bool isSame = last == piece.bytes || last == never;
  if (!program.info->announcesReady && (isCaptured || !isSame)) {
    // What a graph clears, it would clear in each replay.
    uint64_t launches = plane.lane(rank, firstLane + slot).begun.load();
    if (!isCaptured)
      if (Status status = clearOldWords(program, launches, stream);
          !status.ok())
        return status;
    if (Status status = enqueueSeparator(flight); !status.ok())
      return status;
  }
  last = isCaptured || last == unknown ? unknown : piece.bytes;
  if (Status status = group.device->launch(
          *flight.function, argumentsFor(flight, own, piece, peers), stream);
      !status.ok())
    return status;
  return group.device->copy(&lane.ended, own.control, sizeof(uint64_t), stream);
}

Status CommPlan::enqueue(Flight &flight) {
  bool isCaptured = false;
  if (Status status =
          group.device->isCaptured(flight.request.stream, isCaptured);
      !status.ok())
    return status;
  DirectKey key;
  PeerEntry *peers = nullptr;
  bool isDirect = flight.choice.path == plan::Path::Direct;
  if (isDirect && flight.choice.program->touchesPeers()) {
    isDirect = findTables(flight, key);
    Route route = routeFor(flight, true);
    key.pieces = (flight.segmentBytes - 1) / route.pieceBytes + 1;
    key.pieceBytes = key.pieces > 1 ? route.pieceBytes : 0;
    key.segment = flight.isInPlace || key.pieces > 1 ? flight.segmentBytes : 0;
    if (isDirect)
      if (Status status = fillTables(flight, key, peers); !status.ok())
        return status;
    isDirect = peers != nullptr;
    if (!isDirect)
      if (Status status = stepBack(flight); !status.ok())
        return status;
  }
  Route route = routeFor(flight, isDirect);
  Staging staging = stagingFor(flight, route);
  if (!peers)
    peers = tables.onDevice(programSlot(*flight.choice.program));
  for (uint64_t at = 0; at < flight.segmentBytes; at += route.pieceBytes) {
    uint64_t bytes = std::min(route.pieceBytes, flight.segmentBytes - at);
    auto launch = [&](const Piece &piece) {
      return enqueuePiece(flight, piece, peers, isCaptured);
    };
    if (Status status = stagePiece(flight, staging, at, bytes, launch);
        !status.ok())
      return status;
    if (route.peersUseBuffers)
      peers += tables.size();
  }
  return group.poison();
}
