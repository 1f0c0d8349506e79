//===- TokenFlow.cpp - Paths of the units of a flow -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TokenFlow.h"

#include <cassert>
#include <utility>

using namespace sccl;

std::vector<TokenPath>
sccl::followTokens(const Topology &topology, unsigned steps,
                   const std::vector<unsigned> &atStart,
                   const std::function<int64_t(unsigned, unsigned)> &flow) {
  std::vector<TokenPath> tokens;
  // Per rank a queue of tokens, of which the first `left[rank]` have gone.
  std::vector<std::vector<unsigned>> queues(topology.numRanks());
  std::vector<size_t> left(topology.numRanks(), 0);
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    for (unsigned i = 0; i < atStart[rank]; ++i) {
      queues[rank].push_back(static_cast<unsigned>(tokens.size()));
      tokens.push_back({rank, rank, {}});
    }
  std::vector<std::pair<unsigned, unsigned>> arrivals; // rank, token
  for (unsigned step = 1; step <= steps; ++step) {
    arrivals.clear();
    for (unsigned link = 0; link < topology.links().size(); ++link) {
      const Link &ends = topology.links()[link];
      for (int64_t count = flow(link, step); count > 0; --count) {
        assert(left[ends.src] < queues[ends.src].size());
        unsigned token = queues[ends.src][left[ends.src]++];
        tokens[token].hops.push_back({link, step});
        tokens[token].end = ends.dst;
        arrivals.push_back({ends.dst, token});
      }
    }
    // Only now: no token moves twice in a step.
    for (auto [rank, token] : arrivals)
      queues[rank].push_back(token);
  }
  return tokens;
}
