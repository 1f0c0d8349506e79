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

/// Ways of a step in which ranks send all they have to all others: by
/// multicast, which takes little from the port that sends, or to be reduced on
/// the way, which takes little from the port that receives, or one half each.
static const std::vector<std::vector<SendTransport>> &waysAtOnce() {
  using enum SendTransport;
  static const std::vector<std::vector<SendTransport>> ways = {
      {Multicast}, {LoadReduce}, {Multicast, LoadReduce}};
  return ways;
}

/// Adds to `step` sends over `link` of a chunk for each way, to be reduced.
static void addAtOnce(Step &step, const Link &link, const SwitchLimits &limits,
                      const std::vector<SendTransport> &ways) {
  for (uint32_t chunk = 0; chunk < ways.size(); ++chunk) {
    bool isServed = ways[chunk] == SendTransport::Multicast
                        ? limits.multicasting(link).has_value()
                        : limits.reducing(link).has_value();
    step.sends.push_back({chunk, link.src, link.dst, SendAction::Reduce,
                          SendPayload::Current,
                          isServed ? ways[chunk] : SendTransport::Any});
  }
}

/// The one with the least load of those that `make` gives for each way.
template <typename Make>
static std::optional<Implementation> bestWay(Make make) {
  std::optional<Implementation> best;
  for (const std::vector<SendTransport> &ways : waysAtOnce()) {
    Implementation found = make(ways);
    auto loadOf = [](const Implementation &whole) {
      return pipelinedCostOf(whole.schedule, whole.collective).load;
    };
    if (!best || loadOf(found) < loadOf(*best))
      best = std::move(found);
  }
  return best;
}

std::optional<Implementation> InNetwork::allReduceAtOnce() const {
  SwitchLimits limits(topology);
  return bestWay([&](const std::vector<SendTransport> &ways) {
    Result<Collective> collective = Collective::make(
        kind, topology.numRanks(), unsigned(ways.size()), root);
    Schedule schedule;
    Step &step = schedule.steps.emplace_back();
    for (const Link &link : topology.links())
      addAtOnce(step, link, limits, ways);
    setRounds(schedule, topology);
    return Implementation{std::move(*collective), std::move(schedule)};
  });
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

namespace {
/// The ranks of switches that multicast, where they share out all ranks.
struct Boxes {
  std::vector<const std::vector<unsigned> *> ranks; ///< of each box
  std::vector<unsigned> boxOf, placeOf;             ///< by rank
  /// By rank and box, the rank there that it sends to first: the one of the
  /// same place where there is a link, else the first with one; in its own box
  /// itself.
  std::vector<std::vector<unsigned>> counterparts;
};
} // namespace

/// Nothing where boxes do not share out the ranks, or a rank has no link to
/// one, or there is but one.
static std::optional<Boxes> findBoxes(const Topology &topology) {
  Boxes boxes;
  unsigned numRanks = topology.numRanks();
  std::vector<unsigned> times(numRanks);
  boxes.boxOf.resize(numRanks);
  boxes.placeOf.resize(numRanks);
  boxes.counterparts.resize(numRanks);
  for (const Switch &joined : topology.switches()) {
    if (!joined.multicast)
      continue;
    for (unsigned place = 0; place < joined.ranks.size(); ++place) {
      boxes.boxOf[joined.ranks[place]] = unsigned(boxes.ranks.size());
      boxes.placeOf[joined.ranks[place]] = place;
      ++times[joined.ranks[place]];
    }
    boxes.ranks.push_back(&joined.ranks);
  }
  bool areShared =
      std::ranges::all_of(times, [](unsigned count) { return count == 1; });
  if (!areShared || boxes.ranks.size() < 2)
    return std::nullopt;
  for (unsigned rank = 0; rank < numRanks; ++rank)
    for (const std::vector<unsigned> *box : boxes.ranks) {
      size_t place = boxes.placeOf[rank] % box->size(), tried = 0;
      auto at = [&] { return (*box)[(place + tried) % box->size()]; };
      while (tried < box->size() && at() != rank &&
             !topology.findLink(rank, at()))
        ++tried;
      if (tried == box->size())
        return std::nullopt;
      boxes.counterparts[rank].push_back(at());
    }
  return boxes;
}

/// Adds sends of `chunk` by multicast from `src` to all others of its box.
static void addMulticast(Step &step, const Boxes &boxes, uint32_t chunk,
                         unsigned src) {
  for (unsigned rank : *boxes.ranks[boxes.boxOf[src]])
    if (rank != src)
      step.sends.push_back({chunk, src, rank, SendAction::Copy,
                            SendPayload::Current, SendTransport::Multicast});
}

/// One part, as an all_gather or broadcast of two steps.
static Schedule inTwoSteps(const Collective &collective, const Boxes &boxes) {
  Schedule schedule;
  schedule.steps.resize(2);
  for (unsigned root = 0; root < collective.numRanks(); ++root)
    for (unsigned chunk : collective.pre().chunksOf(root))
      for (unsigned first : boxes.counterparts[root]) {
        if (first != root)
          schedule.steps[0].sends.push_back({chunk, root, first});
        addMulticast(schedule.steps[first != root], boxes, chunk, first);
      }
  return schedule;
}

/// A broadcast of `box` chunks, one for each rank of the root's box, which
/// sends it to all other boxes: in three steps. In four, of as many for each
/// other box, which sends its chunk on to the others.
static Schedule fromAllOfBox(unsigned root, const Boxes &boxes,
                             bool isRelayed) {
  unsigned home = boxes.boxOf[root], numBoxes = unsigned(boxes.ranks.size());
  Schedule schedule;
  schedule.steps.resize(isRelayed ? 4 : 3);
  uint32_t chunk = 0;
  auto sendToBoxes = [&](unsigned step, unsigned from, unsigned except) {
    for (unsigned box = 0; box < numBoxes; ++box)
      if (box != home && box != except) {
        unsigned first = boxes.counterparts[from][box];
        schedule.steps[step].sends.push_back({chunk, from, first});
        addMulticast(schedule.steps[step + 1], boxes, chunk, first);
      }
  };
  for (unsigned from : *boxes.ranks[home])
    for (unsigned relay = 0; relay < (isRelayed ? numBoxes : 1); ++relay) {
      if (isRelayed && relay == home)
        continue;
      addMulticast(schedule.steps[0], boxes, chunk, root);
      if (isRelayed) {
        unsigned first = boxes.counterparts[from][relay];
        schedule.steps[1].sends.push_back({chunk, from, first});
        addMulticast(schedule.steps[2], boxes, chunk, first);
        sendToBoxes(2, first, relay);
      } else {
        sendToBoxes(1, from, home);
      }
      ++chunk;
    }
  return schedule;
}

/// All of an all_reduce among boxes of one size: in three steps, each rank of a
/// box adds up one chunk of it, then what the others of its place have, which
/// it multicasts. In two, ranks of a place add up all, and then those of a box.
std::optional<Implementation>
InNetwork::allReduceByBoxes(unsigned steps) const {
  std::optional<Boxes> boxes = findBoxes(topology);
  if (!boxes)
    return std::nullopt;
  size_t size = boxes->ranks.front()->size();
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    for (unsigned other : boxes->counterparts[rank])
      if (boxes->ranks[boxes->boxOf[other]]->size() != size ||
          boxes->placeOf[other] != boxes->placeOf[rank])
        return std::nullopt;
  SwitchLimits limits(topology);
  auto make = [&](const std::vector<SendTransport> &ways) {
    Schedule schedule;
    schedule.steps.resize(steps);
    unsigned chunks = steps == 2 ? unsigned(ways.size()) : unsigned(size);
    for (const Link &link : topology.links()) {
      bool isInBox = boxes->boxOf[link.src] == boxes->boxOf[link.dst];
      if (!isInBox && boxes->placeOf[link.src] != boxes->placeOf[link.dst])
        continue;
      Step &step = schedule.steps[steps == 2 ? isInBox : !isInBox];
      if (steps == 2 && isInBox) {
        addAtOnce(step, link, limits, ways);
        continue;
      }
      for (uint32_t chunk = 0; chunk < chunks; ++chunk)
        if (steps == 2 || chunk == boxes->placeOf[link.dst])
          step.sends.push_back({chunk, link.src, link.dst, SendAction::Reduce,
                                SendPayload::Current,
                                isInBox && limits.reducing(link)
                                    ? SendTransport::LoadReduce
                                    : SendTransport::Any});
    }
    for (unsigned rank = 0; steps == 3 && rank < topology.numRanks(); ++rank)
      addMulticast(schedule.steps[2], *boxes, boxes->placeOf[rank], rank);
    setRounds(schedule, topology);
    return Implementation{
        *Collective::make(kind, topology.numRanks(), chunks, root),
        std::move(schedule)};
  };
  return steps == 2 ? bestWay(make) : make({});
}

std::vector<Implementation> InNetwork::byBoxes(unsigned steps) const {
  std::vector<Implementation> all;
  if (parts.size() == 2 && (steps == 2 || steps == 3))
    if (auto found = allReduceByBoxes(steps))
      all.push_back(std::move(*found));
  if (steps < 2 * parts.size())
    return all;
  std::vector<Implementation> two, more;
  for (const Part &part : parts) {
    std::optional<Boxes> boxes = findBoxes(part.topology);
    if (!boxes)
      return all;
    auto add = [&](std::vector<Implementation> &list, unsigned chunks,
                   auto scheduleOf) {
      auto made =
          Collective::make(part.kind, topology.numRanks(), chunks, root);
      if (!made)
        return;
      Schedule schedule = scheduleOf(*made);
      setRounds(schedule, part.topology);
      list.push_back({std::move(*made), std::move(schedule)});
    };
    add(two, 1, [&](const Collective &one) { return inTwoSteps(one, *boxes); });
    if (!isRooted(part.kind) || steps <= 2)
      continue;
    bool isRelayed = steps > 3;
    size_t chunks = boxes->ranks[boxes->boxOf[root]]->size();
    if (isRelayed)
      chunks *= boxes->ranks.size() - 1;
    add(more, unsigned(chunks), [&](const Collective &) {
      return fromAllOfBox(root, *boxes, isRelayed);
    });
  }
  for (std::vector<Implementation> *list : {&two, &more})
    if (list->size() == parts.size())
      if (auto whole = assemble(std::move(*list)))
        all.push_back(std::move(*whole));
  return all;
}

std::vector<Implementation> InNetwork::known(unsigned steps) const {
  std::vector<Implementation> all = byBoxes(steps);
  if (auto found = direct(steps))
    all.push_back(std::move(*found));
  std::erase_if(all, [&](const Implementation &found) {
    return found.schedule.steps.size() > steps;
  });
  return all;
}

bool InNetwork::isLarge() const {
  unsigned vertices = 0;
  for (const Part &part : parts)
    vertices += part.graph.graph.numRanks();
  return vertices > tuned::mostSwitchVertices();
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
