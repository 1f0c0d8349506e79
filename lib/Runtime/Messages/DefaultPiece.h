//===- DefaultPiece.h - Pieces where nobody has measured --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The links that a late step needs are idle until the first piece gets there,
// and those of an early step once the last piece has left it. Of two pieces
// each is half as long as of one; of four, a quarter. More gain little, and
// messages take a processor's time however short they are.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_DEFAULTPIECE_H
#define SCCL_LIB_RUNTIME_MESSAGES_DEFAULTPIECE_H

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstdint>

namespace sccl {

/// Returns the bytes of a piece of a segment of `segment` bytes, for a program
/// that cuts it into `chunks` chunks and has up to `mostChunks` of them in a
/// message. Pieces are alike, but for rounding to multiples of 64. There are as
/// few as give messages of at most 8 KiB, which both MPIs send without asking
/// first, but for chunks of at least 2 KiB; or more, up to four, if their
/// chunks have 2 KiB or more.
inline uint64_t defaultPiece(uint64_t segment, uint64_t chunks,
                             uint64_t mostChunks) {
  constexpr uint64_t message = 8 << 10, least = 2 << 10, enough = 4, unit = 64;
  chunks = std::max<uint64_t>(chunks, 1);
  uint64_t most = std::max(message / std::max<uint64_t>(mostChunks, 1), least);
  uint64_t fine = std::min(enough, segment / (least * chunks));
  uint64_t pieces =
      std::max({uint64_t(1), fine, llvm::divideCeil(segment, most * chunks)});
  return std::max<uint64_t>(llvm::divideCeil(segment, pieces * unit), 1) * unit;
}

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_DEFAULTPIECE_H
