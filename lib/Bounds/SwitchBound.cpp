//===- SwitchBound.cpp - Bounds where switches copy or reduce -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SwitchBound.h"

#include "Certify.h"

using namespace sccl;
using namespace sccl::bounds;

LowerBoundOptions SwitchQuestion::optionsFor(LowerBoundOptions options) {
  options.pipelined = true;
  return options;
}

Result<LowerBound> SwitchQuestion::boundFor(LowerBound found,
                                            const Topology &topology,
                                            const Collective &given,
                                            std::optional<unsigned> steps,
                                            bool pipelined) const {
  Certificate claim = makeClaim(topology, given, steps);
  claim.pipelined = pipelined;
  claim.vertices = graph.numRanks();
  claim.proof = std::move(found.certificate.proof);
  Result<LowerBound> bound = finish(std::move(claim), topology, given);
  if (bound)
    bound->isOptimumOfProgram = found.isOptimumOfProgram;
  return bound;
}

Result<SwitchQuestion> bounds::questionOnGraph(const Topology &topology,
                                               const Collective &collective) {
  Result<SwitchGraph> graph =
      switchGraphOf(topology, /*withSums=*/collective.combining());
  if (!graph)
    return Error{graph.error()};
  Result<Collective> moved = onVertices(collective, graph->graph.numRanks());
  if (!moved)
    return Error{moved.error()};
  return SwitchQuestion{std::move(graph->graph), std::move(*moved)};
}
