//===- Axioms.h - Is an outcome possible on GPUs? ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The axioms of PTX's memory model, after chapter 8 of the PTX ISA and Lustig,
// Sahasrabuddhe and Giroux, "A Formal Analysis of the NVIDIA PTX Memory
// Consistency Model" (ASPLOS'19): coherence, fence-SC, no thin air, SC per
// location and causality. All executions of a small program are tried: each way
// in which loads may read from stores, and in which stores may follow each
// other.
//
// Barriers synchronize the threads of a block. There are no read-modify-writes,
// because we emit none. Of proxies there are plain accesses and those through a
// switch: what one does to a location precedes what the other does to it in
// causality order only if a fence.proxy.alias is on the way.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LITMUS_AXIOMS_H
#define SCCL_LITMUS_AXIOMS_H

#include "sccl/Litmus/Program.h"

namespace sccl::litmus {

struct Answer {
  Verdict verdict = Verdict::Never;
  /// For Sometimes an execution with the outcome: a line for each load, with
  /// what it reads and from where.
  std::vector<std::string> execution = {};
  uint64_t candidates = 0; ///< ways to read that were tried
};

/// Ways to read, and to order stores for each, that are tried before the answer
/// is Unknown. That bounds the time: 10^5 take about a second.
inline constexpr uint64_t maxCandidates = 200'000;

/// Whether `program` may have one of its outcomes. It is an error if threads of
/// a block pass a barrier a different number of times, or there are more events
/// than `maxEvents`.
Result<Answer> check(const Program &program, uint64_t most = maxCandidates);

} // namespace sccl::litmus

#endif // SCCL_LITMUS_AXIOMS_H
