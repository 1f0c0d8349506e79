//===- AdviceReport.h - Prints what sccl plan advises -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_ADVICEREPORT_H
#define SCCL_TOOLS_SCCL_ADVICEREPORT_H

#include "SumReport.h"

namespace sccl::driver {

/// As "C = 8, S = 2, P = 14, 2 pieces at 2".
std::string describeCandidate(const Candidate &candidate);

/// What others would run, by name.
struct Baseline {
  std::string name;
  std::vector<SizeAdvice> sizes; ///< those of the advice, if there was time
  bool isKnown() const { return !sizes.empty(); }
};

/// A tree of additions that was asked for.
struct AskedTree {
  std::string order; ///< as it was asked for
  std::string tree;
};

/// That of what `options` ask for; nothing unless it depends on a tree.
std::optional<AskedTree> treeOf(const Collective &collective,
                                const LoweringOptions &options);

/// What there is to say of each size: the advice, and beside it what the intact
/// machine takes, if parts are lost, and baselines.
struct AdviceReport {
  const Advice &advice;
  const Advice *intact; ///< for the same sizes; or null
  const std::vector<Baseline> &baselines;
  std::string bounded; ///< programs that bounds hold for
  std::optional<AskedTree> tree;
  LoweringOptions lowering; ///< of all programs
  /// See errorsOf().
  std::vector<std::optional<coll::SumError>> errors;

  bool reduces() const {
    return advice.candidates.front().implementation.collective.combining();
  }
  /// How elements are added up and how far off they may be; empty if there is
  /// nothing to say.
  std::string sumSentence() const;
  /// A heading, and a line for each size.
  void printTable() const;
  /// An object for each size.
  void printJson() const;
};

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_ADVICEREPORT_H
