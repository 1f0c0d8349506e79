//===- Solver.cpp - Choice of engine and check of the answer --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Solver/Solver.h"
#include "sccl/Optimize/Deadline.h"

#include "Backends.h"
#include "Windows.h"
#include "sccl/Bounds/LowerBound.h"
#include "sccl/Check/ScheduleChecker.h"

#include <algorithm>
#include <chrono>

using namespace sccl;

std::string_view sccl::statusName(const Outcome &outcome) {
  struct Namer {
    std::string_view operator()(const Satisfied &) { return "satisfiable"; }
    std::string_view operator()(const Unsatisfiable &) {
      return "unsatisfiable";
    }
    std::string_view operator()(const Unknown &) { return "unknown"; }
    std::string_view operator()(const Failed &) { return "failed"; }
  };
  return std::visit(Namer(), outcome);
}

const std::vector<std::unique_ptr<SolverBackend>> &sccl::solverBackends() {
  static const std::vector<std::unique_ptr<SolverBackend>> backends = [] {
    std::vector<std::unique_ptr<SolverBackend>> list;
    list.push_back(createFlowBackend());
    list.push_back(createMatchingBackend());
#ifdef SCCL_HAVE_CBC
    list.push_back(createMilpBackend());
#endif
#ifdef SCCL_HAVE_CADICAL
    list.push_back(createSatBackend());
#endif
    list.push_back(createCombiningBackend());
#ifdef SCCL_HAVE_CBC
    list.push_back(createPackingBackend());
#endif
#ifdef SCCL_HAVE_CADICAL
    list.push_back(createDirectAllReduceBackend());
#endif
#ifdef SCCL_HAVE_Z3
    list.push_back(createZ3Backend());
#endif
    return list;
  }();
  return backends;
}

//===----------------------------------------------------------------------===//
// Choice of engine
//===----------------------------------------------------------------------===//

static Failed unknownEngine(std::string_view engine) {
  std::string message =
      "unknown engine '" + std::string(engine) + "', the known ones are: auto";
  for (const auto &backend : solverBackends())
    message += ", " + std::string(backend->name());
  return {message};
}

static bool isBackend(std::string_view engine) {
  return std::ranges::any_of(solverBackends(), [&](const auto &backend) {
    return backend->name() == engine;
  });
}

/// The engines named `engine`, or all if it is "auto", that accept `instance`,
/// in order of preference. Sets `failure` if there is none.
static std::vector<const SolverBackend *>
chooseBackends(const Instance &instance, std::string_view engine,
               Failed &failure) {
  std::vector<const SolverBackend *> chosen;
  std::string refusals;
  bool known = engine == "auto";
  for (const auto &backend : solverBackends()) {
    if (engine != "auto" && engine != backend->name())
      continue;
    known = true;
    // The same formula as that of direct, more slowly.
    if (engine == "auto" && backend->name() == "z3" && !chosen.empty() &&
        chosen.back()->name() == "direct")
      continue;
    std::string refusal = backend->whyNot(instance);
    if (refusal.empty())
      chosen.push_back(backend.get());
    else
      refusals += (refusals.empty() ? "" : "; ") +
                  std::string(backend->name()) + ": " + refusal;
  }
  failure = known ? Failed{"no engine accepts the instance: " + refusals}
                  : unknownEngine(engine);
  return chosen;
}

//===----------------------------------------------------------------------===//
// What needs no engine
//===----------------------------------------------------------------------===//

/// `Instance::make` guarantees these; an instance made by hand may not, and the
/// engines rely on them.
static std::string malformed(const Instance &instance) {
  unsigned ranks = instance.topology.numRanks();
  unsigned collectiveRanks = instance.collective.numRanks();
  if (ranks != collectiveRanks)
    return "the collective has " + std::to_string(collectiveRanks) +
           " ranks, the topology has " + std::to_string(ranks);
  if (instance.steps == 0)
    return "the instance has 0 steps, at least 1 is needed";
  if (instance.rounds < instance.steps)
    return "the instance has " + std::to_string(instance.rounds) +
           " rounds, at least one for each of its " +
           std::to_string(instance.steps) + " steps is needed";
  return "";
}

/// How long chunks need from where they are to where they must be: from the
/// nearest holder if any will do, from every contributor if all must take part.
/// Returns the refutation for the first chunk and rank that are too far.
static std::optional<Unsatisfiable> refuteByDistance(const Instance &instance) {
  const Collective &collective = instance.collective;
  HopDistances distances(instance.topology);
  std::vector<unsigned> sources, destinations;
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk) {
    std::vector<unsigned> before = collective.pre().ranksOf(chunk);
    std::vector<unsigned> after = collective.post().ranksOf(chunk);
    if (before == sources && after == destinations)
      continue; // as the previous chunk
    sources = std::move(before);
    destinations = std::move(after);
    std::vector<unsigned> needed(collective.numRanks(), 0);
    auto raise = [&](const std::vector<unsigned> &origin) {
      const std::vector<unsigned> &hops = distances.from(origin);
      for (unsigned rank : destinations)
        needed[rank] = std::max(needed[rank], hops[rank]);
    };
    if (!collective.combining())
      raise(sources);
    else
      for (unsigned source : sources)
        raise({source});
    for (unsigned rank : destinations) {
      if (needed[rank] <= instance.steps)
        continue;
      std::string where = " rank " + std::to_string(rank);
      if (needed[rank] == Topology::unreachable)
        return Unsatisfiable{"chunk " + std::to_string(chunk) +
                             " has no path to" + where};
      return Unsatisfiable{"chunk " + std::to_string(chunk) + " needs " +
                           std::to_string(needed[rank]) + " steps to reach" +
                           where + ", S is " + std::to_string(instance.steps)};
    }
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Synthesis
//===----------------------------------------------------------------------===//

/// Normalizes the schedule of `result` and has it checked. An engine that
/// produces a wrong schedule has failed, whatever it believes.
static void checkAnswer(const Instance &instance, SynthesisResult &result) {
  auto *satisfied = std::get_if<Satisfied>(&result.outcome);
  if (!satisfied)
    return;
  Schedule &schedule = satisfied->schedule;
  // Looking is much cheaper than sorting millions of sends again.
  for (Step &step : schedule.steps)
    if (!std::is_sorted(step.sends.begin(), step.sends.end()))
      std::sort(step.sends.begin(), step.sends.end());
  std::string complaint;
  if (auto violation =
          checkSchedule(instance.topology, instance.collective, schedule))
    complaint = violation->message;
  else if (schedule.steps.size() != instance.steps)
    complaint = "it has " + std::to_string(schedule.steps.size()) +
                " steps, S is " + std::to_string(instance.steps);
  else if (schedule.rounds() != instance.rounds)
    complaint = "it has " + std::to_string(schedule.rounds()) +
                " rounds, R is " + std::to_string(instance.rounds);
  if (!complaint.empty())
    result.outcome =
        Failed{"engine " + result.engine +
               " returned a schedule that the checker rejects: " + complaint};
}

/// Asks `backends` in turn, within one time limit, until one knows the answer.
/// An engine that fails ends the search: its mistake must not go unseen.
static SynthesisResult
askInTurn(const Instance &instance, const SolverOptions &options,
          const std::vector<const SolverBackend *> &backends) {
  Deadline deadline(options);
  SynthesisResult result;
  std::string reasons;
  for (const SolverBackend *backend : backends) {
    SolverOptions rest = options;
    rest.timeoutSeconds = deadline.remainingLimit();
    result = backend->solve(instance, rest);
    checkAnswer(instance, result);
    const auto *unknown = std::get_if<Unknown>(&result.outcome);
    if (!unknown)
      return result;
    if (deadline.expired()) {
      result.outcome = Unknown{deadline.reason()};
      return result;
    }
    reasons += (reasons.empty() ? "" : "; ") + std::string(backend->name()) +
               ": " + unknown->reason;
  }
  if (backends.size() > 1)
    result.outcome = Unknown{reasons};
  return result;
}

/// Refutes `instance` by a certified bound on R/C, for its number of steps or
/// for any.
static std::optional<Unsatisfiable>
refuteByBound(const Instance &instance, const LowerBoundOptions &options) {
  Rational bandwidth(instance.rounds, instance.collective.chunks());
  auto refutes = [&](const Result<LowerBound> &bound) {
    return bound && (!bound->value || *bound->value > bandwidth);
  };
  Deadline deadline(options);
  Result<LowerBound> bound =
      throughputBound(instance.topology, instance.collective, options);
  if (!refutes(bound)) {
    LowerBoundOptions rest = options;
    rest.target = bandwidth;
    rest.timeoutSeconds = deadline.remainingLimit();
    bound = lowerBound(instance.topology, instance.collective, instance.steps,
                       rest);
  }
  if (!refutes(bound))
    return std::nullopt;
  if (!bound->value)
    return Unsatisfiable{"refuted by a bound: there is no schedule with S = " +
                         std::to_string(instance.steps)};
  return Unsatisfiable{"refuted by a bound: R/C is " + bandwidth.str() +
                       " and must be at least " + bound->value->str()};
}

/// Engines first: most of what they can answer they answer at once. What they
/// would search for long is often refuted at once by a bound.
static SynthesisResult
askWithBounds(const Instance &instance, const SolverOptions &options,
              const std::vector<const SolverBackend *> &backends) {
  constexpr double firstSeconds = 0.5, boundSeconds = 10;
  Deadline deadline(options);
  SolverOptions part = options;
  part.useBounds = false;
  part.timeoutSeconds = std::min(firstSeconds, deadline.remainingSeconds() / 4);
  SynthesisResult result = askInTurn(instance, part, backends);
  if (!std::holds_alternative<Unknown>(result.outcome) || deadline.expired())
    return result;
  LowerBoundOptions boundOptions;
  boundOptions.timeoutSeconds =
      std::min(boundSeconds, deadline.remainingSeconds() / 2);
  boundOptions.interrupt = options.interrupt;
  if (auto refutation = refuteByBound(instance, boundOptions))
    return {*refutation, "bound", deadline.elapsedSeconds()};
  part.timeoutSeconds = deadline.remainingLimit();
  return askInTurn(instance, part, backends);
}

SynthesisResult sccl::synthesize(const Instance &instance,
                                 const SolverOptions &options,
                                 std::string_view engine) {
  if (std::string problem = malformed(instance); !problem.empty())
    return {Failed{problem}, std::string(engine)};
  Failed failure;
  std::vector<const SolverBackend *> backends =
      chooseBackends(instance, engine, failure);
  // An engine that cannot reduce can still do the parts of a reduction, and z3
  // is quicker there.
  std::unique_ptr<SolverBackend> overNamed;
  if ((backends.empty() || engine == "z3") && isBackend(engine) &&
      instance.collective.combining()) {
    overNamed = createCombiningBackend(engine);
    if (overNamed->whyNot(instance).empty())
      backends.insert(backends.begin(), overNamed.get());
  }
  if (backends.empty())
    return {failure, std::string(engine)};

  auto start = std::chrono::steady_clock::now();
  if (auto refutation = refuteByDistance(instance)) {
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    return {*refutation, "distance", seconds.count()};
  }
  if (engine == "auto" && options.useBounds)
    return askWithBounds(instance, options, backends);
  return askInTurn(instance, options, backends);
}
