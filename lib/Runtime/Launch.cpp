//===- Launch.cpp - Executing a collective --------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommPlan.h"

#include <algorithm>

using namespace sccl;

/// Of a segment on a CPU, where nobody has measured. Stays in the second-level
/// cache. On a GPU each launch costs more than a cache gains.
static constexpr uint64_t defaultPiece = 256 << 10;
static constexpr uint64_t pieceAlignment = 64;

/// What a function gets, in the order of KernelABI.h.
LaunchArguments CommPlan::argumentsFor(const Flight &flight,
                                       const PeerEntry &own, const Piece &piece,
                                       PeerEntry *peers) const {
  return {const_cast<char *>(piece.input),
          piece.output,
          own.scratch,
          own.control,
          peers,
          group.abortWord,
          piece.bytes,
          piece.distance,
          flight.rankTable,
          reductionNumber(flight.request.type, flight.request.op),
          blocksOf(flight, piece.bytes)};
}

Status CommPlan::runPiece(const Flight &flight, const Piece &piece,
                          unsigned table) {
  const LoadedProgram &program = *flight.choice.program;
  if (Status status = separate(program, piece.bytes, flight.request.stream);
      !status.ok())
    return status;
  if (program.hasCopies())
    return runSteps(flight, piece, table);
  PeerEntry *peers = tables.onDevice(table);
  const PeerEntry &own = tables.of(programSlot(program))[rank];
  if (table == tables.direct())
    if (Status status = tables.upload(*group.device, flight.request.stream);
        !status.ok())
      return status;
  if (group.together)
    return launchTogether(flight, argumentsFor(flight, own, piece, peers));
  if (Status status = group.device->launch(
          *flight.function, argumentsFor(flight, own, piece, peers),
          flight.request.stream);
      !status.ok())
    return status;
  plane.advance();
  return group.poison();
}

/// One kernel runs all ranks of this device: nothing may be under way when it
/// begins, nor go on before it has ended.
Status CommPlan::launchTogether(const Flight &flight,
                                const LaunchArguments &arguments) {
  if (Status status = group.settle(flight.request.stream); !status.ok())
    return status;
  group.together->deposit(arguments, callSignature(flight));
  if (group.together->isLeader()) {
    bool isAborted = false;
    if (Status status =
            group.together->launch(*flight.virtualKernel, isAborted);
        !status.ok())
      return status;
    if (isAborted)
      return group.poison();
    if (Status status = group.settle(/*stream=*/nullptr); !status.ok())
      return status;
    group.together->finish();
  } else if (!group.together->awaitEnd()) {
    return group.poison();
  }
  plane.advance();
  return group.poison();
}

/// Decides from what all ranks know alike how a launch is cut into pieces.
CommPlan::Route CommPlan::routeFor(const Flight &flight, bool direct) const {
  const plan::ProgramEntry &info = *flight.choice.program->info;
  bool touchesPeers = flight.choice.program->touchesPeers();
  bool hasScratch = std::any_of(
      info.ranks.begin(), info.ranks.end(),
      [](const RankNeeds &needs) { return needs.scratchSlots != 0; });
  // Whoever works in place may need own buffers where others do not.
  bool isBounded = hasScratch || (touchesPeers ? !direct : !info.inPlace);
  uint64_t most =
      isBounded ? flight.choice.program->mostOf(maxPiece) : mostBytes;
  uint64_t wanted = flight.choice.pieceBytes;
  if (wanted == 0)
    wanted =
        isBounded && group.device->isSynchronous() ? defaultPiece : mostBytes;
  Route route;
  route.peersUseBuffers = touchesPeers && direct;
  route.pieceBytes = std::clamp(wanted / pieceAlignment * pieceAlignment,
                                pieceAlignment, most);
  return route;
}

Status CommPlan::copySegments(char *to, uint64_t toPitch, const char *from,
                              uint64_t fromPitch, unsigned segments,
                              uint64_t bytes, void *stream) {
  for (unsigned i = 0; i < segments; ++i)
    if (Status status = group.device->copy(to + i * toPitch,
                                           from + i * fromPitch, bytes, stream);
        !status.ok())
      return status;
  return {};
}

/// Decides which buffers functions get. Those of the caller have the segments
/// of a piece at the distance of whole ones, own ones without gaps; functions
/// know one distance. It may differ between ranks only where no buffer that
/// peers access has several segments.
CommPlan::Staging CommPlan::stagingFor(const Flight &flight,
                                       const Route &route) const {
  const plan::ProgramEntry &info = *flight.choice.program->info;
  const plan::RankLayout &layout = manifest.layout[rank];
  bool own = !route.peersUseBuffers;
  Staging staging;
  staging.input = own && info.peersReadInput;
  staging.output =
      (own && info.peersTouchOutput) || (flight.isInPlace && !info.inPlace);
  staging.closesGaps = (staging.input && mostInputSegments > 1) ||
                       (staging.output && mostOutputSegments > 1);
  if (staging.closesGaps && flight.segmentBytes > route.pieceBytes) {
    staging.input |= layout.inputSegments > 1;
    staging.output |= layout.outputSegments > 1;
  }
  return staging;
}

/// Executes piece after piece.
Status CommPlan::run(const Flight &flight, const Route &route) {
  uint64_t segment = flight.segmentBytes;
  void *stream = flight.request.stream;
  Staging staging = stagingFor(flight, route);
  unsigned table = route.peersUseBuffers ? tables.direct()
                                         : programSlot(*flight.choice.program);
  for (uint64_t at = 0; at < segment; at += route.pieceBytes) {
    uint64_t bytes = std::min(route.pieceBytes, segment - at);
    auto launch = [&](const Piece &piece) {
      return runPiece(flight, piece, table);
    };
    if (Status status = stagePiece(flight, staging, at, bytes, launch);
        !status.ok())
      return status;
    if (!route.peersUseBuffers || at + bytes >= segment)
      continue;
    // The kernel reads the table.
    if (Status status = group.settle(stream); !status.ok())
      return status;
    tables.advance(bytes);
  }
  return group.settle(stream);
}

/// Launches the piece of `bytes` bytes from `at` on, with copies to own buffers
/// and from them.
Status CommPlan::stagePiece(const Flight &flight, const Staging &staging,
                            uint64_t at, uint64_t bytes,
                            llvm::function_ref<Status(const Piece &)> launch) {
  const LaunchRequest &request = flight.request;
  const plan::RankLayout &layout = manifest.layout[rank];
  uint64_t segment = flight.segmentBytes;
  const PeerEntry &own = tables.of(programSlot(*flight.choice.program))[rank];
  char *ownInput = static_cast<char *>(own.input);
  char *ownOutput = static_cast<char *>(own.output);
  const char *send = static_cast<const char *>(request.send);
  char *recv = static_cast<char *>(request.recv);
  uint64_t distance = staging.closesGaps ? bytes : segment;
  if (staging.input)
    if (Status status =
            copySegments(ownInput, distance, send + at, segment,
                         layout.inputSegments, bytes, request.stream);
        !status.ok())
      return status;
  Piece piece;
  piece.input = staging.input ? ownInput : send ? send + at : nullptr;
  piece.output = staging.output ? ownOutput : recv ? recv + at : nullptr;
  piece.bytes = bytes;
  piece.distance = distance;
  if (Status status = launch(piece); !status.ok())
    return status;
  if (!staging.output)
    return {};
  return copySegments(recv + at, segment, ownOutput, distance,
                      layout.outputSegments, bytes, request.stream);
}

Status CommPlan::execute(Flight &flight) {
  bool direct = flight.choice.path == plan::Path::Direct;
  if (direct && flight.choice.program->touchesPeers()) {
    if (Status status = meetPeers(flight, direct); !status.ok())
      return status;
    if (!direct)
      direct = switchToCopies(flight);
    if (!direct)
      if (Status status = stepBack(flight); !status.ok())
        return status;
  }
  return run(flight, routeFor(flight, direct));
}
