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
#include "PeerTables.h"
#include "PlanTrace.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>

namespace sccl {

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
