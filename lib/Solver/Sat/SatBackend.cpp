//===- SatBackend.cpp - Search with CaDiCaL -------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tries restricted searches, which are fast where they succeed, and the
// unrestricted one, which alone can refute. They take turns with growing
// budgets of conflicts, so that no unlucky restriction delays the answer by
// more than a factor. Budgets count conflicts, not time: the answer does not
// depend on the machine.
//
//===----------------------------------------------------------------------===//

#include "Optimize/Sat.h"

#include "SatEncoding.h"
#include "Solver/Backends.h"
#include "Solver/CanonicalInstance.h"
#include "Solver/Constants.h"
#include "Solver/Flow/TimeExpansion.h"
#include "Solver/StepSplitting.h"

#include <algorithm>
#include <optional>

using namespace sccl;

namespace {
/// An instance with its windows: the given one, or one with fewer steps whose
/// schedules can be split.
struct Problem {
  Instance instance;
  std::unique_ptr<WindowPlan> windows = nullptr;
};

/// One search, set up when it first gets a turn.
struct Attempt {
  Problem *problem;
  SatRestriction restriction;
  bool isComplete; ///< restricts nothing
  bool isOver = false;
  std::unique_ptr<SatSolver> solver = nullptr;
  std::unique_ptr<SatEncoding> encoding = nullptr;
};

class SatRun {
public:
  SatRun(const Instance &instance, const SolverOptions &options,
         const Deadline &deadline)
      : options(options),
        deadline(deadline), original{instance}, shorter{instance} {}

  Outcome answer();

private:
  using Groups = std::vector<std::vector<Permutation>>;
  using Rounds = std::vector<unsigned>;

  void makeWindows(Problem &problem);
  void planAttempts(const Rounds &candidate);
  std::vector<Rounds> listCandidates(unsigned steps);
  void planShorter(const Groups &groups);
  void addAttempt(Problem &problem, const std::vector<Permutation> &group,
                  Rounds rounds, bool slots);
  void prepare(Attempt &attempt);
  std::optional<Outcome> advance(Attempt &attempt, uint64_t conflicts);
  Outcome takeTurns();
  uint64_t memoryLimitMiB() const {
    return SatSolver::memoryLimitMiB(options.memoryMiB);
  }
  bool outOfMemory() const;
  bool fits(const Problem &problem, size_t groupOrder) const;
  Unknown tooLarge() const;

  const SolverOptions &options;
  const Deadline &deadline;
  const std::function<bool()> stop = [this] { return deadline.expired(); };
  Problem original, shorter;
  std::vector<Attempt> attempts;
  bool memoryExceeded = false;

  /// Variables of the windows in one formula.
  static constexpr uint64_t maxVariables = 8'000'000;
  /// Quotients need the windows of all chunks, too, but no variables for them.
  static constexpr uint64_t maxPlanned = maxVariables * 1024;
};
} // namespace

//===----------------------------------------------------------------------===//
// What to try
//===----------------------------------------------------------------------===//

void SatRun::makeWindows(Problem &problem) {
  problem.windows =
      std::make_unique<WindowPlan>(problem.instance, maxPlanned, stop);
}

/// Whether the formula of a quotient by a group of this order can be built.
bool SatRun::fits(const Problem &problem, size_t groupOrder) const {
  uint64_t variables = problem.windows->numVariables() / groupOrder;
  return variables <= maxVariables;
}

void SatRun::addAttempt(Problem &problem, const std::vector<Permutation> &group,
                        Rounds rounds, bool slots) {
  if (!fits(problem, group.size()))
    return;
  // With no round to spare there is nothing to choose.
  const Instance &instance = problem.instance;
  bool onlyRounds = instance.rounds == instance.steps;
  if (onlyRounds)
    rounds.assign(instance.steps, 1);
  bool isComplete = &problem == &original && group.size() == 1 && !slots &&
                    (rounds.empty() || onlyRounds);
  attempts.push_back({&problem, {group, std::move(rounds), slots}, isComplete});
}

/// Distributions of the rounds that are worth a search of their own.
std::vector<SatRun::Rounds> SatRun::listCandidates(unsigned steps) {
  RoundCandidates candidates(original.instance, steps);
  std::vector<Rounds> result;
  while (result.size() < tuned::mostRoundChoices())
    if (std::optional<Rounds> rounds = candidates.next(deadline))
      result.push_back(std::move(*rounds));
    else
      break;
  return result;
}

/// Fewer steps make smaller formulas: takes the least number of steps for which
/// flows do not exclude a schedule.
void SatRun::planShorter(const Groups &groups) {
  const Instance &instance = original.instance;
  if (!Quotient::actsOn(instance.collective) ||
      !instance.topology.isPointToPoint())
    return;
  unsigned least = 0;
  for (unsigned rank = 0; rank < instance.topology.numRanks(); ++rank)
    for (unsigned distance : instance.topology.distancesFrom(rank))
      least = std::max(least, distance);
  for (unsigned steps = std::max(least, 1u);
       steps < std::min(instance.steps, least + tuned::mostShorter());
       ++steps) {
    std::vector<Rounds> candidates = listCandidates(steps);
    if (candidates.empty())
      continue;
    shorter.instance.steps = steps;
    makeWindows(shorter);
    for (const Rounds &rounds : candidates)
      addAttempt(shorter, groups.front(), rounds, /*slots=*/false);
    return;
  }
}

void SatRun::planAttempts(const Rounds &candidate) {
  Groups groups = quotientGroups(original.instance, tuned::groupsPerOrder());
  if (!original.instance.topology.switches().empty())
    return addAttempt(original, groups.front(), {}, /*slots=*/false);
  planShorter(groups);
  if (SatEncoding::hasSlots(original.instance, *original.windows))
    addAttempt(original, groups.back(), {}, /*slots=*/true);
  if (original.instance.rounds > original.instance.steps)
    addAttempt(original, groups.front(), candidate, /*slots=*/false);
  for (const std::vector<Permutation> &group : groups)
    addAttempt(original, group, {}, /*slots=*/false);
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

/// Whether all formulas together take more memory than they may.
bool SatRun::outOfMemory() const {
  uint64_t literals = 0;
  for (const Attempt &attempt : attempts)
    if (attempt.encoding)
      literals += attempt.encoding->numLiterals();
  return literals * SatSolver::bytesPerLiteral >> 20 >= memoryLimitMiB();
}

void SatRun::prepare(Attempt &attempt) {
  attempt.solver = std::make_unique<SatSolver>(deadline, options.seed);
  attempt.encoding = std::make_unique<SatEncoding>(
      attempt.problem->instance, *attempt.problem->windows, attempt.restriction,
      *attempt.solver);
  attempt.encoding->encode([this] { return stop() || outOfMemory(); });
}

static void drop(Attempt &attempt) {
  attempt.isOver = true;
  attempt.encoding.reset();
  attempt.solver.reset();
}

/// Gives `attempt` a turn. Returns the answer, if it is one for the instance.
std::optional<Outcome> SatRun::advance(Attempt &attempt, uint64_t conflicts) {
  if (!attempt.solver)
    prepare(attempt);
  if (stop())
    return gaveUp(deadline);
  if (outOfMemory()) {
    drop(attempt);
    memoryExceeded = true;
    return std::nullopt;
  }
  SatSolver::Answer answer = attempt.solver->search(conflicts);
  if (answer == SatSolver::Answer::Satisfiable) {
    Schedule schedule = attempt.encoding->decode();
    if (attempt.problem == &shorter)
      schedule = splitSteps(original.instance.topology, std::move(schedule),
                            original.instance.steps, original.instance.rounds);
    return Satisfied{std::move(schedule)};
  }
  if (answer == SatSolver::Answer::Unsatisfiable) {
    if (attempt.isComplete)
      return Unsatisfiable{"refuted by cadical"};
    drop(attempt);
  }
  if (stop())
    return gaveUp(deadline);
  return std::nullopt;
}

Outcome SatRun::takeTurns() {
  for (uint64_t budget = tuned::firstConflicts();; budget *= 2) {
    bool anyLeft = false;
    for (Attempt &attempt : attempts) {
      if (attempt.isOver)
        continue;
      anyLeft = true;
      if (std::optional<Outcome> outcome = advance(attempt, budget))
        return std::move(*outcome);
    }
    // The complete search ends with an answer, unless it was too large.
    if (!anyLeft)
      return tooLarge();
  }
}

Unknown SatRun::tooLarge() const {
  if (memoryExceeded)
    return {"out of memory (limit " + std::to_string(memoryLimitMiB()) +
            " MiB)"};
  return {"the formula needs " +
          std::to_string(original.windows->numVariables()) +
          " variables, the limit is " + std::to_string(maxVariables)};
}

Outcome SatRun::answer() {
  RoundCandidates candidates(original.instance, original.instance.steps);
  std::optional<Rounds> candidate = Rounds();
  // Flows count what a switch copies once for each copy.
  if (original.instance.topology.switches().empty())
    candidate = candidates.next(deadline);
  if (stop())
    return gaveUp(deadline);
  if (!candidate)
    return Unsatisfiable{"refuted by " + std::to_string(candidates.numCuts()) +
                         (candidates.numCuts() == 1 ? " cut" : " cuts")};
  makeWindows(original);
  if (stop())
    return gaveUp(deadline);
  if (original.windows->numVariables() > maxPlanned)
    return tooLarge();
  planAttempts(*candidate);
  return takeTurns();
}

//===----------------------------------------------------------------------===//
// The engine
//===----------------------------------------------------------------------===//

namespace {
class SatBackend final : public SolverBackend {
public:
  SatBackend()
      : SolverBackend({.name = "sat",
                       .workUnit = "conflicts",
                       .takesMoves = true,
                       .refutes = true,
                       .decides = true,
                       .takesSwitches = true,
                       .hasSeed = true,
                       .limitsMemory = true}) {}

  SynthesisResult solve(const Instance &instance,
                        const SolverOptions &options) const override {
    return runEngine(*this, instance, options, [&](const Deadline &deadline) {
      return solveCanonically(instance, [&](const Instance &canonical) {
        return SatRun(canonical, options, deadline).answer();
      });
    });
  }
};
} // namespace

std::unique_ptr<SolverBackend> sccl::createSatBackend() {
  return std::make_unique<SatBackend>();
}
