//===- TraceSchedule.h - The schedule that a trace follows ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A trace has cells, and values that wait in scratch memory until they are
// added; a schedule has a value of each chunk on each rank. What arrives is a
// send: a copy when it is passed on or asked for, a reduction when it is added
// to what its rank has. Ranks that work on several partial sums of a chunk keep
// what arrives (TraceSums.h).
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_TRACESCHEDULE_H
#define SCCL_LIB_EXCHANGE_TRACESCHEDULE_H

#include "Trace.h"

#include "sccl/Model/Schedule.h"

namespace sccl::exchange {

/// A cell of a rank, and the chunk of the collective that is in it.
struct ChunkCell {
  uint32_t rank, cell, chunk;
};

/// What a trace starts with and what it is to end with.
struct TraceTask {
  const Collective &collective;
  std::vector<uint32_t> cells;   ///< how many each rank has
  std::vector<ChunkCell> inputs; ///< all other cells hold nothing
  std::vector<ChunkCell> outputs;
};

/// The sends of a trace that is right, each in the earliest step in which what
/// it sends is there, with one value of each chunk on each rank. Rounds are 1
/// in each step, for the caller to fit. Fails where a rank works on two values
/// of one chunk. In a reduction a send may bring what its receiver has.
Result<Schedule> scheduleOfValues(const Trace &trace,
                                  const std::vector<uint32_t> &order,
                                  const TraceTask &task);

/// How many chunks `event` works on; `made` has by event what is sent on.
template <typename Made>
uint32_t numChunks(const Event &event, const Made &made) {
  if (event.reads)
    return event.reads->count;
  if (event.writes)
    return event.writes->count;
  return event.from ? uint32_t(made[*event.from].size()) : 0;
}

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_TRACESCHEDULE_H
