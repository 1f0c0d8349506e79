//===- CommPlan.h - A plan that a group has loaded --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_COMMPLAN_H
#define SCCL_LIB_RUNTIME_COMMPLAN_H

#include "Group.h"
#include "JoinedPlan.h"
#include "KeptTables.h"
#include "Programs.h"
#include "Runtime/Devices/Device.h"

#include "sccl/ABI/TraceTable.h"
#include "sccl/sccl-trace.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <vector>

namespace sccl {

// The tables of traced kernels are in memory of the device, where kernels look
// at every launch whether somebody records: so nothing about a launch is
// different, be it of a graph or not, and the host reads when it likes.

class PlanTrace {
public:
  /// Takes a table of this rank, which kernels find at `place`, if it is one of
  /// traced kernels.
  void add(llvm::StringRef bytes, const void *place);
  /// True if kernels find the table of traced ones there.
  bool has(const void *place) const;
  /// Begins anew, or ends. No launch may be under way.
  Status record(Device &device, bool on);
  /// Adds what launches have told that have ended, in ticks of the device.
  /// `lost` is how many of a program there was no memory for, if any.
  Status read(Device &device, std::vector<scclTraceEvent> &events,
              uint64_t &lost) const;

private:
  /// Of the programs that have the same table.
  struct Part {
    TraceTable table;
    char *place; ///< on the device
    std::unique_ptr<DeviceBuffer> records;
  };
  Status start(Device &device, Part &part);

  std::vector<Part> parts;
};

/// What the table of a stream-ordered direct launch depends on.
struct DirectKey {
  unsigned program = 0;
  bool isInPlace = false;
  BufferPlace send{BufferPlace::none, 0}, recv{BufferPlace::none, 0};
  uint64_t segment = 0;    ///< 0 if it makes no difference
  uint64_t pieceBytes = 0; ///< likewise
  uint64_t pieces = 1;     ///< a table for each
  bool operator==(const DirectKey &) const = default;
};

/// The tables of peers that functions get: one per program for own buffers, one
/// per program for separators, and one that every direct launch fills in.
/// Stream-ordered launches have tables that never change once they are there.
class PeerTables {
public:
  /// Fills in the tables for own buffers, and brings them to the device.
  /// `atSwitch` is what `memory` begins with at the switch of the group, or
  /// null.
  Status create(Group &group, unsigned numPrograms,
                const std::vector<MemoryLayout> &layouts,
                const std::vector<std::unique_ptr<DeviceBuffer>> &memory,
                char *atSwitch);

  /// Entries of a table: one for each rank, and one for a switch.
  size_t size() const { return numEntries; }
  /// The table for own buffers of program number `slot`.
  PeerEntry *of(unsigned slot) { return entries.data() + slot * numEntries; }
  const PeerEntry *of(unsigned slot) const {
    return entries.data() + slot * numEntries;
  }
  unsigned separator(unsigned slot) const { return numPrograms + 1 + slot; }
  /// The number of the table of direct launches.
  unsigned direct() const { return numPrograms; }
  /// The same as functions see it.
  PeerEntry *onDevice(unsigned slot) const;
  /// Brings the table of direct launches to the device, if it has changed.
  Status upload(Device &device, void *stream);
  /// Moves the caller's buffers in the table of direct launches on.
  void advance(uint64_t bytes);

  /// Forgets all tables of a region.
  void forget(uint64_t region) {
    kept.forget([&](const DirectKey &key) {
      return key.send.region == region || key.recv.region == region;
    });
  }

  /// Of direct launches in streams; each has `pieces` tables.
  KeptTables<DirectKey> kept;

private:
  size_t numRanks = 0, numEntries = 0;
  unsigned numPrograms = 0;
  std::vector<PeerEntry> entries;
  /// A copy in memory of the device, if that has its own, and what was last
  /// written to the table of direct launches there.
  std::unique_ptr<DeviceBuffer> deviceTables;
  std::vector<PeerEntry> uploaded;
};

/// A plan as one rank of a group has it: code, memory, and what to take for
/// which size.
class CommPlan : public JoinedPlan {
public:
  /// Collective. `number` tells the plans of a group apart; the same on all
  /// ranks. Fails on all ranks if it fails on one, or if `before` is an error;
  /// then `plan` may be null.
  static Status load(Group &group, std::shared_ptr<const LoadedPlan> plan,
                     unsigned number, const Status &before,
                     std::unique_ptr<JoinedPlan> &result);

  Status loadAgain() const override;
  uint64_t ownBytes() const override { return memory[rank]->size(); }
  Status checkGaps() const override;
  Status recordTrace(bool on) override {
    return trace.record(*group.device, on);
  }
  Status readTrace(std::vector<scclTraceEvent> &events,
                   uint64_t &lost) const override {
    return trace.read(*group.device, events, lost);
  }
  /// Unmaps memory that is shared between processes.
  void unmap() { memory.clear(); }

  /// Collective; see scclLaunch. Nothing else may be in flight. Where the group
  /// is stream-ordered, `enqueue` takes the place of this.
  Status execute(Flight &flight);
  /// The same in the order of the stream; nobody waits for anything.
  Status enqueue(Flight &flight);
  /// After a launch that has failed: peers that are still in it do not write to
  /// the receive buffer any more.
  void keepOutput(const Flight &flight) {
    group.regions.detach(flight.request.recv,
                         manifest.layout[rank].outputSegments *
                             flight.segmentBytes);
  }
  /// A region of memory is free.
  void forget(uint64_t region) { tables.forget(region); }

private:
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

  CommPlan(Group &group, std::shared_ptr<const LoadedPlan> plan,
           unsigned number);

  // Loading.
  Status prepare();
  Status connect();
  Status join(const Gathered<struct PlanHello> &hellos);
  Status placeRankTables();
  uint64_t fitPiece() const;
  void fillGaps() const;
  bool hasCopies() const;
  Status finish();
  // At a switch.
  Status chooseSwitch();
  Status bindAtSwitch();
  bool isAtSwitch() const { return !switchRanks.empty(); }
  Status findFetches();

  // Checks.
  Status choose(Flight &flight) const override;
  bool isSmall(const Flight &flight) const;
  Status stepBack(Flight &flight) const;

  // Meeting the peers.
  Status meetPeers(Flight &flight, bool &direct);
  Status compareCalls(const Call &own);
  uint64_t callSignature(const Flight &flight) const;
  bool locateBuffers(const Flight &flight);
  bool switchToCopies(Flight &flight);
  Status meet(const LoadedProgram &program, uint64_t bytes);
  Status separate(const LoadedProgram &program, uint64_t bytes, void *stream);
  Status clearOldWords(const LoadedProgram &program, uint64_t launches,
                       void *stream);

  // Running.
  Route routeFor(const Flight &flight, bool direct) const;
  Staging stagingFor(const Flight &flight, const Route &route) const;
  Status run(const Flight &flight, const Route &route);
  Status stagePiece(const Flight &flight, const Staging &staging, uint64_t at,
                    uint64_t bytes,
                    llvm::function_ref<Status(const Piece &)> launch);
  Status runPiece(const Flight &flight, const Piece &piece, unsigned table);
  LaunchArguments argumentsFor(const Flight &flight, const PeerEntry &own,
                               const Piece &piece, PeerEntry *peers) const;
  Status launchTogether(const Flight &flight, const LaunchArguments &arguments);
  Status copySegments(char *to, uint64_t toPitch, const char *from,
                      uint64_t fromPitch, unsigned segments, uint64_t bytes,
                      void *stream);

  // In the order of streams.
  bool findTables(const Flight &flight, DirectKey &key) const;
  bool locate(const Flight &flight, const DirectKey &key, unsigned other,
              PeerEntry &entry) const;
  Status fillTables(const Flight &flight, const DirectKey &key,
                    PeerEntry *&peers);
  Status enqueuePiece(const Flight &flight, const Piece &piece,
                      PeerEntry *peers, bool isCaptured);
  Status enqueueSeparator(const Flight &flight);

  // Programs in which hosts copy.
  Status runSteps(const Flight &flight, const Piece &piece, unsigned table);
  Status copyChunks(const Flight &flight, const Piece &piece, unsigned table,
                    const EngineCopy &copy);
  Place placeOf(const Flight &flight, const Piece &piece, unsigned table,
                unsigned owner, BufferField buffer, unsigned slot) const;
  bool isForeign(unsigned owner, bool isOutput) const {
    return (foreign[owner] >> isOutput & 1) != 0;
  }
  bool isFetched(const EngineCopy &copy, unsigned table) const;
  Status fetchChunks(const Flight &flight, const Piece &piece, unsigned table,
                     unsigned step);
  Status copySlices(const Place &to, const Place &from, uint64_t bytes,
                    void *stream);

  unsigned programSlot(const LoadedProgram &program) const {
    return unsigned(&program - programs.data());
  }

  Group &group;
  ControlPlane &plane;
  std::unique_ptr<DeviceBuffer> rankTableMemory; ///< null if it is the host's
  PlanTrace trace;
  unsigned mostInputSegments = 0, mostOutputSegments = 0; ///< of any rank
  uint64_t maxPiece = 0; ///< bytes of a segment that own buffers can hold
  std::vector<std::unique_ptr<DeviceBuffer>> memory; ///< by rank
  std::vector<MemoryLayout> layouts;                 ///< by rank
  std::vector<unsigned> switchRanks;                 ///< of this rank's group
  std::unique_ptr<SwitchMemory> switchMemory;        ///< null without a group
  PeerTables tables;
  std::vector<Call> calls;
  /// By rank, in the table of direct launches: bit 0 for an input, bit 1 for
  /// an output that is an address of another process.
  std::vector<uint8_t> foreign;
  /// By program and step, what peers have for this rank; see `isFetched`.
  std::vector<std::vector<std::vector<EngineCopy>>> fetches;
  uint64_t lastProgram = 0, lastBytes = 0;
  /// By program: the segment of its last launch, or one of these.
  static constexpr uint64_t never = UINT64_MAX, unknown = UINT64_MAX - 1;
  std::vector<uint64_t> lastSegments;
  /// By program: the launches before its scratch was last cleared.
  std::vector<uint64_t> clearedAfter;
  unsigned firstLane = 0;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_COMMPLAN_H
