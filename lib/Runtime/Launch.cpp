//===- Launch.cpp - Executing a collective --------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Communicator.h"

#include <algorithm>

using namespace sccl;

/// Up to this size of all receive segments together, copies through own buffers
/// cost less than telling each other where buffers are, and than system calls.
static constexpr uint64_t smallBytes = 16 << 10;
/// Of a segment, where nobody has measured. Stays in the second-level cache.
static constexpr uint64_t defaultPiece = 256 << 10;
static constexpr uint64_t pieceAlignment = 64;
static constexpr uint64_t mostBytes = uint64_t(1) << 62;

/// Marks this rank as being in a launch.
class Communicator::InFlight {
public:
  explicit InFlight(ControlPlane &plane) : state(plane.state(plane.rank())) {
    uint64_t idle = state.load(std::memory_order_relaxed) & ~uint64_t(1);
    entered = state.compare_exchange_strong(idle, idle + 1);
  }
  ~InFlight() { leave(); }
  void leave() {
    if (entered)
      state.store(state.load(std::memory_order_relaxed) + 1);
    entered = false;
  }
  bool entered;

private:
  ControlPlane::Word &state;
};

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// True if [a, a + aBytes) and [b, b + bBytes) have a byte in common.
static bool overlap(uintptr_t a, uint64_t aBytes, uintptr_t b,
                    uint64_t bBytes) {
  return aBytes != 0 && bBytes != 0 && a < b + bBytes && b < a + aBytes;
}

Status Communicator::checkBuffers(Flight &flight) const {
  const LaunchRequest &request = flight.request;
  const plan::RankLayout &layout = manifest.layout[rank];
  uint64_t sendBytes = layout.inputSegments * flight.segmentBytes;
  uint64_t recvBytes = layout.outputSegments * flight.segmentBytes;
  uintptr_t send = uintptr_t(request.send), recv = uintptr_t(request.recv);
  uintptr_t alignment = dataTypeBytes(request.type);
  for (auto [address, bytes, name] :
       {std::tuple{send, sendBytes, "send"}, {recv, recvBytes, "recv"}}) {
    if (bytes != 0 && address == 0)
      return invalid(std::string(name) + " is null, and should have " +
                     std::to_string(bytes) + " bytes");
    if (bytes != 0 && address % alignment != 0)
      return invalid(std::string(name) + " is not aligned to " +
                     std::to_string(alignment) + " bytes");
    if (bytes != 0 && address + bytes < address)
      return invalid(std::string(name) + " with " + std::to_string(bytes) +
                     " bytes goes beyond the end of memory");
    if (bytes != 0)
      if (Status status =
              device->checkBuffer(reinterpret_cast<void *>(address), name);
          !status.ok())
        return status;
  }
  if (!overlap(send, sendBytes, recv, recvBytes))
    return {};
  flight.isInPlace = layout.inPlaceOffset &&
                     send == recv + uint64_t(int64_t(*layout.inPlaceOffset)) *
                                        flight.segmentBytes;
  if (flight.isInPlace)
    return {};
  return invalid("send and recv overlap other than " + manifest.collective +
                 " allows in place");
}

Status Communicator::checkTypes(const LaunchRequest &request) const {
  unsigned elementBytes = dataTypeBytes(request.type);
  if (elementBytes == 0)
    return invalid("type is " + std::to_string(int(request.type)) +
                   ", expected 0 to " + std::to_string(numDataTypes - 1));
  if (!reductionName(request.op))
    return invalid("op is " + std::to_string(int(request.op)) +
                   ", expected 0 to " + std::to_string(numReductions - 1));
  const plan::RankLayout &layout = manifest.layout[rank];
  uint64_t segments =
      std::max({layout.inputSegments, layout.outputSegments, 1u});
  if (request.count > mostBytes / elementBytes / segments)
    return invalid("count is " + std::to_string(request.count) +
                   ", which is too much for " + std::to_string(segments) +
                   " segments");
  return {};
}

Status Communicator::check(const LaunchRequest &request, Flight &flight) const {
  flight.request = request;
  if (Status status = checkTypes(request); !status.ok())
    return status;
  if (Status status = device->checkStream(request.stream); !status.ok())
    return status;
  flight.segmentBytes = request.count * dataTypeBytes(request.type);
  return checkBuffers(flight);
}

/// What this rank passes to a function, beside addresses; null if nothing.
const void *Communicator::rankTableOf(const Program &program,
                                      const LaunchRequest &request) const {
  const plan::KernelInfo *kernel =
      program.kernels[program.slot(request.type, request.op)];
  return kernel && kernel->rankTables ? rankTables[*kernel->rankTables]
                                      : nullptr;
}

Status Communicator::findFunction(Flight &flight) const {
  const Program &program = *flight.choice.program;
  const LaunchRequest &request = flight.request;
  flight.function = program.find(request.type, request.op);
  flight.rankTable = rankTableOf(program, request);
  flight.virtualKernel =
      program.virtualKernels[program.slot(request.type, request.op)].get();
  if (flight.function)
    return {};
  return {scclErrorUnsupported, std::string("the plan cannot reduce ") +
                                    dataTypeName(flight.request.type) + " " +
                                    reductionName(flight.request.op) +
                                    "; it has: " + listReductions(manifest)};
}

bool Communicator::isSmall(const Flight &flight) const {
  return std::max(mostInputSegments, mostOutputSegments) *
             flight.segmentBytes <=
         smallBytes;
}

/// From a program whose ranks access the caller's buffers to another one, or to
/// the communicator's buffers.
Status Communicator::stepBack(Flight &flight) const {
  flight.choice.path = plan::Path::Staging;
  if (!flight.choice.aloof)
    return {};
  flight.choice.program = flight.choice.aloof;
  flight.choice.path = plan::Path::Direct;
  return findFunction(flight);
}

Status Communicator::choose(Flight &flight) const {
  flight.choice = choiceFor(manifest.sendSegments * flight.segmentBytes);
  Choice &choice = flight.choice;
  if (choice.path == plan::Path::Auto) {
    choice.path = plan::Path::Direct;
    if (choice.program->touchesPeers() && isSmall(flight))
      if (Status status = stepBack(flight); !status.ok())
        return status;
  }
  return findFunction(flight);
}

//===----------------------------------------------------------------------===//
// Meeting the peers
//===----------------------------------------------------------------------===//

void Communicator::describeBuffer(const void *buffer, uint64_t &region,
                                  uint64_t &offset) const {
  uintptr_t address = uintptr_t(buffer);
  for (size_t i = 0; i < regions.size(); ++i) {
    if (regions[i].parts.empty())
      continue;
    const DeviceBuffer &part = *regions[i].parts[rank];
    uintptr_t begin = uintptr_t(part.data());
    if (address >= begin && address < begin + part.size()) {
      region = i;
      offset = address - begin;
      return;
    }
  }
  region = Call::unregistered;
  offset = address;
}

/// Raises an error for all if a rank calls for something else than this one.
Status Communicator::compareCalls(const Call &own) {
  for (unsigned other = 0; other < numRanks; ++other)
    if (calls[other].signature != own.signature ||
        calls[other].segmentBytes != own.segmentBytes) {
      plane.raise({scclErrorMismatch, other, rank});
      return poison();
    }
  return {};
}

/// Tells programs, types and reductions apart.
uint64_t Communicator::callSignature(const Flight &flight) {
  return flight.choice.program->signature << 32 |
         uint64_t(flight.request.type) << 8 | uint64_t(flight.request.op);
}

/// Learns what all ranks pass, and decides as all of them do whether peers can
/// access it.
Status Communicator::meetPeers(Flight &flight, bool &direct) {
  const LaunchRequest &request = flight.request;
  Call own;
  own.signature = callSignature(flight);
  own.segmentBytes = flight.segmentBytes;
  describeBuffer(request.send, own.sendRegion, own.sendOffset);
  describeBuffer(request.recv, own.recvRegion, own.recvOffset);
  uint64_t signature = own.signature;
  own.signature |= flight.isInPlace ? Call::inPlaceBit : 0;
  if (!plane.exchange(own, calls.data()))
    return poison();
  for (Call &call : calls) {
    flight.someInPlace |= (call.signature & Call::inPlaceBit) != 0;
    call.signature &= ~Call::inPlaceBit;
  }
  own.signature = signature;
  if (Status status = compareCalls(own); !status.ok())
    return status;
  direct = locateBuffers(flight);
  return {};
}

/// To the program with copies, if that can reach all buffers. All ranks find
/// the same.
bool Communicator::switchToCopies(Flight &flight) {
  const LaunchRequest &request = flight.request;
  const Program *program = flight.choice.program;
  const Program *copying = flight.choice.copying;
  if (!reachesProcesses || !copying || !copying->find(request.type, request.op))
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
bool Communicator::locateBuffers(const Flight &flight) {
  const Program &program = *flight.choice.program;
  const plan::ProgramInfo &info = *program.info;
  if (flight.someInPlace && !info.inPlace)
    return false;
  PeerEntry *own = tableOf(programSlot(program));
  PeerEntry *table = tableOf(programs.size());
  bool reachesAll = isOneProcess ? device->peersReachAnyMemory()
                                 : program.hasCopies() && reachesProcesses &&
                                       !isSmall(flight);
  // The address that this rank has for a buffer; null if none.
  auto locate = [&](unsigned other, uint64_t region, uint64_t offset,
                    uint64_t bytes, bool &reachable) -> void * {
    if (region == Call::unregistered) {
      reachable &= reachesAll || bytes == 0;
      return isOneProcess || program.hasCopies()
                 ? reinterpret_cast<void *>(offset)
                 : nullptr;
    }
    if (region >= regions.size() || regions[region].parts.empty() ||
        offset > regions[region].parts[other]->size() ||
        bytes > regions[region].parts[other]->size() - offset) {
      reachable = false;
      return nullptr;
    }
    return regions[region].parts[other]->data() + offset;
  };
  bool inputs = true, outputs = true;
  for (unsigned other = 0; other < numRanks; ++other) {
    const Call &call = calls[other];
    const plan::RankLayout &layout = manifest.layout[other];
    uint64_t segment = flight.segmentBytes;
    table[other] = own[other];
    foreign[other] = isOneProcess
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

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// A program whose ranks do not announce themselves may begin only when all are
/// done with what came before, if that divides scratch memory otherwise.
Status Communicator::separate(const Program &program, uint64_t bytes,
                              void *stream) {
  bool same = program.signature == lastProgram && bytes == lastBytes;
  lastProgram = program.signature;
  lastBytes = bytes;
  if (same || program.info->announcesReady)
    return {};
  if (Status status = settle(stream); !status.ok())
    return status;
  return meet(program, bytes);
}

/// Waits for all ranks to come here.
Status Communicator::meet(const Program &program, uint64_t bytes) {
  Call call = {};
  call.signature = program.signature;
  call.segmentBytes = bytes;
  if (!plane.exchange(call, calls.data()))
    return poison();
  return compareCalls(call);
}

/// Waits for what was enqueued. Once the launch is given up, kernels end by
/// themselves; if they do not, the device is lost.
Status Communicator::settle(void *stream) {
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> deadline;
  bool done = device->isSynchronous();
  while (!done) {
    if (Status status = device->poll(stream, done); !status.ok())
      return status;
    if (done)
      break;
    if (plane.abortWord().load(std::memory_order_relaxed) != 0) {
      if (!deadline)
        deadline = Clock::now() +
                   std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(config.timeoutSeconds));
      if (Clock::now() > *deadline)
        return {scclErrorDevice,
                "a kernel did not end after the launch was given up"};
    }
    Patience::pause();
  }
  plane.advance();
  return poison();
}

/// What a function gets, in the order of KernelABI.h.
LaunchArguments Communicator::argumentsFor(const Flight &flight,
                                           const PeerEntry &own,
                                           const Piece &piece,
                                           unsigned table) const {
  return {const_cast<char *>(piece.input),
          piece.output,
          own.scratch,
          own.control,
          deviceTableOf(table),
          abortWord,
          piece.bytes,
          piece.distance,
          flight.rankTable};
}

Status Communicator::runPiece(const Flight &flight, const Piece &piece,
                              unsigned table) {
  const Program &program = *flight.choice.program;
  if (Status status = separate(program, piece.bytes, flight.request.stream);
      !status.ok())
    return status;
  if (program.hasCopies())
    return runSteps(flight, piece, table);
  const PeerEntry &own = tableOf(programSlot(program))[rank];
  if (table == programs.size())
    if (Status status = uploadTable(flight.request.stream); !status.ok())
      return status;
  if (together)
    return launchTogether(flight, argumentsFor(flight, own, piece, table));
  if (Status status = device->launch(*flight.function,
                                     argumentsFor(flight, own, piece, table),
                                     flight.request.stream);
      !status.ok())
    return status;
  plane.advance();
  return poison();
}

/// One kernel runs all ranks of this device: nothing may be under way when it
/// begins, nor go on before it has ended.
Status Communicator::launchTogether(const Flight &flight,
                                    const LaunchArguments &arguments) {
  if (Status status = settle(flight.request.stream); !status.ok())
    return status;
  together->deposit(arguments, callSignature(flight));
  if (together->isLeader()) {
    bool isAborted = false;
    if (Status status = together->launch(*flight.virtualKernel, isAborted);
        !status.ok())
      return status;
    if (isAborted)
      return poison();
    if (Status status = settle(/*stream=*/nullptr); !status.ok())
      return status;
    together->finish();
  } else if (!together->awaitEnd()) {
    return poison();
  }
  plane.advance();
  return poison();
}

/// Decides from what all ranks know alike how a launch is cut into pieces.
Communicator::Route Communicator::routeFor(const Flight &flight,
                                           bool direct) const {
  const plan::ProgramInfo &info = *flight.choice.program->info;
  bool touchesPeers = flight.choice.program->touchesPeers();
  bool hasScratch = std::any_of(
      info.ranks.begin(), info.ranks.end(),
      [](const plan::RankNeeds &needs) { return needs.scratchSlots != 0; });
  // Whoever works in place may need own buffers where others do not.
  bool isBounded = hasScratch || (touchesPeers ? !direct : !info.inPlace);
  uint64_t most = isBounded ? maxPiece : mostBytes;
  uint64_t wanted = flight.choice.pieceBytes;
  if (wanted == 0)
    wanted = isBounded ? defaultPiece : mostBytes;
  Route route;
  route.peersUseBuffers = touchesPeers && direct;
  route.pieceBytes = std::clamp(wanted / pieceAlignment * pieceAlignment,
                                pieceAlignment, most);
  return route;
}

Status Communicator::copySegments(char *to, uint64_t toPitch, const char *from,
                                  uint64_t fromPitch, unsigned segments,
                                  uint64_t bytes, void *stream) {
  for (unsigned i = 0; i < segments; ++i)
    if (Status status =
            device->copy(to + i * toPitch, from + i * fromPitch, bytes, stream);
        !status.ok())
      return status;
  return {};
}

/// Decides which buffers functions get. Those of the caller have the segments
/// of a piece at the distance of whole ones, own ones without gaps; functions
/// know one distance. It may differ between ranks only where no buffer that
/// peers access has several segments.
Communicator::Staging Communicator::stagingFor(const Flight &flight,
                                               const Route &route) const {
  const plan::ProgramInfo &info = *flight.choice.program->info;
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
Status Communicator::run(const Flight &flight, const Route &route) {
  const LaunchRequest &request = flight.request;
  const plan::RankLayout &layout = manifest.layout[rank];
  uint64_t segment = flight.segmentBytes;
  Staging staging = stagingFor(flight, route);
  unsigned slot = programSlot(*flight.choice.program);
  unsigned table = route.peersUseBuffers ? unsigned(programs.size()) : slot;
  char *ownInput = static_cast<char *>(tableOf(slot)[rank].input);
  char *ownOutput = static_cast<char *>(tableOf(slot)[rank].output);
  const char *send = static_cast<const char *>(request.send);
  char *recv = static_cast<char *>(request.recv);
  for (uint64_t at = 0; at < segment; at += route.pieceBytes) {
    uint64_t bytes = std::min(route.pieceBytes, segment - at);
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
    if (Status status = runPiece(flight, piece, table); !status.ok())
      return status;
    if (staging.output)
      if (Status status =
              copySegments(recv + at, segment, ownOutput, distance,
                           layout.outputSegments, bytes, request.stream);
          !status.ok())
        return status;
    if (!route.peersUseBuffers || at + bytes >= segment)
      continue;
    // The kernel reads the table.
    if (Status status = settle(request.stream); !status.ok())
      return status;
    advanceTable(bytes);
  }
  return settle(request.stream);
}

/// Moves the user's buffers in the table of direct launches on by `bytes`.
void Communicator::advanceTable(uint64_t bytes) {
  PeerEntry *table = tableOf(programs.size());
  for (unsigned other = 0; other < numRanks; ++other)
    for (void **address : {&table[other].input, &table[other].output})
      if (*address)
        *address = static_cast<char *>(*address) + bytes;
}

/// After an abort: peers may still be writing to this rank's buffers. They stop
/// soon, because nobody waits any longer.
void Communicator::leaveTogether() {
  auto limit = std::chrono::duration<double>(config.timeoutSeconds);
  auto deadline = std::chrono::steady_clock::now() + limit;
  for (unsigned other = 0; other < numRanks; ++other)
    while (other != rank && plane.state(other).load() % 2 != 0 &&
           processes[other].isAlive() &&
           std::chrono::steady_clock::now() < deadline)
      Patience::pause();
}

Status Communicator::execute(Flight &flight) {
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

Status Communicator::launch(const LaunchRequest &request) {
  Flight flight;
  Status status = check(request, flight);
  if (status.ok())
    status = choose(flight);
  if (!status.ok()) {
    // Nothing has happened here, but others may be waiting.
    plane.leaveNote(status.message());
    return status;
  }
  if (request.count == 0)
    return poison();
  InFlight inFlight(plane);
  if (!inFlight.entered)
    return {scclErrorBusy, "another launch of this rank is in flight"};
  if (status = poison(); !status.ok())
    return status;
  plane.takeNoteBack();
  Patience::begin(numRanks);
  status = device->begin(request.stream);
  if (status.ok())
    status = execute(flight);
  if (status.ok())
    return status;
  if (poison().ok()) {
    plane.leaveNote(status.message());
    plane.raise({status.code(), rank, rank});
  }
  // What is enqueued may still access the caller's buffers, and own memory.
  (void)settle(request.stream);
  if (together)
    (void)settle(/*stream=*/nullptr);
  inFlight.leave();
  leaveTogether();
  return status;
}
