//===- MscclppMatch.h - Which signal a wait waits for -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_MSCCLPPMATCH_H
#define SCCL_LIB_EXCHANGE_MSCCLPPMATCH_H

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

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_MSCCLPPMATCH_H
