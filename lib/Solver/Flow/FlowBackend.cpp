//===- FlowBackend.cpp - Gather and scatter as maximum flows --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exact in both directions: a flow is a schedule, and cuts refute all
// distributions of the rounds.
//
//===----------------------------------------------------------------------===//

#include "sccl/Optimize/Deadline.h"

#include "Solver/Backends.h"
#include "Solver/Pruning.h"
#include "TimeExpansion.h"
#include "TokenFlow.h"

using namespace sccl;

/// Turns the flow just found into sends.
static Schedule decode(const Instance &instance, const TimeExpansion &network,
                       const std::vector<unsigned> &rounds) {
  const Collective &collective = instance.collective;
  bool isGather = collective.kind() == CollectiveKind::Gather;
  unsigned perRank = collective.chunksPerSegment();
  std::vector<unsigned> atStart(collective.numRanks(), isGather ? perRank : 0);
  unsigned others = collective.numRanks() - 1;
  atStart[collective.root()] = isGather ? 0 : perRank * others;

  Schedule schedule;
  for (unsigned count : rounds)
    schedule.steps.push_back({count, {}});
  // Chunks are numbered by the rank that is not the root: where a token of a
  // gather starts, where one of a scatter ends.
  std::vector<unsigned> used(collective.numRanks());
  for (const TokenPath &token :
       followTokens(instance.topology, instance.steps, atStart,
                    [&](unsigned link, unsigned step) {
                      return network.flow(link, step);
                    })) {
    unsigned rank = isGather ? token.start : token.end;
    unsigned chunk = rank * perRank + used[rank]++;
    for (const TokenPath::Hop &hop : token.hops) {
      const Link &link = instance.topology.links()[hop.link];
      schedule.steps[hop.step - 1].sends.push_back({chunk, link.src, link.dst});
    }
  }
  // A token may have run in a cycle.
  dropUselessSends(collective, schedule);
  schedule.normalize();
  return schedule;
}

static Outcome answer(const Instance &instance, const Deadline &deadline) {
  TimeExpansion network(instance.topology, instance.steps,
                        flowOf(instance.collective));
  RoundSearch search(instance.steps, instance.rounds);
  while (true) {
    // The guess is a matter of speed: `next` alone would do.
    std::optional<std::vector<unsigned>> rounds = search.guess();
    if (!rounds)
      rounds = search.next(deadline);
    if (deadline.expired())
      return gaveUp(deadline);
    if (!rounds)
      return Unsatisfiable{"refuted by " + std::to_string(search.numCuts()) +
                           (search.numCuts() == 1 ? " cut" : " cuts")};
    if (network.isFeasible(*rounds, deadline))
      return Satisfied{decode(instance, network, *rounds)};
    if (deadline.expired())
      return gaveUp(deadline);
    search.require(network.cut());
  }
}

namespace {
class FlowBackend final : public SolverBackend {
public:
  FlowBackend()
      : SolverBackend(
            {.name = "flow",
             .workUnit = "arcs",
             .kinds = {CollectiveKind::Gather, CollectiveKind::Scatter},
             .sharing = EngineTraits::Sharing::Ports,
             .refutes = true,
             .decides = true}) {}

  std::string whyNot(const Instance &instance) const override {
    if (std::string refusal = SolverBackend::whyNot(instance); !refusal.empty())
      return refusal;
    uint64_t arcs =
        uint64_t(instance.steps) *
        (instance.topology.links().size() + 3 * instance.topology.numRanks());
    if (arcs > maxArcs)
      return "flow takes at most " + std::to_string(maxArcs) +
             " arcs, the instance needs " + std::to_string(arcs);
    return "";
  }

  SynthesisResult solve(const Instance &instance,
                        const SolverOptions &options) const override {
    return runEngine(*this, instance, options, [&](const Deadline &deadline) {
      return ::answer(instance, deadline);
    });
  }

private:
  /// About a gigabyte.
  static constexpr uint64_t maxArcs = uint64_t(1) << 24;
};
} // namespace

std::unique_ptr<SolverBackend> sccl::createFlowBackend() {
  return std::make_unique<FlowBackend>();
}
