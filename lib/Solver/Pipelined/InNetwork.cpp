//===- InNetwork.cpp - Pipelined schedules through switches ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InNetwork.h"

#include "Solver/Constants.h"

#include "sccl/Model/Composition.h"
#include "sccl/Model/SwitchLoads.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::pipelined;

/// What is packed for the parts of `kind`: an all_gather or a broadcast, on the
/// topology or turned round.
static std::vector<bool> turnsOf(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return {true, false};
  case CollectiveKind::Reduce:
  case CollectiveKind::ReduceScatter:
    return {true};
  default:
    return {false};
  }
}

static CollectiveKind movedKind(CollectiveKind kind) {
  return isRooted(kind) ? CollectiveKind::Broadcast : CollectiveKind::AllGather;
}

/// Orders sends, and gives steps, and all of them together, as few rounds as
/// can be.
static void setRounds(Schedule &schedule, const Topology &topology) {
  schedule.normalize();
  fitRounds(schedule, topology);
  schedule.period = leastPeriod(schedule, topology);
}

/// Graphs side by side that share the limits of the topology they are of.
static Result<Topology> join(const std::vector<const Topology *> &graphs) {
  unsigned ranks = 0;
  for (const Topology *graph : graphs)
    ranks += graph->numRanks();
  if (ranks > Topology::maxRanks)
    return Error{"there are too many vertices"};
  Topology whole(graphs.front()->name(), ranks);
  std::vector<std::vector<unsigned>> sets(graphs.front()->limits().size());
  unsigned firstRank = 0;
  for (const Topology *graph : graphs) {
    unsigned firstLink = unsigned(whole.links().size());
    for (const Link &link : graph->links())
      if (auto added =
              whole.addLink(firstRank + link.src, firstRank + link.dst);
          !added)
        return Error{added.error()};
    for (unsigned limit = 0; limit < sets.size(); ++limit)
      for (unsigned link : graph->limits()[limit].links)
        sets[limit].push_back(firstLink + link);
    firstRank += graph->numRanks();
  }
  for (unsigned limit = 0; limit < sets.size(); ++limit)
    if (auto added = whole.addLimit(sets[limit],
                                    graphs.front()->limits()[limit].bandwidth);
        !added)
      return Error{added.error()};
  return whole;
}

/// Collectives side by side on as many vertices as their graphs have.
static Result<Collective> join(const std::vector<Collective> &collectives,
                               const std::vector<const Topology *> &graphs,
                               unsigned vertices) {
  unsigned chunks = 0;
  for (const Collective &collective : collectives)
    chunks += collective.numChunks();
  RankChunkSet pre(vertices, chunks), post(vertices, chunks);
  unsigned firstRank = 0, firstChunk = 0;
  for (size_t i = 0; i < collectives.size(); ++i) {
    for (unsigned rank = 0; rank < collectives[i].numRanks(); ++rank) {
      for (unsigned chunk : collectives[i].pre().chunksOf(rank))
        pre.insert(firstRank + rank, firstChunk + chunk);
      for (unsigned chunk : collectives[i].post().chunksOf(rank))
        post.insert(firstRank + rank, firstChunk + chunk);
    }
    firstRank += graphs[i]->numRanks();
    firstChunk += collectives[i].numChunks();
  }
  return Collective::makeCustom("in_network", 1, /*combining=*/false,
                                std::move(pre), std::move(post));
}

InNetwork::InNetwork(const Topology &topology, CollectiveKind kind,
                     unsigned root)
    : topology(topology), kind(kind), root(root) {
  unsigned firstVertex = 0, firstChunk = 0;
  for (bool isTurned : turnsOf(kind)) {
    Topology own = isTurned ? topology.reversed() : topology;
    Result<SwitchGraph> graph = switchGraphOf(own, /*withSums=*/false);
    if (!graph)
      break;
    parts.push_back({movedKind(kind), std::move(own), std::move(*graph),
                     firstVertex, firstChunk});
    firstVertex += parts.back().graph.graph.numRanks();
    firstChunk += isRooted(kind) ? 1 : topology.numRanks();
  }
}

void InNetwork::prepare() {
  std::vector<const Topology *> graphs;
  std::vector<Collective> collectives;
  for (const Part &part : parts) {
    Result<Collective> moved =
        Collective::make(part.kind, topology.numRanks(), 1, root);
    if (!moved)
      return;
    graphs.push_back(&part.graph.graph);
    collectives.push_back(std::move(*moved));
  }
  Result<Topology> whole = join(graphs);
  if (!whole)
    return;
  Result<Collective> together = join(collectives, graphs, whole->numRanks());
  if (!together)
    return;
  joined = std::move(*whole);
  trees = std::make_unique<MulticastSynthesis>(*joined, *together);
}

/// The schedule of one part on its topology.
std::optional<Implementation>
InNetwork::write(const Part &part, const Implementation &packed) const {
  unsigned pieces = packed.collective.chunks();
  unsigned end = part.firstVertex + part.graph.graph.numRanks();
  Schedule own;
  for (const Step &step : packed.schedule.steps) {
    Step &ownStep = own.steps.emplace_back();
    for (Send send : step.sends)
      if (send.src >= part.firstVertex && send.src < end) {
        send.src -= part.firstVertex;
        send.dst -= part.firstVertex;
        send.chunk -= part.firstChunk * pieces;
        ownStep.sends.push_back(send);
      }
  }
  Result<Collective> collective =
      Collective::make(part.kind, topology.numRanks(), pieces, root);
  if (!collective)
    return std::nullopt;
  Schedule schedule = withoutVertices(part.graph, part.topology, own);
  schedule.period = leastPeriod(schedule, part.topology);
  return Implementation{std::move(*collective), std::move(schedule)};
}

/// All ranks send all they have to all others in one step: one half by
/// multicast, which takes little from the port that sends, and one to be
/// reduced on the way, which takes little from the port that receives; or all
/// in the same way, if that is less.
std::optional<Implementation> InNetwork::allReduceAtOnce() const {
  SwitchLimits limits(topology);
  auto make = [&](const std::vector<SendTransport> &ways) {
    Result<Collective> collective = Collective::make(
        kind, topology.numRanks(), unsigned(ways.size()), root);
    Schedule schedule;
    Step &step = schedule.steps.emplace_back();
    for (const Link &link : topology.links())
      for (uint32_t chunk = 0; chunk < ways.size(); ++chunk) {
        bool isServed = ways[chunk] == SendTransport::Multicast
                            ? limits.multicasting(link).has_value()
                            : limits.reducing(link).has_value();
        step.sends.push_back({chunk, link.src, link.dst, SendAction::Reduce,
                              SendPayload::Current,
                              isServed ? ways[chunk] : SendTransport::Any});
      }
    setRounds(schedule, topology);
    return Implementation{std::move(*collective), std::move(schedule)};
  };
  std::optional<Implementation> best;
  using enum SendTransport;
  for (const auto &ways : {std::vector{Multicast}, std::vector{LoadReduce},
                           std::vector{Multicast, LoadReduce}}) {
    Implementation found = make(ways);
    auto loadOf = [](const Implementation &whole) {
      return pipelinedCostOf(whole.schedule, whole.collective).load;
    };
    if (!best || loadOf(found) < loadOf(*best))
      best = std::move(found);
  }
  return best;
}

/// One part, as an all_gather or broadcast of one step.
static Implementation atOnce(Collective collective, const Topology &topology) {
  SwitchLimits limits(topology);
  Schedule schedule;
  Step &step = schedule.steps.emplace_back();
  for (const Link &link : topology.links())
    for (unsigned chunk : collective.pre().chunksOf(link.src))
      step.sends.push_back({chunk, link.src, link.dst, SendAction::Copy,
                            SendPayload::Current,
                            limits.multicasting(link) ? SendTransport::Multicast
                                                      : SendTransport::Any});
  setRounds(schedule, topology);
  return {std::move(collective), std::move(schedule)};
}

std::optional<Implementation> InNetwork::direct(unsigned steps) const {
  size_t ranks = topology.numRanks();
  if (topology.links().size() != ranks * (ranks - 1) || parts.empty())
    return std::nullopt;
  if (steps < parts.size())
    return allReduceAtOnce();
  std::vector<Implementation> written;
  for (const Part &part : parts) {
    Result<Collective> own =
        Collective::make(part.kind, topology.numRanks(), 1, root);
    if (!own)
      return std::nullopt;
    written.push_back(atOnce(std::move(*own), part.topology));
  }
  return assemble(std::move(written));
}

/// By rank, the rank in each of the boxes, which multicast, that it sends to
/// first: the one of the same place where there is a link, else the first with
/// one. Nothing where boxes do not share out the ranks, or have no such link.
static std::optional<std::vector<std::vector<unsigned>>>
findCounterparts(const Topology &topology) {
  std::vector<std::vector<unsigned>> result(topology.numRanks());
  std::vector<unsigned> placeOf(topology.numRanks()),
      times(topology.numRanks());
  for (const Switch &box : topology.switches())
    for (unsigned place = 0; box.multicast && place < box.ranks.size();
         ++place) {
      placeOf[box.ranks[place]] = place;
      ++times[box.ranks[place]];
    }
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    for (const Switch &box : topology.switches()) {
      if (!box.multicast)
        continue;
      std::vector<unsigned> order = box.ranks;
      std::ranges::rotate(order, order.begin() + placeOf[rank] % order.size());
      auto found = std::ranges::find_if(order, [&](unsigned other) {
        return other == rank || topology.findLink(rank, other);
      });
      if (times[rank] != 1 || found == order.end())
        return std::nullopt;
      result[rank].push_back(*found);
    }
  return result;
}

/// One part, as an all_gather or broadcast of two steps.
static std::optional<Implementation> overBoxes(Collective collective,
                                               const Topology &topology) {
  auto counterparts = findCounterparts(topology);
  if (!counterparts)
    return std::nullopt;
  Schedule schedule;
  schedule.steps.resize(2);
  for (unsigned root = 0; root < topology.numRanks(); ++root)
    for (unsigned chunk : collective.pre().chunksOf(root)) {
      size_t number = 0;
      for (const Switch &box : topology.switches()) {
        if (!box.multicast)
          continue;
        unsigned first = (*counterparts)[root][number++];
        if (first != root)
          schedule.steps[0].sends.push_back({chunk, root, first});
        for (unsigned rank : box.ranks)
          if (rank != first)
            schedule.steps[first != root].sends.push_back(
                {chunk, first, rank, SendAction::Copy, SendPayload::Current,
                 SendTransport::Multicast});
      }
    }
  setRounds(schedule, topology);
  return Implementation{std::move(collective), std::move(schedule)};
}

std::optional<Implementation> InNetwork::byBoxes(unsigned steps) const {
  if (steps < 2 * parts.size() || topology.switches().size() < 2)
    return std::nullopt;
  std::vector<Implementation> written;
  for (const Part &part : parts) {
    Result<Collective> own =
        Collective::make(part.kind, topology.numRanks(), 1, root);
    std::optional<Implementation> found;
    if (own)
      found = overBoxes(std::move(*own), part.topology);
    if (!found)
      return std::nullopt;
    written.push_back(std::move(*found));
  }
  return assemble(std::move(written));
}

/// What the parts, each forward on its topology, are together.
std::optional<Implementation>
InNetwork::assemble(std::vector<Implementation> written) const {
  Result<Implementation> whole =
      written.size() == 2     ? composeAllReduce(written[0], written[1])
      : turnsOf(kind).front() ? invert(written[0])
                              : Result<Implementation>(std::move(written[0]));
  if (!whole)
    return std::nullopt;
  setRounds(whole->schedule, topology);
  return std::move(*whole);
}

std::optional<Implementation> InNetwork::packed(unsigned steps,
                                                unsigned maxChunks,
                                                const SearchLimits &limits) {
  if (steps < parts.size())
    return std::nullopt;
  if (!trees)
    prepare();
  if (!trees)
    return std::nullopt;
  // A step is a way to a vertex and one from there.
  unsigned depth = 2 * unsigned(steps / parts.size());
  TreeSynthesis::Wanted wanted{depth, maxChunks, maxChunks,
                               tuned::mostPipelinedSends()};
  wanted.pipelined = true;
  std::optional<Implementation> found = trees->best(wanted, limits);
  std::vector<Implementation> written;
  for (const Part &part : parts) {
    std::optional<Implementation> own;
    if (found)
      own = write(part, *found);
    if (!own)
      return std::nullopt;
    written.push_back(std::move(*own));
  }
  return assemble(std::move(written));
}
