//===- RunEngine.cpp - What all engines have in common --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backends.h"
#include "Flow/TimeExpansion.h"

#ifdef SCCL_HAVE_CBC
#include <CoinError.hpp>
#endif

#include <algorithm>
#include <new>

using namespace sccl;

static Outcome guarded(const SolverBackend &engine,
                       const std::function<Outcome()> &answer) {
  std::string prefix = std::string(engine.name()) + " engine: ";
  try {
    return answer();
  } catch (const std::bad_alloc &) {
    return Unknown{"out of memory"};
  } catch (const std::exception &error) {
    return Failed{prefix + error.what()};
#ifdef SCCL_HAVE_CBC
  } catch (const CoinError &error) {
    return Failed{prefix + error.message()};
#endif
  }
}

SynthesisResult
sccl::runEngine(const SolverBackend &engine, const Instance &instance,
                const SearchLimits &limits,
                const std::function<Outcome(const Deadline &)> &answer) {
  Deadline deadline(limits);
  std::string refusal = engine.whyNot(instance);
  Outcome outcome = Failed{refusal};
  if (refusal.empty())
    outcome = guarded(engine, [&] { return answer(deadline); });
  return {std::move(outcome), std::string(engine.name()),
          deadline.elapsedSeconds(), deadline.work()};
}

//===----------------------------------------------------------------------===//
// What engines take
//===----------------------------------------------------------------------===//

/// "gather and scatter".
static std::string listKinds(const std::vector<CollectiveKind> &kinds) {
  std::string text;
  for (CollectiveKind kind : kinds)
    text += (text.empty() ? "" : " and ") + std::string(collectiveName(kind));
  return text;
}

static std::string refuseCollective(const EngineTraits &traits,
                                    const Instance &instance) {
  const Collective &collective = instance.collective;
  if (instance.hasOrder() && !traits.takesOrders)
    return "sums in any order only, got the order " + instance.order.toString();
  std::string what;
  if (!traits.kinds.empty()) {
    if (std::ranges::count(traits.kinds, collective.kind()) == 0)
      what = listKinds(traits.kinds) + " only";
  } else if (collective.combining() && !traits.takesReductions) {
    what = "no collective that reduces";
  } else if (!collective.combining() && !traits.takesMoves) {
    what = "collectives that reduce only";
  }
  return what.empty() ? "" : what + ", got '" + collective.name() + "'";
}

static std::string refuseTopology(const EngineTraits &traits,
                                  const Topology &topology) {
  using Sharing = EngineTraits::Sharing;
  if (topology.numRanks() > traits.maxRanks)
    return "at most " + std::to_string(traits.maxRanks) + " ranks, got " +
           std::to_string(topology.numRanks());
  if (traits.sharing == Sharing::None && !topology.isPointToPoint())
    return "limits on one link only";
  if (traits.sharing == Sharing::Ports && !TimeExpansion::isExactFor(topology))
    return "limits on one link, or on all links into or out of a rank, only";
  return "";
}

static std::string refuseSwitches(const EngineTraits &traits,
                                  const Instance &instance) {
  const std::vector<Switch> &switches = instance.topology.switches();
  if (switches.empty())
    return "";
  if (!traits.takesSwitches)
    return "no switches that copy or reduce";
  if (instance.collective.combining() && !traits.asksOthers)
    return "no switches for collectives that reduce";
  if (std::ranges::any_of(switches, &Switch::ownCopies))
    return "no switches with own copies";
  return "";
}

std::string SolverBackend::whyNot(const Instance &instance) const {
  std::string refusal = refuseCollective(traits(), instance);
  if (refusal.empty())
    refusal = refuseTopology(traits(), instance.topology);
  if (refusal.empty())
    refusal = refuseSwitches(traits(), instance);
  return refusal.empty() ? "" : std::string(name()) + " takes " + refusal;
}
