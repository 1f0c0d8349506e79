//===- TraceMark.h - What traced code tells ---------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Host code that is compiled to be traced has a variable `sccl_trace`, a
// pointer to a function
//
//   void hook(const TraceMark *mark, uint64_t launch)
//
// null at first. Whoever loads the code may set it; the code then calls the
// function before each of its ops, and once behind the last one, by the thread
// that executes them. `launch` is the number of the launch, or 0 in programs
// whose launches are not counted.
//
// Code for GPUs writes down when it comes to each mark, see TraceTable.h.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ABI_TRACEMARK_H
#define SCCL_ABI_TRACEMARK_H

#include <cstdint>

namespace sccl {

/// What the code does from here to its next mark.
struct TraceMark {
  enum Kind : uint32_t { Wait, Transfer, Reduce, Copy, Signal, End };
  static constexpr uint32_t noPeer = ~uint32_t(0);

  uint32_t kind;
  uint32_t channel; ///< of the program, among those of this rank
  uint32_t peer;    ///< whose memory a transfer touches; or noPeer
  uint32_t isPull;  ///< it is read there, and not written
  /// Of transfers: the first chunk in its segment, how many, how often, and
  /// the chunks of a segment.
  uint32_t position, count, times, chunksPerSegment;
  /// Of signals and waits: the flag, as in TableFlag.
  uint32_t owner, offset, perLaunch, value;
};

static_assert(sizeof(TraceMark) == 48);

using TraceHook = void (*)(const TraceMark *mark, uint64_t launch);

inline constexpr const char *traceVariable = "sccl_trace";
/// What the code calls where it has a mark; calls the hook.
inline constexpr const char *markFunction = "sccl_mark";

} // namespace sccl

#endif // SCCL_ABI_TRACEMARK_H
