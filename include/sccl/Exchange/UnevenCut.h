//===- UnevenCut.h - Chunks for counts that engines take --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Engines cut buffers into equal parts and take an algorithm only for counts
// that are multiples of their number; for others they run another one, without
// a word. So six chunks are for no power of two. Cut into 64 parts, of which
// chunks take 11 or 10 each, they are for all from 64 on.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_EXCHANGE_UNEVENCUT_H
#define SCCL_EXCHANGE_UNEVENCUT_H

#include "sccl/Model/Schedule.h"

namespace sccl::exchange {

struct CutSchedule {
  Collective collective;
  Schedule schedule; ///< step by step, with the rounds of the original
};

/// The same schedule with each segment cut into `parts` chunks, of which each
/// chunk of the original takes as many as another, or one more. Fails for
/// collectives without a keyword, and if there are fewer parts than chunks.
Result<CutSchedule> cutUnevenly(const Collective &collective,
                                const Schedule &schedule, unsigned parts);

/// How much larger than the mean the largest of `chunks` chunks is that take
/// `parts` parts so: 0 if all are equal.
double unevenness(unsigned chunks, unsigned parts);

/// The least power of two into which `chunks` chunks are cut with an unevenness
/// of at most 5 %; at most 32 times as many parts.
unsigned cutForPowersOfTwo(unsigned chunks);

} // namespace sccl::exchange

#endif // SCCL_EXCHANGE_UNEVENCUT_H
