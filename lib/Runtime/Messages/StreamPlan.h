//===- StreamPlan.h - A plan in the order of streams ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_STREAMPLAN_H
#define SCCL_LIB_RUNTIME_MESSAGES_STREAMPLAN_H

#include "NearProgram.h"
#include "RoundProgram.h"
#include "StreamGroup.h"

#include "Runtime/JoinedPlan.h"
#include "Runtime/KeptTables.h"

#include <algorithm>
#include <optional>

namespace sccl {

/// What all ranks have to do alike.
struct StreamNeeds {
  uint32_t blocks = UINT32_MAX; ///< that a launch may have
  uint32_t landingSegments = 0; ///< of what arrives from ranks of the host
  uint32_t epochs = 0;          ///< of launches in place of such messages
  bool divides = true;          ///< rounds of long messages, see NearProgram

  void merge(const StreamNeeds &other) {
    blocks = std::min(blocks, other.blocks);
    landingSegments = std::max(landingSegments, other.landingSegments);
    epochs = std::max(epochs, other.epochs);
    divides &= other.divides;
  }
};

/// What one rank needs to execute the programs of a plan for messages in the
/// order of a stream: code and memory on its GPU.
class StreamPlan {
public:
  /// Not collective. `tables` are those of `rank`, by set. Fails with
  /// scclErrorUnsupported if the plan has no such code for the GPU, or is older
  /// than rounds.
  static Status load(const LoadedPlan &plan, unsigned rank, unsigned number,
                     const std::vector<MessageProgram> &tables,
                     StreamGroup &group, const scclConfig &config,
                     std::unique_ptr<StreamPlan> &result);

  /// Of this rank.
  const StreamNeeds &needs() const { return theNeeds; }
  /// Collective, before launches. `needs` are those of all ranks. Makes memory,
  /// for pieces up to `budget` bytes. Fails on all ranks if it fails on one.
  Status join(const Bootstrap &bootstrap, const LoadedPlan &plan,
              const StreamNeeds &needs, uint64_t budget);

  /// Where ranks of the host write to the output of `flight`.
  OutputPlace outputOf(const JoinedPlan::Flight &flight) const;
  /// Enqueues `flight`, which has elements. Nothing else may be in flight.
  /// After an error some of it may be under way.
  Status launch(const JoinedPlan::Flight &flight);
  /// Of the GPU.
  uint64_t ownBytes() const;
  /// No launch reaches outputs in that memory any more.
  void forget(uint64_t region) {
    outputPeers.forget([&](const auto &key) { return key.first == region; });
  }
  /// Messages may still be under way: leaves their memory alone.
  void abandon() { (void)memory.release(); }

private:
  /// What a launch works on.
  struct Piece {
    const LoadedProgram *program;
    const MessageProgram *messages;
    unsigned set;
    const DeviceFunction *function;
    unsigned blockSize;
    uint64_t reduction;
    char *input, *output;
    uint64_t at, bytes, distance; ///< of each segment
    void *stream;
    bool reachesOutput; ///< ranks of the host write there
    PeerEntry *peers;   ///< on the device
  };

  StreamPlan(const LoadedPlan &plan, unsigned rank,
             const std::vector<MessageProgram> &tables, StreamGroup &group)
      : manifest(plan.view.manifest), rank(rank), tables(tables), group(group) {
  }
  const LoadedProgram *programOf(const JoinedPlan::Flight &flight) const;
  const NearRanks::Region *regionOf(const JoinedPlan::Flight &flight) const;
  Status addRounds();
  llvm::ArrayRef<unsigned> nearRanks() const;
  Status addNear(const LoadedPlan &plan);
  Status addNearCode(const LoadedPlan &plan);
  Status makeMemory(uint64_t budget);
  Status fillConstants();
  char *scratch() const {
    return memory ? memory->data() + nearControl : nullptr;
  }
  bool closesGaps(const LoadedProgram &program) const;
  uint64_t scratchOf(const LoadedProgram &program, uint64_t piece,
                     unsigned of) const;
  uint64_t scratchBytes(const LoadedProgram &program, uint64_t piece,
                        unsigned of) const;
  uint64_t pieceOf(const LoadedProgram &program, uint64_t budget) const;
  Status runPiece(const Piece &piece);
  Status runStaged(const JoinedPlan::Flight &flight, Piece piece);
  Status copySegments(char *to, uint64_t toPitch, const char *from,
                      uint64_t fromPitch, unsigned segments, uint64_t bytes,
                      void *stream);
  LaunchArguments argumentsFor(const Piece &piece) const;
  uint64_t blocksFor(const Piece &piece, uint32_t mostChunks,
                     unsigned blockSize) const;
  Status compute(const Piece &piece, const RoundProgram::Launch &launch);
  bool isLong(const Piece &piece) const;
  std::vector<PeerEntry> peersAt(const NearRanks::Region *region,
                                 uint64_t place) const;
  Status findPeers(const NearRanks::Region *region, Piece &piece);
  using NearPart = NearLayout::Part;
  Status writeNear(const Piece &piece, size_t round, NearPart part);
  Status runRound(Piece piece, size_t round, const RoundProgram::Round &begin,
                  const RoundProgram::Round &end);
  Status exchange(const Piece &piece, llvm::ArrayRef<uint32_t> rows);
  void addMessage(const Piece &piece, const MessageRow &row);

  const plan::Manifest &manifest;
  const unsigned rank;
  const std::vector<MessageProgram> &tables; ///< by set
  StreamGroup &group;
  std::vector<LoadedProgram> programs;
  std::vector<RoundProgram> rounds; ///< by set
  std::vector<uint64_t> pieces;     ///< by program: bytes of the largest
  std::vector<RoundMessage> posted; ///< of the last round
  StreamNeeds theNeeds;
  /// Control memory, a word that stays 0, addresses of peers, and tables.
  std::unique_ptr<DeviceBuffer> constants;
  uint64_t idleWord = 0, peerTable = 0;                     ///< bytes of that
  std::vector<uint64_t> firstTable, firstNear, firstOutput; ///< by set
  /// Control memory for ranks of the host, if there are any, then scratch.
  std::unique_ptr<DeviceBuffer> memory;
  uint64_t nearControl = 0; ///< bytes of it

  // If ranks of the host write to each other's memory.
  std::optional<NearLayout> layout;
  /// By set: with landings, and where all outputs are mapped.
  std::vector<NearProgram> nearPrograms, outputPrograms;
  /// By set: messages of the host go to outputs, which are at one place of the
  /// same allocation on all ranks if they are in memory of scclMemAlloc.
  std::vector<bool> reachOutputs;
  uint64_t outputSegments = 0; ///< of the rank that has the most
  /// By region and the output's place there.
  KeptTables<std::pair<uint64_t, uint64_t>> outputPeers;
  std::unique_ptr<DeviceFunction> nearFunction;
  unsigned nearBlockSize = 1;
  NearRanks::Mapped others;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_STREAMPLAN_H
