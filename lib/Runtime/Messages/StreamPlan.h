//===- StreamPlan.h - A plan in the order of streams ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_STREAMPLAN_H
#define SCCL_LIB_RUNTIME_MESSAGES_STREAMPLAN_H

#include "RoundProgram.h"
#include "StreamGroup.h"

#include "Runtime/JoinedPlan.h"

namespace sccl {

/// What one rank needs to execute the programs of a plan for messages in the
/// order of a stream: code and memory on its GPU.
class StreamPlan {
public:
  /// Not collective. `tables` are those of `rank`, by set. Fails with
  /// scclErrorUnsupported if the plan has no such code for the GPU, or is older
  /// than rounds. Memory for pieces has up to `budget` bytes.
  static Status load(const LoadedPlan &plan, unsigned rank, unsigned number,
                     const std::vector<MessageProgram> &tables,
                     StreamGroup &group, const scclConfig &config,
                     std::unique_ptr<StreamPlan> &result);

  /// Enqueues `flight`, which has elements. Nothing else may be in flight.
  /// After an error some of it may be under way.
  Status launch(const JoinedPlan::Flight &flight);
  /// Of the GPU.
  uint64_t ownBytes() const;

private:
  /// What a launch works on.
  struct Piece {
    const LoadedProgram *program;
    const MessageProgram *messages;
    const RoundProgram *rounds;
    const DeviceFunction *function;
    uint64_t tables; ///< on the GPU
    unsigned blockSize;
    uint64_t reduction;
    char *input, *output;
    uint64_t at, bytes, distance; ///< of each segment
    void *stream;
  };

  StreamPlan(const LoadedPlan &plan, unsigned rank,
             const std::vector<MessageProgram> &tables, StreamGroup &group)
      : manifest(plan.view.manifest), rank(rank), tables(tables), group(group) {
  }
  Status addRounds(unsigned blocks);
  Status makeMemory(uint64_t budget);
  bool closesGaps(const LoadedProgram &program) const;
  uint64_t scratchBytes(const LoadedProgram &program, uint64_t piece,
                        unsigned of) const;
  uint64_t pieceOf(const LoadedProgram &program, uint64_t budget) const;
  Status runPiece(const Piece &piece);
  Status runStaged(const JoinedPlan::Flight &flight, Piece piece);
  Status copySegments(char *to, uint64_t toPitch, const char *from,
                      uint64_t fromPitch, unsigned segments, uint64_t bytes,
                      void *stream);
  Status compute(const Piece &piece, const RoundProgram::Launch &launch);
  Status exchange(const Piece &piece, llvm::ArrayRef<uint32_t> rows);
  Status post(const Piece &piece, const MessageRow &row, void *stream);

  const plan::Manifest &manifest;
  const unsigned rank;
  const std::vector<MessageProgram> &tables; ///< by set
  StreamGroup &group;
  std::vector<LoadedProgram> programs;
  std::vector<RoundProgram> rounds;        ///< by set
  std::vector<uint64_t> firstTable;        ///< by set, a byte of `constants`
  std::vector<uint64_t> pieces;            ///< by program: bytes of the largest
  unsigned blocks = 1;                     ///< that a launch may have
  std::unique_ptr<DeviceBuffer> constants; ///< control memory, then tables
  std::unique_ptr<DeviceBuffer> scratch;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_STREAMPLAN_H
