//===- KernelABI.h - How generated code is called ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The contract between what the conversions emit and whoever launches it: the
// arguments of a rank's function, the table of peers and the layout of control
// memory. Plain C++, no MLIR.
//
// Every rank has one function, NAME_rankN, where NAME is symbolOf() the
// program's name, with the arguments
//
//   void *input         the rank's send buffer
//   void *output        the rank's receive buffer
//   void *scratch       RankNeeds::scratchSlots slots of the rank's own memory;
//                       with LL words for this program alone, and zeroed once
//   void *control       RankNeeds::controlBytes of it, zeroed once
//   PeerEntry *peers    one entry per rank, the rank itself included, with
//                       addresses as seen by this rank; then, for programs with
//                       transfers through a switch, one whose `scratch` is the
//                       address of the rank's group at its switch, and whose
//                       other fields are null
//   uint64_t *abort     a word that is 0 until the launch is to be given up
//   uint64_t segment    bytes of one segment, see Collective::chunksPerSegment
//   uint64_t distance   bytes from one segment of `input` and `output` to the
//                       next; more than `segment` if the launch is for a piece
//                       of each segment. The same on all ranks if peers access
//                       buffers of several segments
//   void *table         what the rank executes, see RankTable.h; of functions
//                       of one rank null, or if they are for a GPU and traced
//                       where they tell, see TraceTable.h
//   uint64_t reduction  which of the reductions that the function has code for,
//                       see reductionNumber(); of no interest if that is one
//   uint64_t blocks     thread blocks that the launch has for each channel,
//   from
//                       1 to ProgramInfo::blocks; the same on all ranks, but
//                       not in all launches. Of no interest on a CPU
//
// A program with barriers has a function for each part between two of them,
// NAME_rankN_stepK with K from 0; the host starts a part when the one before is
// done on all ranks. Nothing but its control memory tells a rank which launch
// it is in, so nobody resets anything between launches.
//
// A program whose scratch is double-buffered cuts it in two by the size of a
// segment: the size may change from one launch to the next only when all ranks
// have ended the former.
//
// On a GPU the function is a kernel whose grid has `blocks` blocks for each
// channel of the rank, and several times as many for one that is spread. Each
// of them handles its share of every chunk. Control memory, and all memory that
// peers write while kernels run, must be coherent between them.
//
// A switch copies what a rank writes to its group's address to the same offset
// of scratch of all ranks of the group, and reduces what a rank reads there
// from all of them. Such transfers are from scratch to scratch, in whole units
// of 16 bytes, up to the padding behind the last chunk of a segment.
//
// For ranks that share a GPU there may also be a kernel NAME_virtual, whose
// blocks are those of rank 0, then those of rank 1, and so on. Its argument is
//
//   RankArguments *ranks  the arguments of every rank's function, by rank;
//                         ranks whose `control` is null have their blocks
//                         return at once. Such a rank has the `blocks` of the
//                         others, and where there are tables that of any rank
//                         of the program
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ABI_KERNELABI_H
#define SCCL_ABI_KERNELABI_H

#include <cstdint>

namespace sccl {

/// The addresses of one rank's buffers, as another rank sees them.
struct PeerEntry {
  void *input;
  void *output;
  void *scratch;
  void *control;
};

/// The fields of PeerEntry, by number.
enum class BufferField : unsigned { Input, Output, Scratch, Control, Count };

/// A copy that the host does, or asks a copy engine for: chunks of a segment,
/// from a slot of one buffer to a slot of another one. Buffers are numbered
/// like BufferField.
struct EngineCopy {
  unsigned executor; ///< the rank whose host does it: that of either buffer
  unsigned srcRank, srcBuffer, srcSlot;
  unsigned dstRank, dstBuffer, dstSlot;
  unsigned position; ///< of the first chunk in its segment
  unsigned count;
  bool operator==(const EngineCopy &) const = default;
};

/// The arguments of one rank's function, as a virtual kernel reads them.
struct RankArguments {
  void *input;
  void *output;
  void *scratch;
  void *control;
  PeerEntry *peers;
  uint64_t *abort;
  uint64_t segment;
  uint64_t distance;
  const void *table;
  uint64_t reduction;
  uint64_t blocks;
};

/// The number of each argument of a rank's function.
enum class Argument : unsigned {
  Input,
  Output,
  Scratch,
  Control,
  Peers,
  Abort,
  Segment,
  Distance,
  Table,
  Reduction,
  Blocks,
  Count
};

/// The number of a reduction on elements of a type, from the numbers that the
/// two have as scclRedOp and scclDataType.
constexpr uint64_t reductionNumber(unsigned type, unsigned op) {
  constexpr unsigned opsPerType = 8;
  return type * opsPerType + op;
}

/// A virtual kernel's symbol is that of the program and this.
inline constexpr const char *virtualSuffix = "_virtual";

/// The most thread blocks that a launch may have for a channel. Each block of a
/// launch with fewer ends the epoch of those that are absent in its place, one
/// by each of its threads.
inline constexpr unsigned mostBlocksPerChannel = 64;

/// Byte offsets in the control memory of a rank with `numChannels` channels of
/// up to `blocks` blocks, and `numFlags` flags that peers and channels set:
///  - epoch words: the number of launches that a block has finished, or that
///    were finished without it;
///  - flags: one per block for each flag of the program.
/// A channel that is spread counts as several, and so do the flags that it
/// sets. Flags have a cache line each, so that pollers do not disturb each
/// other.
struct ControlLayout {
  uint64_t numChannels;
  uint64_t numFlags;
  uint64_t blocks;

  static constexpr uint64_t lineBytes = 128;
  static constexpr uint64_t wordBytes = 8;

  /// Epoch word of block 0 of a channel; the others follow.
  constexpr uint64_t epoch(uint64_t channel) const {
    return channel * blocks * wordBytes;
  }
  /// Word of block 0 of a flag; the others follow, a line each.
  constexpr uint64_t flag(uint64_t index) const {
    return epochBytes() + index * blocks * lineBytes;
  }
  constexpr uint64_t controlBytes() const { return flag(numFlags); }

private:
  constexpr uint64_t epochBytes() const {
    return (epoch(numChannels) + lineBytes - 1) / lineBytes * lineBytes;
  }
};

/// Where the words of a flag are, as a flag of code has it: the offset of the
/// first, and how the number of a block becomes that of its word. Channels have
/// `spread` times so many blocks. Who waits for a flag of a channel that is
/// spread further than its own waits for all words of its part, in turn;
/// else its parts share a word.
struct FlagOffset {
  uint32_t bytes;            ///< a multiple of ControlLayout::lineBytes
  uint32_t down = 0, up = 0; ///< the word of a block is (block >> down) << up

  static constexpr uint32_t fieldBits = 3, fieldMask = (1 << fieldBits) - 1;
  static constexpr uint32_t lowMask = (1 << 2 * fieldBits) - 1;
  static_assert(lowMask < ControlLayout::lineBytes);

  constexpr uint32_t word() const { return bytes | down | up << fieldBits; }
  static constexpr FlagOffset of(uint32_t word) {
    return {word & ~lowMask, word & fieldMask, word >> fieldBits & fieldMask};
  }
};

/// Chunks start at multiples of this many bytes within a segment.
inline constexpr uint64_t chunkAlignment = 16;

/// The bytes from one chunk of a segment to the next: the segment's bytes over
/// its chunks, rounded up to `chunkAlignment`. The last chunks of a segment may
/// be short or empty.
constexpr uint64_t chunkStride(uint64_t segmentBytes,
                               uint64_t chunksPerSegment) {
  uint64_t even =
      segmentBytes / chunksPerSegment + (segmentBytes % chunksPerSegment != 0);
  return (even + chunkAlignment - 1) / chunkAlignment * chunkAlignment;
}

/// Where slot `slot` of a buffer begins, in bytes from its beginning. Scratch
/// is one long segment; segments of the other buffers are `distance` bytes
/// apart.
constexpr uint64_t slotOffset(BufferField buffer, uint64_t slot,
                              uint64_t chunksPerSegment, uint64_t segmentBytes,
                              uint64_t distance) {
  uint64_t stride = chunkStride(segmentBytes, chunksPerSegment);
  if (buffer == BufferField::Scratch)
    return slot * stride;
  return slot / chunksPerSegment * distance + slot % chunksPerSegment * stride;
}

/// Shared objects for the CPU have a variable of this name, a pointer to a
/// function `int ()` that waiting threads call after some polls; at first it is
/// sched_yield.
inline constexpr const char *hostYieldVariable = "sccl_yield";

} // namespace sccl

#endif // SCCL_ABI_KERNELABI_H
