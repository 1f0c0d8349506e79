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
// Every rank has one function, NAME_rankN, with the arguments
//
//   void *input         the rank's send buffer
//   void *output        the rank's receive buffer
//   void *scratch       scratchBytes() of the rank's own memory
//   void *control       controlBytes() of the rank's own memory, zeroed once
//   PeerEntry *peers    one entry per rank, addresses as seen by this rank
//   uint64_t *abort     a word that is 0 until the launch is to be given up
//   uint64_t segment    bytes of one segment, see Collective::chunksPerSegment
//
// On a GPU the function is a kernel whose grid has blocks-per-channel blocks
// for each channel of the rank. Control memory must be coherent between peers
// while kernels run; nobody resets it between launches.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_CONVERSION_KERNELABI_H
#define SCCL_CONVERSION_KERNELABI_H

#include <cstdint>

namespace sccl {

/// The addresses of one rank's buffers, as another rank sees them.
struct PeerEntry {
  void *input;
  void *output;
  void *scratch;
  void *control;
};

/// Byte offsets in a rank's control memory, for `numRanks` ranks and `blocks`
/// blocks per channel:
///  - epoch words: the number of launches that a block has finished;
///  - arrival flags: set by the rank's peers, one per (sender, block);
///  - ready flags: set by the rank's peers, one per (receiver, block).
/// Flags have a cache line each, so that pollers do not disturb each other.
struct ControlLayout {
  uint64_t numRanks;
  uint64_t blocks;

  static constexpr uint64_t lineBytes = 128;
  static constexpr uint64_t wordBytes = 8;

  /// Epoch word of block 0 of the channel to `peer`; the others follow.
  constexpr uint64_t epoch(uint64_t peer) const {
    return peer * blocks * wordBytes;
  }
  /// Flag of block 0 that `src` sets in this rank; the others follow, a line
  /// each.
  constexpr uint64_t arrival(uint64_t src) const {
    return epochBytes() + src * blocks * lineBytes;
  }
  /// Like `arrival`, for the ready flag that the receiver `dst` sets.
  constexpr uint64_t ready(uint64_t dst) const {
    return arrival(numRanks) + dst * blocks * lineBytes;
  }
  constexpr uint64_t controlBytes() const { return ready(numRanks); }

private:
  constexpr uint64_t epochBytes() const {
    return (epoch(numRanks) + lineBytes - 1) / lineBytes * lineBytes;
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

/// Shared objects for the CPU have a variable of this name, a pointer to a
/// function `int ()` that waiting threads call after some polls; at first it is
/// sched_yield.
inline constexpr const char *hostYieldVariable = "sccl_yield";

} // namespace sccl

#endif // SCCL_CONVERSION_KERNELABI_H
