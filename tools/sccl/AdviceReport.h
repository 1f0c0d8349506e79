//===- AdviceReport.h - Prints what sccl plan advises -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_ADVICEREPORT_H
#define SCCL_TOOLS_SCCL_ADVICEREPORT_H

#include "sccl/Advice/Advice.h"

namespace sccl::driver {

/// What others would run, by name.
struct Baseline {
  std::string name;
  std::vector<SizeAdvice> sizes; ///< those of the advice
};

/// What a tree of additions means for a result.
struct SumAccuracy {
  std::string order; ///< as it was asked for
  std::string tree;
  unsigned depth;
  /// A sum is wrong by at most this times the sum of |x|, to first order: a
  /// rounding for each addition that an input goes through.
  double bound;
};

/// That of what `options` ask for; nothing unless it depends on a tree.
std::optional<SumAccuracy> accuracyOf(const Collective &collective,
                                      const LoweringOptions &options);

/// What there is to say of each size: the advice, and beside it what the intact
/// machine takes, if parts are lost, and baselines.
struct AdviceReport {
  const Advice &advice;
  const Advice *intact; ///< for the same sizes; or null
  const std::vector<Baseline> &baselines;
  std::string bounded; ///< programs that bounds hold for
  std::optional<SumAccuracy> accuracy;

  bool reduces() const {
    return advice.candidates.front().implementation.collective.combining();
  }
  /// A heading, and a line for each size.
  void printTable() const;
  /// An object for each size.
  void printJson() const;
};

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_ADVICEREPORT_H
