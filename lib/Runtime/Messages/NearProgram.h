//===- NearProgram.h - Messages within a host, as writes --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks of a host whose GPUs write to each other's memory do so in place of
// sending messages: in each round one launch on each of them, or two, which
//
//  1. signals to all ranks that write to this one that its memory is free,
//  2. waits for the same of those to which this one writes,
//  3. copies to their scratch memory, and signals that it has,
//  4. waits for what others copy, and copies on what is not for scratch: that
//     arrives in slots behind those of the program, which rounds share. Where
//     the output is in memory that ranks of the host have mapped, they write
//     there.
//
// There are two for long messages, see NearParts.h: one beside what ranks
// compute in this round, and one for what needs that.
//
// Blocks wait for the block of the same number on the other rank, so both ends
// of a message have launches of the same size. The blocks are in groups, which
// begin with different peers, so that all links are in use at once.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_NEARPROGRAM_H
#define SCCL_LIB_RUNTIME_MESSAGES_NEARPROGRAM_H

#include "MessageProgram.h"

#include "sccl/ABI/NearParts.h"

#include <array>

namespace sccl {

/// What the ranks of a host have alike: how their launches are divided, and
/// what is where in the control memory of each. Of each set of tables there
/// are two flags for each rank of the host, and two more for rounds in two
/// parts; then words for epochs.
class NearLayout {
public:
  /// What a launch does of a round.
  enum Part : unsigned { Whole, Early, Late, NumParts };

  /// `ranks` are those of the host, ascending, of which this one is number
  /// `own`. A launch has up to `blocks` blocks.
  NearLayout(llvm::ArrayRef<unsigned> ranks, unsigned own, unsigned sets,
             unsigned blocks);

  /// Numbers of ranks on the host.
  unsigned own() const { return theOwn; }
  unsigned size() const { return theRanks.size(); }
  llvm::ArrayRef<unsigned> ranks() const { return theRanks; }
  /// size() if the rank is elsewhere.
  unsigned numberOf(unsigned rank) const;

  /// Groups of blocks, a power of two, and blocks in each.
  unsigned groups() const { return theGroups; }
  unsigned blocksPerGroup() const { return blocks; }

  // Words of a FlagOffset, in the memory of the rank that waits.
  /// Rank number `of` has room for what is to come.
  uint64_t readyFlag(unsigned set, Part part, unsigned of) const {
    return flag(2 * ((2 * uint64_t(set) + (part != Whole)) * size() + of));
  }
  /// What rank number `of` has to write is there.
  uint64_t arrivedFlag(unsigned set, Part part, unsigned of) const {
    return readyFlag(set, part, of) + flag(1);
  }
  uint64_t epoch(uint64_t number) const {
    return flag(4 * uint64_t(sets) * size()) +
           number * words() * ControlLayout::wordBytes;
  }

private:
  uint64_t words() const { return uint64_t(theGroups) * blocks; }
  uint64_t flag(uint64_t number) const {
    return number * words() * ControlLayout::lineBytes;
  }

  std::vector<unsigned> theRanks;
  unsigned theOwn, sets, theGroups = 1, blocks;
};

/// The launches of one rank that take the place of messages within its host.
struct NearProgram {
  static constexpr uint64_t noTable = UINT64_MAX;

  using Part = NearLayout::Part;
  /// Bytes of `tables`, or noTable.
  using Round = std::array<uint64_t, Part::NumParts>;

  std::vector<Round> rounds;
  std::string tables; ///< of RankTable.h
  /// What a rank needs for `program` where `ranks` are those of its host.
  struct Needs {
    uint32_t slots = 0;  ///< of scratch, behind those of the program
    uint32_t epochs = 0; ///< of all parts of rounds
  };
  bool has(size_t round, Part part) const {
    return round < rounds.size() && rounds[round][part] != noTable;
  }
  static Needs needs(const MessageProgram &program,
                     llvm::ArrayRef<unsigned> ranks);
  /// How the rounds of `host`, the programs of all ranks of the host, are
  /// divided.
  static NearParts divide(llvm::ArrayRef<MessageProgram> host,
                          const NearLayout &layout);
  /// Of set number `set`, whose programs are `host`, divided into `parts`,
  /// with epochs from `firstEpoch` on. Writes to the output of others if it
  /// `reachesOutput`; such and other launches may take turns. Fails if their
  /// messages do not fit together.
  static Status make(llvm::ArrayRef<MessageProgram> host,
                     const NearParts &parts, unsigned set, unsigned firstEpoch,
                     const NearLayout &layout, bool reachesOutput,
                     NearProgram &program);
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_NEARPROGRAM_H
