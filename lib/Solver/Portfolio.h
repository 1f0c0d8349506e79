//===- Portfolio.h - Engines that take turns --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which engine is quick, nobody knows beforehand. So each gets a turn of a
// little work, in order of preference, and those that need more get larger
// turns, until one knows the answer. Turns are measured in work, not time:
// which engine answers, and what, is the same on every machine.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_PORTFOLIO_H
#define SCCL_LIB_SOLVER_PORTFOLIO_H

#include "Backends.h"

#include <map>

namespace sccl {

/// One instance and the engines that may still answer it.
class Portfolio {
public:
  /// `backends` must outlive this and accept `instance`.
  Portfolio(const Instance &instance, const SolverOptions &options,
            std::vector<const SolverBackend *> backends);

  /// Gives each engine a turn of up to `work`. Returns the answer, if that ends
  /// the search. An engine that fails ends it: its mistake must not go unseen.
  std::optional<SynthesisResult> takeTurn(uint64_t work);
  /// Gives larger and larger turns, from `work` on. Returns the answer, which
  /// is unknown if no engine needs more work than it may do.
  SynthesisResult finish(uint64_t work);

private:
  SynthesisResult ask(const SolverBackend &backend, uint64_t work);
  bool isAlone() const;
  SynthesisResult undecided() const;

  const Instance &instance;
  const SolverOptions options;
  const Deadline deadline; ///< the user's limits
  std::vector<const SolverBackend *> backends;
  std::map<std::string, std::string> reasons; ///< of each engine, its last one
  std::vector<std::string> order;             ///< of the reasons
  SynthesisResult last;
  bool needsMoreWork = false;
  uint64_t total = 0;
};

/// Normalizes the schedule of `result` and has it checked. An engine that
/// produces a wrong schedule has failed, whatever it believes.
void checkAnswer(const Instance &instance, SynthesisResult &result);

} // namespace sccl

#endif // SCCL_LIB_SOLVER_PORTFOLIO_H
