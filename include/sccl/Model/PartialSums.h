//===- PartialSums.h - Schedules written from partial sums ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction can be said without values of ranks: each message is a sum of its
// source's input and of earlier messages that have arrived there, and so is
// each result. This chooses how a schedule says it: which arrivals are added to
// the value of a rank, and which are kept apart for later messages.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_PARTIALSUMS_H
#define SCCL_MODEL_PARTIALSUMS_H

#include "sccl/Model/Schedule.h"

#include <optional>

namespace sccl {

/// The input of a rank, if `own`, and what has arrived there.
struct PartialSum {
  bool own = false;
  std::vector<size_t> parts = {}; ///< numbers of messages, ascending
  bool operator==(const PartialSum &) const = default;
};

/// One chunk on its way over a link in a step.
struct SumMessage {
  unsigned step;
  uint32_t chunk, src, dst;
  PartialSum sum; ///< of messages with lower numbers and of earlier steps
};

/// What a rank is to have of a chunk at the end.
struct SumResult {
  uint32_t rank, chunk;
  PartialSum sum;
};

/// By message the send that it becomes; nothing for messages that no result
/// needs. Nothing at all if no schedule can say it: if a rank would keep more
/// than `Send::maxKept` arrivals of a chunk at a time, or if two arrivals of
/// one step would have to replace the input of a rank. Contributions must be
/// disjoint wherever they are added; at most one result for each rank and
/// chunk.
std::optional<std::vector<std::optional<Send>>>
writePartialSums(const Collective &collective,
                 const std::vector<SumMessage> &messages,
                 const std::vector<SumResult> &results);

} // namespace sccl

#endif // SCCL_MODEL_PARTIALSUMS_H
