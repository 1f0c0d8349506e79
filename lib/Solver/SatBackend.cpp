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

#include "Backends.h"
#include "Deadline.h"
#include "SatEncoding.h"

#include <new>
#include <numeric>
#include <optional>

using namespace sccl;

namespace {
/// Lets CaDiCaL ask whether to go on.
class DeadlineTerminator final : public CaDiCaL::Terminator {
public:
  explicit DeadlineTerminator(const Deadline &deadline) : deadline(deadline) {}
  bool terminate() override { return deadline.expired(); }

private:
  const Deadline &deadline;
};

/// One search, set up when it first gets a turn.
struct Attempt {
  SatRestriction restriction;
  bool isComplete; ///< restricts nothing
  bool isOver = false;
  std::unique_ptr<CaDiCaL::Solver> solver = nullptr;
  std::unique_ptr<SatEncoding> encoding = nullptr;
};

class SatRun {
public:
  SatRun(const Instance &instance, const SolverOptions &options)
      : instance(instance), options(options), deadline(options),
        terminator(deadline) {}

  Outcome answer();
  double seconds() const { return deadline.elapsedSeconds(); }

private:
  void planAttempts();
  void addAttempt(std::vector<Permutation> group, std::vector<unsigned> rounds,
                  bool slots);
  void prepare(Attempt &attempt);
  std::optional<Outcome> advance(Attempt &attempt, int conflicts);
  bool fits(size_t groupOrder) const;
  Unknown tooLarge() const;

  const Instance &instance;
  const SolverOptions &options;
  const Deadline deadline;
  DeadlineTerminator terminator;
  std::unique_ptr<WindowPlan> windows;
  std::vector<Attempt> attempts;

  /// Variables of the windows in one formula; counters multiply them by about
  /// four.
  static constexpr uint64_t maxVariables = 8'000'000;
  /// Measured on all_gather on tori, counters included.
  static constexpr uint64_t bytesPerVariable = 600;
};
} // namespace

//===----------------------------------------------------------------------===//
// What to try
//===----------------------------------------------------------------------===//

/// Whether the formula of a quotient by a group of this order can be built.
bool SatRun::fits(size_t groupOrder) const {
  uint64_t variables = windows->numVariables() / groupOrder;
  return variables <= maxVariables &&
         (options.memoryMiB == 0 ||
          variables * bytesPerVariable >> 20 <= options.memoryMiB);
}

void SatRun::addAttempt(std::vector<Permutation> group,
                        std::vector<unsigned> rounds, bool slots) {
  if (!fits(group.size()))
    return;
  // With no round to spare there is nothing to choose.
  bool onlyRounds = instance.rounds == instance.steps;
  if (onlyRounds)
    rounds.assign(instance.steps, 1);
  bool isComplete =
      group.size() == 1 && !slots && (rounds.empty() || onlyRounds);
  attempts.push_back(
      {{std::move(group), std::move(rounds), slots}, isComplete});
}

void SatRun::planAttempts() {
  std::vector<std::vector<Permutation>> groups =
      quotientGroups(instance, /*perOrder=*/2);
  if (SatEncoding::hasSlots(instance, *windows))
    addAttempt(groups.back(), {}, /*slots=*/true);
  for (std::vector<Permutation> &group : groups)
    addAttempt(std::move(group), {}, /*slots=*/false);
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

void SatRun::prepare(Attempt &attempt) {
  attempt.solver = std::make_unique<CaDiCaL::Solver>();
  if (!attempt.isComplete)
    attempt.solver->configure("sat");
  attempt.solver->set("quiet", 1);
  attempt.solver->set("seed", static_cast<int>(options.seed & 0x7fffffff));
  attempt.solver->connect_terminator(&terminator);
  attempt.encoding = std::make_unique<SatEncoding>(
      instance, *windows, attempt.restriction, *attempt.solver);
  attempt.encoding->encode([this] { return deadline.expired(); });
}

/// Gives `attempt` a turn. Returns the answer, if it is one for the instance.
std::optional<Outcome> SatRun::advance(Attempt &attempt, int conflicts) {
  if (!attempt.solver)
    prepare(attempt);
  if (deadline.expired())
    return Unknown{deadline.reason()};
  attempt.solver->limit("conflicts", conflicts);
  constexpr int satisfiable = 10, unsatisfiable = 20;
  int status = attempt.solver->solve();
  if (status == satisfiable)
    return Satisfied{attempt.encoding->decode()};
  if (status == unsatisfiable) {
    if (attempt.isComplete)
      return Unsatisfiable{"refuted by cadical"};
    attempt.isOver = true;
    attempt.encoding.reset();
    attempt.solver.reset();
  }
  if (deadline.expired())
    return Unknown{deadline.reason()};
  return std::nullopt;
}

Unknown SatRun::tooLarge() const {
  std::string size = std::to_string(windows->numVariables()) + " variables";
  if (options.memoryMiB && windows->numVariables() <= maxVariables)
    return {"out of memory (limit " + std::to_string(options.memoryMiB) +
            " MiB): the formula needs " + size};
  return {"the formula needs " + size + ", the limit is " +
          std::to_string(maxVariables)};
}

Outcome SatRun::answer() {
  // Quotients need the windows of all chunks, too, but no variables for them.
  constexpr uint64_t maxPlanned = maxVariables * 1024;
  auto stop = [this] { return deadline.expired(); };
  windows = std::make_unique<WindowPlan>(instance, maxPlanned, stop);
  if (stop())
    return Unknown{deadline.reason()};
  if (windows->numVariables() > maxPlanned)
    return tooLarge();
  planAttempts();
  constexpr int firstBudget = 2000, maxBudget = 1 << 28;
  for (int budget = firstBudget;; budget = std::min(budget * 2, maxBudget)) {
    bool anyLeft = false;
    for (Attempt &attempt : attempts) {
      if (attempt.isOver)
        continue;
      anyLeft = true;
      if (std::optional<Outcome> outcome = advance(attempt, budget))
        return std::move(*outcome);
    }
    if (!anyLeft)
      return tooLarge();
  }
}

//===----------------------------------------------------------------------===//
// The engine
//===----------------------------------------------------------------------===//

namespace {
class SatBackend final : public SolverBackend {
public:
  std::string_view name() const override { return "sat"; }

  std::string whyNot(const Instance &instance) const override {
    if (instance.collective.combining())
      return "sat takes no combining collective, got '" +
             instance.collective.name() + "'";
    return "";
  }

  SynthesisResult solve(const Instance &instance,
                        const SolverOptions &options) const override {
    SynthesisResult result{Unknown{""}, "sat"};
    if (std::string refusal = whyNot(instance); !refusal.empty()) {
      result.outcome = Failed{refusal};
      return result;
    }
    SatRun run(instance, options);
    try {
      result.outcome = run.answer();
    } catch (const std::bad_alloc &) {
      result.outcome = Unknown{"out of memory"};
    } catch (const std::exception &error) {
      result.outcome = Failed{std::string("sat engine: ") + error.what()};
    }
    result.seconds = run.seconds();
    return result;
  }
};
} // namespace

std::unique_ptr<SolverBackend> sccl::createSatBackend() {
  return std::make_unique<SatBackend>();
}
