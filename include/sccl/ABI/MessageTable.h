//===- MessageTable.h - What a rank sends and receives, as data -*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a rank of a program does whose ranks exchange messages in place of
// writing to each other's memory. Rows are not in an order: each begins as soon
// as those that it needs are done. libsccl executes them for one piece of each
// segment after the other, several at once.
//
// Rows also have rounds, for whoever would rather execute them in an order. A
// row has at least the number of messages that have to go before it, one after
// the other, and more in later pieces, which follow each other; the two ends of
// a message have one number, the larger. So a row has a larger one than any
// message that it needs, and none smaller than that of any row that it needs.
// Ranks that each begin the messages of a round as one group, in ascending
// order of rounds, and end it before the next one, do not wait for each other
// forever: of those that wait take one whose round is the smallest. All that it
// sends and receives there is in the groups of the same round of its peers, and
// these have no smaller round to wait in, so they get there. Within a round
// tags say in which order messages of two ranks go.
//
// A table is aligned to 16 bytes, in the byte order of the machine:
//
//   MessageHeader
//   MessageRow[rows]
//   uint32_t next[nexts]     rows that wait for others, see MessageRow
//   uint32_t round[rows]     from version 5 on
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ABI_MESSAGETABLE_H
#define SCCL_ABI_MESSAGETABLE_H

#include "sccl/ABI/KernelABI.h"

#include <cstdint>

namespace sccl {

inline constexpr uint32_t messageTableVersion = 5;
/// Older ones, from this one on, have no rounds.
inline constexpr uint32_t messageTableWithoutRounds = 4;

/// The target of kernels that exchange messages. Their code is that of a CPU.
inline constexpr const char *messageTarget = "mpi";
/// That of GPU code for their copies and reductions is this and a chip's name.
/// It reads RankTables that libsccl makes of these: of rows that need nothing
/// of each other, and of writes to ranks of the host with signals and waits.
inline constexpr const char *messageChipPrefix = "mpi/";

/// The most blocks of kernels for messages: enough to read and write faster
/// than any network.
inline constexpr unsigned blocksOfMessageKernels = 32;
/// Messages of so many bytes may take longer than the events by which they run
/// beside writes. That is assumed: some microseconds of a network.
inline constexpr uint64_t longMessageBytes = 128 << 10;

struct MessageHeader {
  uint32_t version; ///< messageTableVersion
  uint32_t ranks;
  uint32_t rank;
  uint32_t chunksPerSegment;
  uint32_t rows;
  uint32_t nexts;
  uint32_t scratchSlots; ///< of this rank, for one piece
  uint32_t tags; ///< of all ranks: messages of a piece have tags below this
  uint32_t mostChunks; ///< of a message, of all ranks; 0 without messages
};

struct MessageSlot {
  uint32_t buffer; ///< a BufferField other than Control
  uint32_t slot;   ///< the first one
  bool operator==(const MessageSlot &) const = default;
};

struct MessageRow {
  enum Kind : uint32_t {
    Send,    ///< `src` to `peer`
    Receive, ///< `dst` from `peer`
    Copy,    ///< `src` to `dst`
    Reduce   ///< `src` and `terms` from `rhs` on to `dst`
  };

  uint32_t kind;
  uint32_t peer;
  uint32_t tag;      ///< of a message; the receiver's is the same
  uint32_t position; ///< of the first chunk in its segment
  uint32_t count;    ///< of chunks, side by side in all buffers
  uint32_t average;  ///< of a reduction: its AverageWord
  /// How much is left to do when this row begins, on all ranks that wait for it
  /// one after the other: chunks that are sent.
  uint32_t height;
  uint32_t needs; ///< rows that must be done before
  /// Those that need this one, in `next`.
  uint32_t firstNext, numNext;
  MessageSlot dst, src, rhs;
  uint32_t terms; ///< of a reduction; several are in scratch
  uint32_t apart; ///< slots from one term to the next

  bool isMessage() const { return kind == Send || kind == Receive; }
};

static_assert(sizeof(MessageHeader) == 36);
static_assert(sizeof(MessageRow) == 72);

} // namespace sccl

#endif // SCCL_ABI_MESSAGETABLE_H
