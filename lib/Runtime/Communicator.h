//===- Communicator.h - One rank of a group ---------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_COMMUNICATOR_H
#define SCCL_LIB_RUNTIME_COMMUNICATOR_H

#include "Bootstrap.h"
#include "ControlPlane.h"
#include "Fork.h"
#include "Programs.h"
#include "Runtime/Devices/VirtualRanks.h"
#include "Watchdog.h"

#include <memory>
#include <optional>

namespace sccl {

/// The arguments of a launch.
struct LaunchRequest {
  const void *send;
  void *recv;
  size_t count;
  scclDataType type;
  scclRedOp op;
  void *stream;
};

/// Memory in whole pages, so that a device can map it and nothing else.
template <typename T> struct PageAllocator {
  using value_type = T;
  static constexpr std::align_val_t page{4096};
  static constexpr size_t pagedBytes(size_t count) {
    return (count * sizeof(T) + size_t(page) - 1) / size_t(page) * size_t(page);
  }
  T *allocate(size_t count) {
    return static_cast<T *>(::operator new(pagedBytes(count), page));
  }
  void deallocate(T *memory, size_t) { ::operator delete(memory, page); }
  bool operator==(const PageAllocator &) const = default;
};
class Communicator {
public:
  /// Collective.
  static Status create(std::shared_ptr<const LoadedPlan> plan, unsigned rank,
                       unsigned numRanks, const Bootstrap &bootstrap,
                       const scclConfig &config,
                       std::unique_ptr<Communicator> &comm);
  ~Communicator();

  /// True in a child of the process that made the communicator. There, threads
  /// are missing, and memory is still that of the parent: all that may be
  /// called is `abandon`.
  bool isInherited() const { return forkCount() != origin; }
  /// Fails if `isInherited`.
  Status checkProcess() const;
  /// Unmaps memory that is shared, and leaves the rest to the end of this
  /// process: destructors would wait for threads, and call drivers of GPUs.
  static void abandon(std::unique_ptr<Communicator> comm);

  /// Collective; see scclLaunch.
  Status launch(const LaunchRequest &request);
  /// Collective; see scclMemAlloc and scclMemFree.
  Status allocate(size_t bytes, void **memory);
  Status free(void *memory);
  /// See scclMemCopy.
  Status copy(void *to, const void *from, size_t bytes);

  void abort();
  /// Why the communicator is out of use; success if it is not.
  Status poison() const;

  const char *target() const { return device->target().c_str(); }
  uint64_t ownBytes() const { return memory[rank]->size(); }
  Status queryChoice(size_t count, scclDataType type, scclRedOp op,
                     scclChoice &choice) const;
  Status setChoice(const scclChoice *choice);

private:
  /// What to execute.
  struct Choice {
    const Program *program = nullptr;
    /// Of the same schedule, but leaves the caller's buffers alone; or null.
    const Program *aloof = nullptr;
    /// Of the same schedule, with copies by hosts; or null.
    const Program *copying = nullptr;
    plan::Path path = plan::Path::Auto;
    uint64_t pieceBytes = 0; ///< 0: the default
    const char *reason = "";
  };
  struct SizedChoice {
    uint64_t firstByte;
    Choice choice;
  };
  /// Memory of scclMemAlloc, as all ranks have it.
  struct Region {
    std::vector<std::unique_ptr<DeviceBuffer>> parts; ///< by rank; or empty
  };
  /// A launch, checked and on its way.
  struct Flight {
    LaunchRequest request;
    Choice choice;
    const DeviceFunction *function = nullptr;
    const DeviceFunction *virtualKernel = nullptr; ///< if this rank launches it
    const void *rankTable = nullptr;
    uint64_t segmentBytes = 0;
    bool isInPlace = false;
    bool someInPlace = false; ///< this rank or another one
  };
  /// How it goes; the same on all ranks.
  struct Route {
    bool peersUseBuffers = false; ///< those of the caller
    uint64_t pieceBytes = 0;      ///< of a segment
  };
  /// Which buffers are own ones, for this rank.
  struct Staging {
    bool input = false, output = false;
    bool closesGaps = false; ///< segments of a piece follow each other
  };
  /// The part of all segments that one launch of the function is for.
  struct Piece {
    const char *input = nullptr;
    char *output = nullptr;
    uint64_t bytes = 0;    ///< of each segment
    uint64_t distance = 0; ///< from segment to segment, bytes
  };
  /// Where chunks are: mapped here, or an address of another rank's process.
  struct Place {
    char *address;
    unsigned owner;
    bool isForeign;
  };
  class InFlight;

  Communicator(std::shared_ptr<const LoadedPlan> plan, unsigned rank,
               unsigned numRanks, const Bootstrap &bootstrap,
               const scclConfig &config);

  Status agreeOnBytes(size_t bytes) const;

  // Creation.
  Status prepare();
  Status connect();
  Status shareDevice(const std::vector<struct Hello> &hellos);
  Status mapPeers(const std::vector<struct Hello> &hellos);
  Status placeTables();
  Status uploadTable(void *stream);
  Status placeRankTables();
  Status probeProcesses(const std::vector<struct Hello> &hellos);
  void fillStagingTables();
  uint64_t fitPiece() const;
  void resolveTables();
  bool resolveTable(const plan::SizeTable &table, const char *reason);
  Choice makeChoice(const Program &program, plan::Path path,
                    uint64_t pieceBytes, const char *reason) const;

  // Launches.
  Status check(const LaunchRequest &request, Flight &flight) const;
  Status checkTypes(const LaunchRequest &request) const;
  Status checkBuffers(Flight &flight) const;
  Status choose(Flight &flight) const;
  Status findFunction(Flight &flight) const;
  bool isSmall(const Flight &flight) const;
  Status stepBack(Flight &flight) const;
  const Choice &choiceFor(uint64_t bytes) const;
  Status execute(Flight &flight);
  Status meetPeers(Flight &flight, bool &direct);
  Status compareCalls(const Call &own);
  static uint64_t callSignature(const Flight &flight);
  void describeBuffer(const void *buffer, uint64_t &region,
                      uint64_t &offset) const;
  bool locateBuffers(const Flight &flight);
  bool switchToCopies(Flight &flight);
  Route routeFor(const Flight &flight, bool direct) const;
  Status run(const Flight &flight, const Route &route);
  Staging stagingFor(const Flight &flight, const Route &route) const;
  Status runPiece(const Flight &flight, const Piece &piece, unsigned table);
  LaunchArguments argumentsFor(const Flight &flight, const PeerEntry &own,
                               const Piece &piece, unsigned table) const;
  const void *rankTableOf(const Program &program,
                          const LaunchRequest &request) const;
  Status launchTogether(const Flight &flight, const LaunchArguments &arguments);
  Status separate(const Program &program, uint64_t bytes, void *stream);
  Status meet(const Program &program, uint64_t bytes);
  Status runSteps(const Flight &flight, const Piece &piece, unsigned table);
  Status copyChunks(const Flight &flight, const Piece &piece, unsigned table,
                    const EngineCopy &copy);
  Place placeOf(const Flight &flight, const Piece &piece, unsigned table,
                unsigned owner, BufferField buffer, unsigned slot) const;
  Status copySlices(const Place &to, const Place &from, uint64_t bytes,
                    void *stream);
  Status settle(void *stream);
  Status copyAndSettle(void *to, const void *from, uint64_t bytes);
  void advanceTable(uint64_t bytes);
  Status copySegments(char *to, uint64_t toPitch, const char *from,
                      uint64_t fromPitch, unsigned segments, uint64_t bytes,
                      void *stream);
  void leaveTogether();
  /// The table for own buffers of program number `slot`; that of direct
  /// launches comes after all of them.
  PeerEntry *tableOf(unsigned slot) {
    return peerTables.data() + size_t(slot) * numRanks;
  }
  const PeerEntry *tableOf(unsigned slot) const {
    return peerTables.data() + size_t(slot) * numRanks;
  }
  /// The same as functions see it.
  PeerEntry *deviceTableOf(unsigned slot) const;
  unsigned programSlot(const Program &program) const {
    return unsigned(&program - programs.data());
  }

  std::shared_ptr<const LoadedPlan> plan;
  const plan::Manifest &manifest;
  unsigned rank, numRanks;
  unsigned origin = forkCount(); ///< tells the process
  Bootstrap bootstrap;
  scclConfig config;

  ControlPlane plane;
  /// The tables of peers that functions get: one per program for own buffers,
  /// and one that every direct launch fills in.
  std::vector<PeerEntry> peerTables;
  std::vector<ProcessId> processes;
  bool isOneProcess = false;
  /// True if every rank can copy to memory of the others that it has not
  /// mapped.
  bool reachesProcesses = false;
  std::unique_ptr<Device> device;
  std::vector<Program> programs;
  LoadedPart part;                      ///< of this rank
  std::vector<const void *> rankTables; ///< as functions see them, by set
  std::unique_ptr<DeviceBuffer> rankTableMemory; ///< null if it is the host's
  std::unique_ptr<VirtualRanks> together; ///< null without a shared device
  unsigned mostInputSegments = 0, mostOutputSegments = 0; ///< of any rank
  uint64_t maxPiece = 0; ///< bytes of a segment that own buffers can hold
  std::vector<std::unique_ptr<DeviceBuffer>> memory; ///< by rank
  std::vector<MemoryLayout> layouts;                 ///< by rank
  uint64_t *abortWord = nullptr;                     ///< as the device sees it

  std::vector<SizedChoice> choices;
  std::optional<Choice> forced;

  /// A copy of the tables in memory of the device, if that has its own, and
  /// what was last written to that of direct launches.
  std::unique_ptr<DeviceBuffer> deviceTables;
  std::vector<PeerEntry> uploaded;
  std::vector<Call> calls;
  /// By rank, in the table of direct launches: bit 0 for an input, bit 1 for
  /// an output that is an address of another process.
  std::vector<uint8_t> foreign;
  std::vector<uint64_t> probes; ///< by rank, for others to write
  std::vector<Region> regions;
  uint64_t lastProgram = 0, lastBytes = 0;
  Watchdog watchdog; ///< last: it reads the rest
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_COMMUNICATOR_H
