//===- SecondWays.cpp - PCIe beside a faster link -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SecondWays.h"

#include "sccl/Machine/Units.h"

using namespace sccl;

/// Two edges of PCIe from GPU to GPU, if there are such.
static std::optional<SecondWay> overSwitch(const Machine &machine, unsigned src,
                                           unsigned dst) {
  for (unsigned first : machine.outEdges(src)) {
    const Edge &edge = machine.edges()[first];
    std::optional<unsigned> second = machine.findEdge(edge.dst, dst);
    if (!second || !isHostKind(edge.kind) ||
        !isHostKind(machine.edges()[*second].kind) ||
        machine.vertices()[edge.dst].kind != VertexKind::Switch)
      continue;
    return SecondWay{{first, *second},
                     std::min(edge.bandwidth.value,
                              machine.edges()[*second].bandwidth.value)};
  }
  return std::nullopt;
}

std::map<unsigned, SecondWay>
sccl::findSecondWays(const Machine &machine, const std::vector<Route> &routes,
                     unsigned &numShared) {
  std::map<unsigned, SecondWay> ways;
  std::vector<unsigned> uses(machine.edges().size());
  std::vector<unsigned> ends = machine.gpusAndMemories();
  for (unsigned number = 0; number < routes.size(); ++number) {
    const Route &route = routes[number];
    bool isFabric = true;
    for (const Share &share : route.shares) {
      ++uses[share.edge];
      isFabric &= !isHostKind(machine.edges()[share.edge].kind);
    }
    if (!isFabric)
      continue;
    if (auto way = overSwitch(machine, ends[route.src], ends[route.dst])) {
      for (unsigned edge : way->edges)
        ++uses[edge];
      ways.emplace(number, *way);
    }
  }
  numShared = unsigned(std::erase_if(ways, [&](const auto &way) {
    return std::ranges::any_of(way.second.edges,
                               [&](unsigned edge) { return uses[edge] > 1; });
  }));
  return ways;
}

Result<SetLimits>
sccl::withSecondWays(const SetLimits &limits,
                     const std::map<unsigned, SecondWay> &ways) {
  constexpr size_t most = 12;
  SetLimits result;
  for (const SetLimit &limit : limits.all()) {
    std::vector<unsigned> with;
    for (unsigned link : limit.links)
      if (ways.contains(link))
        with.push_back(link);
    if (with.size() > most)
      return Error{std::to_string(with.size()) +
                   " links with PCIe beside them share one edge, the most is " +
                   std::to_string(most)};
    for (unsigned part = 0; part < 1u << with.size(); ++part) {
      SetLimit wider = limit;
      for (size_t i = 0; i < with.size(); ++i) {
        if (part >> i & 1) {
          auto total = sum(wider.bandwidth, ways.at(with[i]).rate);
          if (!total)
            return Error{"bandwidths are too fine to be added up"};
          wider.bandwidth = *total;
        } else {
          std::erase(wider.links, with[i]);
        }
      }
      if (!wider.links.empty())
        result.add(std::move(wider.links), wider.bandwidth);
    }
  }
  return result;
}
