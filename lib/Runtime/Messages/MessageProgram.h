//===- MessageProgram.h - What one rank sends and receives ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_MESSAGEPROGRAM_H
#define SCCL_LIB_RUNTIME_MESSAGES_MESSAGEPROGRAM_H

#include "Runtime/Status.h"

#include "sccl/ABI/MessageTable.h"
#include "sccl/ABI/RankTable.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <vector>

namespace sccl {

/// A table of one rank that has been read.
class MessageProgram {
public:
  /// Reads `bytes`, which must stay. Fails if they are no table for rank `rank`
  /// of `numRanks`.
  static Status read(llvm::StringRef bytes, unsigned rank, unsigned numRanks,
                     MessageProgram &program);

  const MessageHeader &header() const { return theHeader; }
  llvm::ArrayRef<MessageRow> rows() const { return theRows; }
  llvm::ArrayRef<uint32_t> next(const MessageRow &row) const {
    return nexts.slice(row.firstNext, row.numNext);
  }
  /// By row, see MessageTable.h; empty if the table has none.
  llvm::ArrayRef<uint32_t> rounds() const { return theRounds; }
  /// A number of the messages that the rank sends less those that it
  /// receives, with their rounds and lengths: that of all ranks together is 0,
  /// and else hardly ever.
  uint64_t balance() const;
  /// The ranks that this one sends to or receives from, each once.
  llvm::ArrayRef<unsigned> peers() const { return thePeers; }
  /// The largest height of a row of this rank, at least 1.
  unsigned mostHeight() const { return height; }

  /// For a row that reduces: the table of a function that does it for addresses
  /// that are its arguments `input`, `scratch` and `output`.
  const void *reduction(unsigned row) const {
    return &reductions[reductionOf[row]];
  }

private:
  /// A table of RankTable.h with one row.
  struct alignas(tableUnitBytes) Reduction {
    TableHeader header;
    TableChannel channel;
    uint32_t channelEnds[4];
    TableRow row;
  };
  Status checkRounds() const;
  void addReduction(const MessageRow &row);

  MessageHeader theHeader = {};
  llvm::ArrayRef<MessageRow> theRows;
  llvm::ArrayRef<uint32_t> nexts, theRounds;
  std::vector<Reduction> reductions;
  std::vector<unsigned> thePeers;
  std::vector<uint32_t> reductionOf; ///< by row; 0 for others
  unsigned height = 1;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_MESSAGEPROGRAM_H
