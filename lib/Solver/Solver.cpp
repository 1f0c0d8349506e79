//===- Solver.cpp - Choice of engine and check of the answer --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Solver/Solver.h"

#include "Backends.h"
#include "Bounds/Constants.h"
#include "Constants.h"
#include "Solver/Constants.h"
#include "Windows.h"

#include "sccl/Bounds/LowerBound.h"
#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/OrderCheck.h"
#include "sccl/Model/RanksByChunk.h"
#include "sccl/Solver/Makers.h"

#include <algorithm>
#include <map>

using namespace sccl;

// Which engine is quick, nobody knows beforehand. So each gets a turn of a
// little work, in order of preference, and those that need more get larger
// turns, until one knows the answer. Turns are measured in work, not time:
// which engine answers, and what, is the same on every machine.

namespace {
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
} // namespace

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
  else if (auto error =
               checkOrder(instance.collective, schedule, instance.order))
    complaint = error->message;
  if (!complaint.empty())
    result.outcome =
        Failed{"engine " + result.engine +
               " returned a schedule that the checker rejects: " + complaint};
}

/// The limits of the user alone.
static SearchLimits withoutWork(SearchLimits limits) {
  limits.maxWork = 0;
  return limits;
}

Portfolio::Portfolio(const Instance &instance, const SolverOptions &options,
                     std::vector<const SolverBackend *> backends)
    : instance(instance), options(options), deadline(withoutWork(options)),
      backends(std::move(backends)) {
  for (const SolverBackend *backend : this->backends)
    order.emplace_back(backend->name());
}

SynthesisResult Portfolio::ask(const SolverBackend &backend, uint64_t work) {
  SolverOptions part = options;
  part.timeoutSeconds = deadline.remainingLimit();
  part.maxWork = work;
  SynthesisResult result = backend.solve(instance, part);
  checkAnswer(instance, result);
  total += result.work;
  result.work = total;
  return result;
}

std::optional<SynthesisResult> Portfolio::takeTurn(uint64_t work) {
  std::vector<const SolverBackend *> unfinished;
  needsMoreWork = false;
  for (const SolverBackend *backend : backends) {
    last = ask(*backend, work);
    const auto *unknown = std::get_if<Unknown>(&last.outcome);
    if (unknown && deadline.isOver())
      last.outcome = Unknown{deadline.reason()};
    if (!unknown || deadline.isOver())
      return last;
    reasons[std::string(backend->name())] = unknown->reason;
    needsMoreWork |= unknown->needsMoreWork;
    if (unknown->needsMoreWork)
      unfinished.push_back(backend);
  }
  backends = std::move(unfinished);
  return std::nullopt;
}

/// True if there is nobody whose turn would come later. What asks others has to
/// share out its work, and so needs an amount.
bool Portfolio::isAlone() const {
  return backends.size() == 1 && !backends.front()->traits().asksOthers;
}

SynthesisResult Portfolio::undecided() const {
  SynthesisResult result = last;
  if (reasons.size() <= 1)
    return result;
  std::string text;
  for (const std::string &name : order)
    if (auto reason = reasons.find(name); reason != reasons.end())
      text += (text.empty() ? "" : "; ") + name + ": " + reason->second;
  result.outcome = Unknown{text, needsMoreWork};
  return result;
}

SynthesisResult Portfolio::finish(uint64_t work) {
  const uint64_t most = options.maxWork ? options.maxWork : Deadline::unlimited;
  while (!backends.empty()) {
    uint64_t turn = isAlone() ? most : std::min(work, most);
    if (std::optional<SynthesisResult> result =
            takeTurn(turn == Deadline::unlimited ? 0 : turn))
      return *result;
    if (turn == most)
      break;
    work =
        work > most / tuned::turnGrowth() ? most : work * tuned::turnGrowth();
  }
  return undecided();
}

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

std::string_view sccl::reasonOf(const Outcome &outcome) {
  struct Reader {
    std::string_view operator()(const Satisfied &) { return {}; }
    std::string_view operator()(const Unsatisfiable &no) { return no.reason; }
    std::string_view operator()(const Unknown &unknown) {
      return unknown.reason;
    }
    std::string_view operator()(const Failed &failed) { return failed.message; }
  };
  return std::visit(Reader(), outcome);
}

const std::vector<std::unique_ptr<SolverBackend>> &sccl::solverBackends() {
  static const std::vector<std::unique_ptr<SolverBackend>> backends = [] {
    std::vector<std::unique_ptr<SolverBackend>> list;
    list.push_back(createFlowBackend());
    list.push_back(createMatchingBackend());
    list.push_back(createRoutesBackend());
#ifdef SCCL_HAVE_CBC
    list.push_back(createMilpBackend());
#endif
    list.push_back(createMulticastBackend());
#ifdef SCCL_HAVE_CADICAL
    list.push_back(createSatBackend());
#endif
    list.push_back(createCombiningBackend());
#ifdef SCCL_HAVE_CBC
    list.push_back(createPackingBackend());
#endif
    list.push_back(createTreesBackend());
#ifdef SCCL_HAVE_CADICAL
    list.push_back(createDirectAllReduceBackend());
#endif
#ifdef SCCL_HAVE_Z3
    list.push_back(createZ3Backend());
#endif
    std::erase_if(
        list, [](const auto &backend) { return !isAsked(backend->name()); });
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

static const SolverBackend *findBackend(std::string_view engine) {
  for (const auto &backend : solverBackends())
    if (backend->name() == engine)
      return backend.get();
  return nullptr;
}

/// The engines named `engine`, or all if it is "auto", that accept `instance`,
/// in order of preference, less those that `options` leaves out. Sets `failure`
/// to what to say if there is none.
static std::vector<const SolverBackend *>
chooseBackends(const Instance &instance, const SolverOptions &options,
               std::string_view engine, Failed &failure) {
  std::vector<const SolverBackend *> chosen;
  std::string refusals;
  bool known = engine == "auto";
  bool isDecided = false;
  for (const auto &backend : solverBackends()) {
    const EngineTraits &traits = backend->traits();
    if (engine != "auto" && engine != traits.name)
      continue;
    known = true;
    if (engine == "auto" && traits.isReference && isDecided)
      continue;
    std::string refusal = backend->whyNot(instance);
    if (!refusal.empty()) {
      refusals += (refusals.empty() ? "" : "; ") + std::string(traits.name) +
                  ": " + refusal;
      continue;
    }
    if (engine != "auto" || !std::ranges::count(options.without, traits.name))
      chosen.push_back(backend.get());
    isDecided |= traits.decides;
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
  if (auto error = checkTrees(instance.collective, instance.order))
    return error->message;
  return "";
}

/// How long chunks need from where they are to where they must be: from the
/// nearest holder if any will do, from every contributor if all must take part.
/// Returns the refutation for the first chunk and rank that are too far.
static std::optional<Unsatisfiable> refuteByDistance(const Instance &instance,
                                                     const Deadline &deadline) {
  const Collective &collective = instance.collective;
  HopDistances distances(instance.topology);
  std::vector<unsigned> sources, destinations;
  RanksByChunk before(collective.pre()), after(collective.post());
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk) {
    if (before[chunk] == sources && after[chunk] == destinations)
      continue; // as the previous chunk
    sources = before[chunk];
    destinations = after[chunk];
    std::vector<unsigned> needed(collective.numRanks(), 0);
    auto raise = [&](const std::vector<unsigned> &origin) {
      const std::vector<unsigned> &hops = distances.from(origin);
      for (unsigned rank : destinations)
        needed[rank] = std::max(needed[rank], hops[rank]);
    };
    if (!collective.combining())
      raise(sources);
    else
      for (unsigned source : sources) {
        if (deadline.isOver())
          return std::nullopt;
        raise({source});
      }
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
              std::vector<const SolverBackend *> backends) {
  Deadline deadline(options);
  SolverOptions part = options;
  part.useBounds = false;
  Portfolio portfolio(instance, part, std::move(backends));
  uint64_t first = std::min(tuned::firstTurn(), deadline.remainingWork());
  if (std::optional<SynthesisResult> result = portfolio.takeTurn(first))
    return *result;
  LowerBoundOptions limits;
  limits.maxWork = std::min(tuned::searchWork(), deadline.remainingWork());
  limits.timeoutSeconds = deadline.remainingLimit();
  limits.interrupt = options.interrupt;
  if (auto refutation = refuteByBound(instance, limits))
    return {*refutation, "bound", deadline.elapsedSeconds()};
  return portfolio.finish(first * tuned::turnGrowth());
}

SynthesisResult sccl::synthesize(const Instance &instance,
                                 const SolverOptions &options,
                                 std::string_view engine) {
  if (std::string problem = malformed(instance); !problem.empty())
    return {Failed{problem}, std::string(engine)};
  Failed failure;
  std::vector<const SolverBackend *> backends =
      chooseBackends(instance, options, engine, failure);
  // An engine that cannot reduce can still do the parts of a reduction.
  std::unique_ptr<SolverBackend> overNamed;
  const SolverBackend *named = findBackend(engine);
  if (named && (backends.empty() || named->traits().prefersParts) &&
      instance.collective.combining()) {
    overNamed = createCombiningBackend(engine);
    if (overNamed->whyNot(instance).empty())
      backends.insert(backends.begin(), overNamed.get());
  }
  if (backends.empty() && !options.without.empty())
    return {Unknown{"no other engine takes it", /*needsMoreWork=*/true},
            std::string(engine)};
  if (backends.empty())
    return {failure, std::string(engine)};

  Deadline deadline(options);
  if (auto refutation = refuteByDistance(instance, deadline))
    return {*refutation, "distance", deadline.elapsedSeconds()};
  if (engine == "auto" && options.useBounds)
    return askWithBounds(instance, options, std::move(backends));
  // Whoever names an engine wants its answer: there is nobody to hurry for.
  const uint64_t namedTurn = 64 * tuned::firstTurn();
  return Portfolio(instance, options, std::move(backends))
      .finish(engine == "auto" ? tuned::firstTurn() : namedTurn);
}
