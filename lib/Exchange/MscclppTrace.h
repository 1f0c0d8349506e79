//===- MscclppTrace.h - What a plan of MSCCL++ does -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The threads of a block do not wait for each other between operations, but
// only at a nop. So operations between two nops are in blocks of a trace of
// their own, here called lanes, and the nop comes after all of them. What an
// operation does on another rank is an event there.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_MSCCLPPTRACE_H
#define SCCL_LIB_EXCHANGE_MSCCLPPTRACE_H

#include "MscclppStructure.h"
#include "Trace.h"

namespace sccl::exchange {

/// A signal or a wait, of a block over all ranks.
struct CounterUse {
  uint32_t event, block;
  bool isRelaxed = false; ///< says nothing about memory
};

/// A counter that signals increase and each wait decreases by one.
struct Counter {
  std::vector<CounterUse> signals, waits;
  uint32_t initial = 0;
};

/// Signals that say nothing about memory, and the waits that take them.
using RelaxedPairs = std::vector<std::pair<uint32_t, uint32_t>>;

/// Puts each signal before the wait that takes it, the n-th before the n-th.
/// Says which have no counterpart, and where blocks come together so that it is
/// not known who gets what.
void matchCounter(const Counter &counter, std::vector<Event> &events,
                  RelaxedPairs &relaxed, Findings &findings);

/// An event on a rank that the threads of another one do.
struct ForeignEvent {
  uint32_t event, by;
  bool isLL; ///< it writes LL words
};

struct MscclppTrace {
  Trace trace;
  std::vector<ForeignEvent> foreign;
  RelaxedPairs relaxed;
  std::vector<uint32_t> begins, ends; ///< by rank
};

/// Into how many cells a chunk has to be cut for operations that are shared by
/// blocks; 0 if into too many.
uint32_t mscclppCells(const MscclppPlan &plan);

/// Cells of data, and behind them those of LL words.
CallLayout layoutOf(const MscclppPlan &plan, CollectiveKind kind, uint32_t root,
                    uint32_t cellsPerChunk);

/// The operations of a plan that checkMscclppStructure has accepted. Says in
/// `findings` which signals, waits and words have no counterpart.
MscclppTrace makeMscclppTrace(const MscclppPlan &plan, const CallLayout &layout,
                              uint32_t cellsPerChunk, Findings &findings);

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_MSCCLPPTRACE_H
