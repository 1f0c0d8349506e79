//===- Advice.h - Which schedule for which size -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ADVICE_ADVICE_H
#define SCCL_ADVICE_ADVICE_H

#include "sccl/Advice/TimeBound.h"
#include "sccl/Options/LoweringOptions.h"
#include "sccl/Search/Frontier.h"

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace sccl {

/// A machine as advice sees it.
struct Fabric {
  Topology topology;
  Timing timing;
  /// Microseconds of a byte at bandwidth 1.
  double unitTime = 0;
};

/// A way to lower a schedule.
struct LoweringWay {
  std::string name;
  LoweringOptions options;
};

/// Those that are worth a try: flags, flags and two halves of scratch, and LL
/// words. All others options are those of `base`.
std::vector<LoweringWay> usualWays(const LoweringOptions &base);

/// What is best for one size.
struct SizeAdvice {
  uint64_t bytes;      ///< of a send buffer
  size_t point;        ///< of the frontier
  std::string way;     ///< how it is lowered
  double microseconds; ///< as simulated
  double bound;        ///< no program takes less, microseconds

  /// The part of the time that may be too much: 0 if it meets the bound.
  double gap() const {
    return bound > 0 ? std::max(microseconds / bound - 1, 0.0) : 0;
  }
};

struct Advice {
  Frontier frontier;
  TimeBound bound;
  std::vector<SizeAdvice> sizes;
  uint64_t simulations = 0;
};

/// Which schedule is the fastest for each of `sizes` (bytes of a send buffer),
/// by simulation of the programs that its lowering gives. Searches the frontier
/// first. Schedules that the cost model finds best for no size under any of the
/// machine's latencies are not lowered, and those of more than 16384 sends are
/// lowered in the first way only. Fails where searchFrontier does, if no
/// schedule was found, or if one cannot be lowered.
Result<Advice> advise(mlir::MLIRContext &context, const Fabric &fabric,
                      const CollectiveFamily &family,
                      const std::vector<uint64_t> &sizes,
                      const FrontierOptions &options,
                      const std::vector<LoweringWay> &ways);

} // namespace sccl

#endif // SCCL_ADVICE_ADVICE_H
