//===- Batch.h - What rows of a table share ---------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of one topology, kind and root have their bounds and their true frontier
// in common, which are found once.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_SEARCH_BATCH_H
#define SCCL_SEARCH_BATCH_H

#include "sccl/Search/Frontier.h"

#include <map>
#include <tuple>

namespace sccl {

/// What is proved about instances, as far as it can be had quickly.
class BatchFacts {
public:
  /// Each frontier is searched within the limits of `solver`, by whatever
  /// engines are quick: what is proved does not depend on who answers the rows.
  explicit BatchFacts(const SolverOptions &solver);

  /// Announces an instance, so that a frontier reaches as far as all need.
  void announce(const Instance &instance);
  /// The certified bound on R/C of `steps` steps, for any C and R; nothing if
  /// there is none to be had.
  const std::optional<LowerBound> &boundAt(const Instance &instance,
                                           unsigned steps);
  /// Whether an announced instance is on the true frontier: as cheap as S steps
  /// allow, and cheaper than fewer steps allow. Nothing if that is open.
  std::optional<bool> isOnFrontier(const Instance &instance);

private:
  /// Topology, kind and root, or the very collective where the kind does not
  /// say it.
  using FamilyKey = std::tuple<uint64_t, CollectiveKind, unsigned, uint64_t>;

  static FamilyKey keyOf(const Instance &instance);
  bool needsAllSteps(const Instance &instance, const Rational &cost);
  std::vector<FrontierPoint> frontierOf(const Instance &instance);

  FrontierOptions options;
  std::map<std::pair<FamilyKey, unsigned>, std::optional<LowerBound>> bounds;
  std::map<FamilyKey, unsigned> maxSteps;
  /// Those whose search ended by itself, or by its time limit.
  std::map<FamilyKey, std::vector<FrontierPoint>> frontiers;
};

} // namespace sccl

#endif // SCCL_SEARCH_BATCH_H
