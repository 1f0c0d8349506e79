//===- Program.h - What a program moves, in an order ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A checked coll.program as a list, for those who write it in other formats,
// without MLIR. Flags are in it as an order: whoever goes through the list and
// looks at the memory that transfers touch finds what has to wait for what.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_PROGRAM_H
#define SCCL_MODEL_PROGRAM_H

#include <cstdint>
#include <vector>

namespace sccl {

enum class ProgramBuffer : uint8_t { Input, Output, Scratch };

/// Slots of one chunk each: `count` side by side, and that again and again,
/// each time `stride` slots further on.
struct ProgramSlots {
  uint32_t rank;
  ProgramBuffer buffer;
  uint32_t slot, count, stride;

  uint32_t operator[](uint32_t i) const {
    return i < count ? slot + i : slot + i / count * stride + i % count;
  }
};

/// Chunk number i goes from slot [i] of what is read, the sum of them if it is
/// several, to slot [i] of what is written.
struct ProgramTransfer {
  uint32_t rank; ///< that executes it
  std::vector<uint32_t> chunks;
  std::vector<ProgramSlots> reads;
  ProgramSlots write;

  uint32_t size() const { return uint32_t(chunks.size()); }
};

struct Program {
  uint32_t chunks, numChunks;    ///< C and G, with pieces as chunks
  std::vector<uint32_t> scratch; ///< slots, by rank
  /// Each comes after those that it has to come after, and those of a channel
  /// are in its order.
  std::vector<ProgramTransfer> transfers;
};

} // namespace sccl

#endif // SCCL_MODEL_PROGRAM_H
