//===- DraftTransfers.h - Transfers of a program not yet made --*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ADVICE_DRAFTTRANSFERS_H
#define SCCL_LIB_ADVICE_DRAFTTRANSFERS_H

#include "Draft.h"

#include "sccl/Model/OrderedSums.h"

#include "llvm/ADT/SmallVector.h"

namespace sccl::advice {

/// In place of a transfer or group that there is not.
constexpr uint32_t none = ~0u;

/// A transfer that some channel will execute, for one chunk.
struct DraftTransfer {
  uint32_t channel;
  uint32_t step;
  /// The transfers whose results it reads, or none where it reads an input.
  llvm::SmallVector<uint32_t, 2> reads = {};
  bool reduces = false;   ///< within a rank
  bool isScratch = false; ///< where the result goes
  bool isPartial = false; ///< the result is a partial sum
  bool isLate = false;    ///< comes after the reductions of its step
  bool isDropped = false;
  uint32_t contributors = 1; ///< ranks that are in the result
  SumPart part = {none};     ///< which they are, or none: the channel's rank
  uint32_t depth = 0;        ///< channels that its data has passed in the step
  uint32_t place = none;     ///< in its channel
  uint32_t group = none;     ///< of the transfers of its step and depth
  uint32_t readers = 0;      ///< how many read the result
  uint32_t reader = none;    ///< the last of them
};

/// The transfers of a schedule, each after those whose results it reads. A
/// local channel has the number of its rank, one over a link that of the link
/// and the number of ranks.
std::vector<DraftTransfer> draftTransfers(const Topology &topology,
                                          const Implementation &implementation,
                                          const LoweringOptions &options);

} // namespace sccl::advice

#endif // SCCL_LIB_ADVICE_DRAFTTRANSFERS_H
