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
#include "sccl/Optimize/Deadline.h"

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
  /// Only `SolverOptions::maxWork` was in the way: more may give an answer.
  bool needsMoreWork = false;
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

/// Why there is no schedule; "" if there is one. Good as long as `outcome` is.
std::string_view reasonOf(const Outcome &outcome);

/// How z3 sees the problem.
enum class Encoding {
  Direct, ///< windowed per-step Booleans with pseudo-Boolean capacities
  Paper,  ///< constraints C1-C6 of the SCCL paper, section 3.5
};

/// Limits and choices of one synthesis. `maxWork` is for each engine.
struct SolverOptions : SearchLimits {
  Encoding encoding = Encoding::Direct; ///< read by z3 only
  unsigned memoryMiB = 0;               ///< 0 means no limit
  unsigned seed = 0;
  /// With the engine "auto", asks lib/Bounds too where engines take long. A
  /// caller that knows the bounds already need not.
  bool useBounds = true;
  /// Engines that "auto" leaves out: a caller that has asked them before need
  /// not ask again.
  std::vector<std::string_view> without = {};
};

/// An outcome with how it was found.
struct SynthesisResult {
  Outcome outcome;
  std::string engine; ///< e.g. "z3/direct"
  double seconds = 0; ///< wall time of the engine, the check excluded
  uint64_t work = 0;  ///< of all engines asked, in units; see SearchLimits
};

/// What an engine takes, and what its answers are worth. Choices among engines
/// rest on this; their names are for people.
struct EngineTraits {
  std::string_view name; ///< for `--engine`
  /// What its work is counted in: "conflicts".
  std::string_view workUnit;

  /// The collectives; all if empty, roots are a matter of the collective.
  std::vector<CollectiveKind> kinds = {};
  /// Collectives that reduce, and collectives that only move chunks.
  bool takesReductions = false, takesMoves = false;
  /// Limits shared by several links.
  enum class Sharing {
    None,  ///< one link each
    Ports, ///< also all links into a rank, or all out of it
    Any,
  } sharing = Sharing::Any;
  unsigned maxRanks = ~0u;

  /// May prove that there is no schedule.
  bool refutes = false;
  /// Ends with an answer, given time, work and memory.
  bool decides = false;
  /// Ends in moments on many ranks as well, often without an answer.
  bool endsEarly = false;
  /// Its work goes into questions to other engines.
  bool asksOthers = false;
  /// Compares the others rather than competes with them: not chosen where
  /// another one decides.
  bool isReference = false;
  /// Better asked about the parts of a reduction first.
  bool prefersParts = false;
  /// Takes a tree as the order of additions.
  bool takesOrders = false;
  /// Lets switches multicast; one that asks others, also reduce.
  bool takesSwitches = false;
  /// Look at `SolverOptions::seed`, and at `memoryMiB`.
  bool hasSeed = false, limitsMemory = false;
};

/// One way to answer instances.
class SolverBackend {
public:
  explicit SolverBackend(EngineTraits traits) : engineTraits(traits) {}
  virtual ~SolverBackend() = default;

  const EngineTraits &traits() const { return engineTraits; }
  std::string_view name() const { return engineTraits.name; }
  /// An empty string if the engine takes `instance`, else the reason why not:
  /// what its traits say, or what they cannot.
  virtual std::string whyNot(const Instance &instance) const;
  /// Answers the instance. Never throws. The schedule of a `Satisfied` has not
  /// been checked yet: callers outside lib/Solver use `synthesize`.
  virtual SynthesisResult solve(const Instance &instance,
                                const SolverOptions &options) const = 0;

private:
  const EngineTraits engineTraits;
};

/// The engines compiled into this library, in order of preference.
const std::vector<std::unique_ptr<SolverBackend>> &solverBackends();

/// Answers `instance` with the engine named `engine`, or with the first that
/// accepts it if `engine` is "auto"; what takes long may be refuted by a lower
/// bound instead, by "bound". Every schedule has passed `checkSchedule`. The
/// answer depends on nothing but the arguments, except that it is unknown where
/// `timeoutSeconds` or `interrupt` came first.
SynthesisResult synthesize(const Instance &instance,
                           const SolverOptions &options = {},
                           std::string_view engine = "auto");

} // namespace sccl

#endif // SCCL_SOLVER_SOLVER_H
