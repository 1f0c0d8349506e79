//===- SwitchGraph.cpp - Switches as vertices -----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/SwitchGraph.h"

#include "sccl/Model/SwitchLoads.h"

#include <algorithm>
#include <map>

using namespace sccl;

namespace {
/// Builds a graph link by link.
class GraphBuilder {
public:
  GraphBuilder(const Topology &topology, bool withSums)
      : topology(topology), limits(topology), withSums(withSums),
        limitsOf(topology.links().size()), sets(topology.limits().size()) {
    for (unsigned i = 0; i < topology.limits().size(); ++i)
      for (unsigned link : topology.limits()[i].links)
        limitsOf[link].push_back(i);
  }
  Result<SwitchGraph> build();

private:
  unsigned numberVertices();
  bool isOneOf(std::optional<unsigned> number) const;
  void addDirectLinks();
  void addMulticasts(unsigned number);
  void addSums(unsigned number);
  void addLink(unsigned src, unsigned dst, const std::vector<unsigned> &in);
  std::vector<unsigned>
  withOwnCopy(const std::vector<unsigned> &common, unsigned number,
              const std::vector<unsigned> &otherWay) const;
  std::vector<unsigned> without(const std::vector<unsigned> &common,
                                unsigned src, unsigned dst) const;

  const Topology &topology;
  const SwitchLimits limits;
  const bool withSums;
  std::vector<std::vector<unsigned>> limitsOf; ///< by link of the topology
  std::vector<std::vector<unsigned>> sets;     ///< links of the graph by limit
  std::vector<unsigned> rankOf;
  /// By switch, the first vertex that multicasts, and that reduces.
  std::vector<unsigned> firstCopy, firstSum;
  std::optional<Topology> graph;
  std::optional<Error> error;
};
} // namespace

/// Returns how many there are.
unsigned GraphBuilder::numberVertices() {
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    rankOf.push_back(rank);
  for (const Switch &joined : topology.switches()) {
    firstCopy.push_back(unsigned(rankOf.size()));
    if (joined.multicast)
      rankOf.insert(rankOf.end(), joined.ranks.begin(), joined.ranks.end());
    firstSum.push_back(unsigned(rankOf.size()));
    if (joined.reduces && withSums)
      rankOf.insert(rankOf.end(), joined.ranks.begin(), joined.ranks.end());
  }
  return unsigned(rankOf.size());
}

void GraphBuilder::addLink(unsigned src, unsigned dst,
                           const std::vector<unsigned> &in) {
  if (error)
    return;
  Result<unsigned> link = graph->addLink(src, dst);
  if (!link) {
    error = Error{link.error()};
    return;
  }
  for (unsigned limit : in)
    sets[limit].push_back(*link);
}

/// True if a vertex of switch `number` does what a link does: it takes from no
/// other limits.
bool GraphBuilder::isOneOf(std::optional<unsigned> number) const {
  return number && !topology.switches()[*number].ownCopies;
}

void GraphBuilder::addDirectLinks() {
  for (unsigned i = 0; i < topology.links().size(); ++i) {
    const Link &link = topology.links()[i];
    if (!isOneOf(limits.multicasting(link)) &&
        !(withSums && isOneOf(limits.reducing(link))))
      addLink(link.src, link.dst, limitsOf[i]);
  }
}

/// The limits of a link that are not in `common`.
std::vector<unsigned> GraphBuilder::without(const std::vector<unsigned> &common,
                                            unsigned src, unsigned dst) const {
  std::vector<unsigned> rest;
  std::ranges::set_difference(limitsOf[*topology.findLink(src, dst)], common,
                              std::back_inserter(rest));
  return rest;
}

/// The limits of the link between a rank and its vertex.
std::vector<unsigned>
GraphBuilder::withOwnCopy(const std::vector<unsigned> &common, unsigned number,
                          const std::vector<unsigned> &otherWay) const {
  if (!topology.switches()[number].ownCopies)
    return common;
  std::vector<unsigned> both;
  std::ranges::set_union(common, otherWay, std::back_inserter(both));
  return both;
}

void GraphBuilder::addMulticasts(unsigned number) {
  const std::vector<unsigned> &ranks = topology.switches()[number].ranks;
  for (unsigned i = 0; i < ranks.size(); ++i) {
    const std::vector<unsigned> &common = limits.before(number, ranks[i]);
    unsigned vertex = firstCopy[number] + i;
    addLink(ranks[i], vertex,
            withOwnCopy(common, number, limits.behind(number, ranks[i])));
    for (unsigned dst : ranks)
      if (dst != ranks[i])
        addLink(vertex, dst, without(common, ranks[i], dst));
  }
}

void GraphBuilder::addSums(unsigned number) {
  const std::vector<unsigned> &ranks = topology.switches()[number].ranks;
  for (unsigned i = 0; i < ranks.size(); ++i) {
    const std::vector<unsigned> &common = limits.behind(number, ranks[i]);
    unsigned vertex = firstSum[number] + i;
    for (unsigned src : ranks)
      if (src != ranks[i])
        addLink(src, vertex, without(common, src, ranks[i]));
    addLink(vertex, ranks[i],
            withOwnCopy(common, number, limits.before(number, ranks[i])));
  }
}

Result<SwitchGraph> GraphBuilder::build() {
  unsigned vertices = numberVertices();
  if (vertices > Topology::maxRanks)
    return Error{"with its switches, the topology has " +
                 std::to_string(vertices) + " vertices, the limit is " +
                 std::to_string(Topology::maxRanks)};
  graph.emplace(topology.name(), vertices);
  addDirectLinks();
  for (unsigned number = 0; number < topology.switches().size(); ++number) {
    if (topology.switches()[number].multicast)
      addMulticasts(number);
    if (topology.switches()[number].reduces && withSums)
      addSums(number);
  }
  for (unsigned i = 0; i < sets.size() && !error; ++i)
    if (auto added = graph->addLimit(sets[i], topology.limits()[i].bandwidth);
        !added)
      error = Error{added.error()};
  if (error)
    return *error;
  return SwitchGraph{std::move(*graph), std::move(rankOf)};
}

Result<SwitchGraph> sccl::switchGraphOf(const Topology &topology,
                                        bool withSums) {
  return GraphBuilder(topology, withSums).build();
}

Result<Collective> sccl::onVertices(const Collective &collective,
                                    unsigned vertices) {
  RankChunkSet pre(vertices, collective.numChunks());
  RankChunkSet post(vertices, collective.numChunks());
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank) {
    for (unsigned chunk : collective.pre().chunksOf(rank))
      pre.insert(rank, chunk);
    for (unsigned chunk : collective.post().chunksOf(rank))
      post.insert(rank, chunk);
  }
  return Collective::makeCustom(collective.name(), collective.chunks(),
                                collective.combining(), std::move(pre),
                                std::move(post), collective.chunksPerSegment());
}

Schedule sccl::withoutVertices(const SwitchGraph &graph,
                               const Topology &topology,
                               const Schedule &onGraph) {
  Schedule result;
  /// The step from which on a rank has a chunk, by both; what is there before
  /// the first step is not listed.
  std::map<std::pair<uint32_t, uint32_t>, unsigned> since;
  auto add = [&](unsigned step, const Send &send) {
    if (step >= result.steps.size())
      result.steps.resize(step + 1);
    result.steps[step].sends.push_back(send);
  };
  for (const Step &step : onGraph.steps)
    for (Send send : step.sends) {
      if (send.dst >= topology.numRanks())
        continue; // to a vertex of the same rank, which takes no step
      send.transport = send.src >= topology.numRanks()
                           ? SendTransport::Multicast
                           : SendTransport::Any;
      send.src = graph.rankOf[send.src];
      auto found = since.find({send.chunk, send.src});
      unsigned when = found == since.end() ? 0 : found->second;
      since[{send.chunk, send.dst}] = when + 1;
      add(when, send);
    }
  result.normalize();
  fitRounds(result, topology);
  return result;
}
