//===- Solver.cpp - Choice of engine and check of the answer --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Solver/Solver.h"

#include "Backends.h"
#include "Bounds/Constants.h"
#include "Portfolio.h"
#include "Solver/Constants.h"
#include "Windows.h"
#include "sccl/Bounds/LowerBound.h"
#include "sccl/Model/OrderCheck.h"
#include "sccl/Model/RanksByChunk.h"
#include "sccl/Solver/Makers.h"

#include <algorithm>

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
