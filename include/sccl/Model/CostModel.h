//===- CostModel.h - Time in the alpha-beta model ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_COSTMODEL_H
#define SCCL_MODEL_COSTMODEL_H

#include "sccl/Model/Schedule.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace sccl {

/// The two constants of the paper's cost model, section 3.4: a step costs
/// `alpha`, and a link of bandwidth 1 moves a byte in `beta`.
struct CostModel {
  double alphaMicroseconds;
  double betaMicrosecondsPerByte;

  /// S * alpha + (R/C) * L * beta for a send buffer of `bytes` bytes, in
  /// microseconds.
  double microseconds(const Cost &cost, double bytes) const {
    return cost.steps * alphaMicroseconds +
           cost.bandwidth.toDouble() * bytes * betaMicrosecondsPerByte;
  }
  /// The same of a pipelined schedule with chunks in `pieces` pieces, see
  /// Schedule.h.
  double microseconds(const PipelinedCost &cost, double bytes,
                      unsigned pieces) const {
    return (pieces + cost.steps - 1.0) *
           (alphaMicroseconds +
            cost.load.toDouble() * bytes * betaMicrosecondsPerByte / pieces);
  }
  /// The number of pieces, up to `most`, with which that is least; the smallest
  /// of several. The formula has its minimum over the reals at
  /// sqrt((S - 1) * load * L * beta / alpha).
  unsigned bestPieces(const PipelinedCost &cost, double bytes,
                      unsigned most) const;
};

/// A time as files say it: whole, and at most 2^61 nanoseconds, some 73 years.
inline uint64_t wholeNanoseconds(double nanoseconds) {
  return std::llround(std::min(nanoseconds, 0x1p61));
}

/// Send buffers of `firstByte` bytes and more, up to the next range, are served
/// best by the schedule number `best`.
struct SizeRange {
  uint64_t firstByte;
  size_t best;
  bool operator==(const SizeRange &) const = default;
};

/// Which of `costs` is cheapest for which sizes: ranges in ascending order, the
/// first from 0 bytes. Of equal ones the first in the list counts. Empty if
/// `costs` is.
std::vector<SizeRange> selectBySize(const std::vector<Cost> &costs,
                                    const CostModel &model);

} // namespace sccl

#endif // SCCL_MODEL_COSTMODEL_H
