//===- Solver.h - Synthesis back ends ---------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One interface for all engines: an instance in, one of four answers out.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_SOLVER_SOLVER_H
#define SCCL_SOLVER_SOLVER_H

#include "sccl/Model/Instance.h"
#include "sccl/Model/Schedule.h"

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sccl {

/// A schedule exists; the checker has accepted this one.
struct Satisfied {
  Schedule schedule;
};
/// Proved: there is no schedule with these C, S and R.
struct Unsatisfiable {
  std::string reason; ///< e.g. "refuted by z3", one line
};
/// No answer within the limits.
struct Unknown {
  std::string reason; ///< "timeout after 2 s", "out of memory", "interrupted"
};
/// The engine broke down, does not accept the instance, or returned a schedule
/// that the checker rejects.
struct Failed {
  std::string message;
};

/// The four possible answers; they are never confused with one another.
using Outcome = std::variant<Satisfied, Unsatisfiable, Unknown, Failed>;

/// "satisfiable", "unsatisfiable", "unknown" or "failed".
std::string_view statusName(const Outcome &outcome);

/// How z3 sees the problem.
enum class Encoding {
  Direct, ///< windowed per-step Booleans with pseudo-Boolean capacities
  Paper,  ///< constraints C1-C6 of the SCCL paper, section 3.5
};

/// Limits and choices of one synthesis.
struct SolverOptions {
  Encoding encoding = Encoding::Direct; ///< read by z3 only
  double timeoutSeconds = 0;            ///< wall time; 0 means no limit
  unsigned memoryMiB = 0;               ///< 0 means no limit
  unsigned seed = 0;
  /// How often engines that search in turns start over with larger turns; 0
  /// means no limit. Unlike time it does not depend on the machine.
  unsigned maxTurns = 0;
  /// How much search the first of these turns is, in conflicts of a solver.
  unsigned firstTurn = 1000;
  /// With the engine "auto", asks lib/Bounds too where engines take long. A
  /// caller that knows the bounds already need not.
  bool useBounds = true;
  /// Set from another thread or a signal handler to give up early.
  const std::atomic<bool> *interrupt = nullptr;
};

/// An outcome with how it was found.
struct SynthesisResult {
  Outcome outcome;
  std::string engine; ///< e.g. "z3/direct"
  double seconds = 0; ///< wall time of the engine, the check excluded
};

/// One way to answer instances.
class SolverBackend {
public:
  virtual ~SolverBackend() = default;
  /// The name for `--engine`.
  virtual std::string_view name() const = 0;
  /// An empty string if the engine takes `instance`, else the reason why not.
  virtual std::string whyNot(const Instance &instance) const = 0;
  /// Answers the instance. Never throws. The schedule of a `Satisfied` has not
  /// been checked yet: callers outside lib/Solver use `synthesize`.
  virtual SynthesisResult solve(const Instance &instance,
                                const SolverOptions &options) const = 0;
};

/// The engines compiled into this library, in order of preference.
const std::vector<std::unique_ptr<SolverBackend>> &solverBackends();

/// Answers `instance` with the engine named `engine`, or with the first that
/// accepts it if `engine` is "auto"; what takes long may be refuted by a lower
/// bound instead, by "bound". Every schedule has passed `checkSchedule`.
SynthesisResult synthesize(const Instance &instance,
                           const SolverOptions &options = {},
                           std::string_view engine = "auto");

} // namespace sccl

#endif // SCCL_SOLVER_SOLVER_H
