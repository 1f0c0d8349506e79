//===- RankTable.h - What a rank executes, as data --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function that serves every rank of every program gets what is special to
// one of them as a table, an argument. Nothing writes it. It is aligned
// to 16 bytes and consists of units of 16 bytes, four words of 32 bits each in
// the byte order of the machine:
//
//   TableHeader                            2 units
//   TableChannel[steps or 1][channels]     1 unit each; of a channel that is
//                                          spread, several
//   uint32_t channelEnds[ranks]            filled up to whole units
//   TableRow[]                             4 units each
//   TableFlag[]                            1 unit each
//
// Units are numbered from 0, and all references inside a table are such
// numbers. On a CPU one thread serves a rank, so its tables have one channel;
// the tables of GPUs are the same on all of them.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ABI_RANKTABLE_H
#define SCCL_ABI_RANKTABLE_H

#include "sccl/ABI/AverageWord.h"
#include "sccl/ABI/BlockShare.h"
#include "sccl/ABI/KernelABI.h"

#include <cstdint>

namespace sccl {

inline constexpr uint32_t tableUnitBytes = 16;
inline constexpr uint32_t tableVersion = 4;

/// The functions that read tables are called the same in all programs, so that
/// programs that need the same code have the same bytes of it. Those of step K
/// are called so and "_stepK".
inline constexpr const char *tableFunction = "sccl_table";

struct TableHeader {
  uint32_t chunksPerSegment;
  uint32_t blocks;   ///< per channel, of the launches that have most
  uint32_t channels; ///< of this rank, as entries
  uint32_t version;  ///< tableVersion
  uint32_t ranks;
  /// Of the program. channelEnds[r] is the number of channels of ranks 0 to r:
  /// a virtual kernel finds its rank there.
  uint32_t channelEnds; ///< unit of the first
  uint32_t steps;       ///< 0 if launches are counted
  uint32_t slots; ///< chunks in the buffers of all ranks, as far as 32 bits go
};

struct TableChannel {
  uint32_t firstRow; ///< its unit
  uint32_t rows;
  uint32_t epoch; ///< byte offset of block 0's epoch word in control memory
  /// The doublings that make a block's share of the parts; above `partsShift`
  /// those that make parts of blocks; and above `groupShift` which of the
  /// entries of its channel this is: one that is spread has several, each for
  /// as many blocks as a launch has for a channel.
  uint32_t spread;
  static constexpr unsigned partsShift = 8, fieldMask = 0xff;
  static constexpr unsigned groupShift = 16;
};

/// The first slot that a row accesses in a buffer.
struct TableSlot {
  /// Index of the buffer's address in the table of peers, which counts 4 for
  /// each rank, and for the group at its switch; below 0 for a buffer of the
  /// rank itself, ~(the field's number).
  int32_t where;
  /// Of input and output: the number of a segment. Of scratch, which is one
  /// long segment: chunks to skip in launches of odd number.
  int32_t segment;
  int32_t chunk; ///< in its segment
  /// From one repetition, or one term, to the next: in segments, of scratch in
  /// chunks.
  int32_t step;
};

/// A transfer, or flags to set or to wait for.
struct TableRow {
  /// Of `kind`, low 5 bits. From Shape on it is Shape and the number of a
  /// TransferShape: with LL words, from Terms on with several terms, and from
  /// Switch on a copy to a switch or a reduction that it computes.
  enum Kind : uint32_t {
    Copy,
    Reduce,
    Signal,
    Wait,
    Shape,
    Terms = Shape + 16,
    Switch = Shape + 24
  };
  static constexpr uint32_t kindMask = 0x1f;
  /// The bits above these are the AverageWord of a reduction, or the word of
  /// the BlockShare of a copy with LL words.
  static constexpr unsigned averageShift = 5, shareShift = 5;

  uint32_t kind;
  uint32_t
      position;   ///< of the first chunk in its segment; the first flag's unit
  uint32_t count; ///< of chunks, or of flags; 0 flags join a block's threads
  /// Repetitions of a transfer, at least 1. With terms it is not repeated:
  /// their number, and src1 has the step from one to the next.
  uint32_t times;
  /// Of a reduction with LL words that is not repeated, the step of `dst` is
  /// the word of its BlockShare.
  TableSlot dst, src0, src1;
};

/// A flag to set or to poll.
struct TableFlag {
  uint32_t peer;      ///< whose control memory holds it
  uint32_t offset;    ///< the word of a FlagOffset
  uint32_t perLaunch; ///< K of the epoch protocol
  uint32_t value;     ///< within a launch, 1 to K
};

static_assert(sizeof(TableHeader) == 2 * tableUnitBytes);
static_assert(sizeof(TableChannel) == tableUnitBytes);
static_assert(sizeof(TableSlot) == tableUnitBytes);
static_assert(sizeof(TableRow) == 4 * tableUnitBytes);
static_assert(sizeof(TableFlag) == tableUnitBytes);
static_assert(TableRow::averageShift + AverageWord::bits <= 32);
static_assert(TableRow::shareShift + BlockShare::bits <= 32);

} // namespace sccl

#endif // SCCL_ABI_RANKTABLE_H
