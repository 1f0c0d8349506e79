//===- MatchingBackend.cpp - All-gather by breadth-first matching ---------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every chunk spreads in breadth-first order: it reaches a rank exactly in the
// step that is the rank's distance from the source. All neighbours nearer to
// the source then hold it, so each rank may choose from which of them to take
// it, and no rank's choice affects another's. The choices are a flow per rank
// and step, and equal up to renumbering for ranks of one orbit.
//
//===----------------------------------------------------------------------===//

#include "Model/FlowNetwork.h"
#include "Solver/Backends.h"
#include "Solver/StepSplitting.h"
#include "sccl/Model/Symmetry.h"
#include "sccl/Optimize/Deadline.h"

#include <algorithm>

using namespace sccl;

namespace {
/// Chunks of one source that come over one link: `count` from `first` on.
struct Intake {
  unsigned source, first, count;
};

/// What a rank receives, per step - 1 and per in-link.
using IntakeTable = std::vector<std::vector<std::vector<Intake>>>;

class MatchingRun {
public:
  MatchingRun(const Instance &instance, unsigned memoryMiB,
              const Deadline &deadline)
      : instance(instance), topology(instance.topology),
        chunks(instance.collective.chunks()), memoryMiB(memoryMiB),
        deadline(deadline), places(topology.numRanks()) {}

  Outcome answer();

private:
  bool findAllIntakes();
  bool findIntakes(unsigned rank);
  bool matchStep(unsigned rank, unsigned step,
                 const std::vector<unsigned> &sources);
  bool findLeastRounds(FlowNetwork &network, unsigned rank, unsigned step,
                       size_t numSources);
  void placeOrbit(const std::vector<Permutation> &generators, unsigned first);
  Schedule emit() const;
  std::vector<Send> emitStep(unsigned step,
                             const std::vector<unsigned> &linkOrder,
                             const std::vector<unsigned> &intakeLink) const;

  const Instance &instance;
  const Topology &topology;
  const unsigned chunks;
  const unsigned memoryMiB;
  const Deadline &deadline;
  const Topology backwards = instance.topology.reversed();

  std::vector<unsigned> rounds; // per step - 1: the least that all ranks need
  std::vector<IntakeTable> tables; // of one rank of each orbit
  /// Where the table of a rank comes from: the representative of its orbit, and
  /// a renumbering that takes the representative there.
  struct Place {
    unsigned table;
    unsigned representative;
    Permutation image; // empty: not placed yet
  };
  std::vector<Place> places;
  // Of the rank in hand, per in-link: distances to the link's source.
  std::vector<std::vector<unsigned>> toNeighbour;
};
} // namespace

//===----------------------------------------------------------------------===//
// One rank
//===----------------------------------------------------------------------===//

/// Appends the table of `rank`. Returns false if R or the time is not enough.
bool MatchingRun::findIntakes(unsigned rank) {
  std::vector<unsigned> distance = backwards.distancesFrom(rank);
  std::vector<std::vector<unsigned>> sources; // per distance - 1
  for (unsigned source = 0; source < topology.numRanks(); ++source) {
    if (source == rank)
      continue;
    if (distance[source] > sources.size())
      sources.resize(distance[source]);
    sources[distance[source] - 1].push_back(source);
  }
  if (rounds.size() < sources.size())
    rounds.resize(sources.size(), 1);
  toNeighbour.clear();
  // At distance 1 each source is its own only neighbour.
  if (sources.size() > 1)
    for (unsigned link : topology.inLinks(rank))
      toNeighbour.push_back(
          backwards.distancesFrom(topology.links()[link].src));
  tables.emplace_back();
  for (unsigned step = 1; step <= sources.size(); ++step)
    if (deadline.expired() || !matchStep(rank, step, sources[step - 1]))
      return false;
  return true;
}

/// Shares the chunks of `sources` among the in-links over which they may come.
bool MatchingRun::matchStep(unsigned rank, unsigned step,
                            const std::vector<unsigned> &sources) {
  const std::vector<unsigned> &inLinks = topology.inLinks(rank);
  FlowNetwork network(unsigned(2 + inLinks.size() + sources.size()));
  // Nodes: 0 is the supply, 1 the sink, then the links, then the sources.
  unsigned firstSource = unsigned(2 + inLinks.size());
  for (unsigned i = 0; i < inLinks.size(); ++i)
    network.addArc(2 + i, 1, 0);
  struct Choice {
    unsigned source, inLink, arc;
  };
  std::vector<Choice> choices;
  for (unsigned j = 0; j < sources.size(); ++j) {
    network.addArc(0, firstSource + j, chunks);
    for (unsigned i = 0; i < inLinks.size(); ++i) {
      bool isNearer = step == 1 ? topology.links()[inLinks[i]].src == sources[j]
                                : toNeighbour[i][sources[j]] == step - 1;
      if (isNearer)
        choices.push_back({sources[j], i,
                           network.addArc(firstSource + j, 2 + i,
                                          int64_t(chunks) * sources.size())});
    }
  }
  if (!findLeastRounds(network, rank, step, sources.size()))
    return false;
  auto &table = tables.back().emplace_back(inLinks.size());
  unsigned next = 0; // chunk of the source; choices are sorted by source
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i == 0 || choices[i].source != choices[i - 1].source)
      next = 0;
    unsigned count = static_cast<unsigned>(network.flow(choices[i].arc));
    if (count > 0)
      table[choices[i].inLink].push_back({choices[i].source, next, count});
    next += count;
  }
  return true;
}

/// Raises the rounds of `step` until the flow carries all chunks. Each cut says
/// how many rounds it needs at least.
bool MatchingRun::findLeastRounds(FlowNetwork &network, unsigned rank,
                                  unsigned step, size_t numSources) {
  const std::vector<unsigned> &inLinks = topology.inLinks(rank);
  int64_t total = int64_t(chunks) * int64_t(numSources);
  while (true) {
    unsigned &count = rounds[step - 1];
    for (unsigned i = 0; i < inLinks.size(); ++i)
      network.setCapacity(i, int64_t(topology.capacity(inLinks[i])) * count);
    if (network.maximize(0, 1, FlowNetwork::most, [&](uint64_t units) {
          return deadline.tick(units);
        }) == total)
      return true;
    if (deadline.expired())
      return false;
    int64_t capacity = 0, crossing = 0;
    for (unsigned i = 0; i < inLinks.size(); ++i)
      if (network.isOnSourceSide(2 + i))
        capacity += topology.capacity(inLinks[i]);
    for (unsigned j = 0; j < numSources; ++j)
      if (network.isOnSourceSide(unsigned(2 + inLinks.size() + j)))
        crossing += chunks;
    int64_t needed = (crossing + capacity - 1) / capacity;
    if (needed > instance.rounds)
      return false;
    count = static_cast<unsigned>(needed);
  }
}

//===----------------------------------------------------------------------===//
// All ranks
//===----------------------------------------------------------------------===//

/// Gives every rank of the orbit of `first` the table made last.
void MatchingRun::placeOrbit(const std::vector<Permutation> &generators,
                             unsigned first) {
  unsigned table = static_cast<unsigned>(tables.size() - 1);
  Permutation identity(topology.numRanks());
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    identity[rank] = rank;
  places[first] = {table, first, std::move(identity)};
  std::vector<unsigned> queue = {first};
  for (size_t head = 0; head < queue.size(); ++head)
    for (const Permutation &generator : generators) {
      unsigned to = generator[queue[head]];
      if (!places[to].image.empty())
        continue;
      Permutation image = places[queue[head]].image;
      for (unsigned &rank : image)
        rank = generator[rank];
      places[to] = {table, first, std::move(image)};
      queue.push_back(to);
    }
}

bool MatchingRun::findAllIntakes() {
  std::vector<Permutation> generators = automorphismGenerators(topology);
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
    if (!places[rank].image.empty())
      continue;
    if (!findIntakes(rank))
      return false;
    placeOrbit(generators, rank);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The schedule
//===----------------------------------------------------------------------===//

/// The sends of a step, sorted: links come in order of their ends, and each
/// chunk has its range. Millions of sends leave no time to sort.
std::vector<Send>
MatchingRun::emitStep(unsigned step, const std::vector<unsigned> &linkOrder,
                      const std::vector<unsigned> &intakeLink) const {
  auto forEachIntake = [&](auto visit) {
    for (unsigned link : linkOrder) {
      const Link &ends = topology.links()[link];
      const Place &place = places[ends.dst];
      if (const IntakeTable &table = tables[place.table]; step <= table.size())
        for (const Intake &intake : table[step - 1][intakeLink[link]])
          visit(ends, place.image[intake.source] * chunks + intake.first,
                intake.count);
    }
  };
  std::vector<size_t> position(instance.collective.numChunks() + 1);
  forEachIntake([&](const Link &, unsigned chunk, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      ++position[chunk + i + 1];
  });
  for (size_t chunk = 1; chunk < position.size(); ++chunk)
    position[chunk] += position[chunk - 1];
  std::vector<Send> sends(position.back());
  forEachIntake([&](const Link &ends, unsigned chunk, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      sends[position[chunk + i]++] = {chunk + i, ends.src, ends.dst};
  });
  return sends;
}

Schedule MatchingRun::emit() const {
  const std::vector<Link> &links = topology.links();
  std::vector<unsigned> linkOrder(links.size()), intakeLink(links.size());
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
    const Place &place = places[rank];
    const std::vector<unsigned> &inLinks =
        topology.inLinks(place.representative);
    for (unsigned i = 0; i < inLinks.size(); ++i)
      intakeLink[*topology.findLink(place.image[links[inLinks[i]].src], rank)] =
          i;
  }
  for (unsigned link = 0; link < links.size(); ++link)
    linkOrder[link] = link;
  std::sort(linkOrder.begin(), linkOrder.end(), [&](unsigned a, unsigned b) {
    return std::pair(links[a].src, links[a].dst) <
           std::pair(links[b].src, links[b].dst);
  });
  Schedule schedule;
  for (unsigned step = 1; step <= rounds.size(); ++step)
    schedule.steps.push_back(
        {rounds[step - 1], emitStep(step, linkOrder, intakeLink)});
  return schedule;
}

Outcome MatchingRun::answer() {
  uint64_t ranks = topology.numRanks();
  uint64_t bytes = ranks * ranks * (chunks * sizeof(Send) + sizeof(unsigned));
  if (memoryMiB && bytes >> 20 > memoryMiB)
    return Unknown{"out of memory (limit " + std::to_string(memoryMiB) +
                   " MiB): the schedule needs " + std::to_string(bytes >> 20) +
                   " MiB"};
  bool found = findAllIntakes();
  if (deadline.expired())
    return gaveUp(deadline);
  uint64_t total = 0;
  for (unsigned count : rounds)
    total += count;
  if (!found || total > instance.rounds)
    return Unknown{"breadth-first order needs more than " +
                   std::to_string(instance.rounds) + " rounds"};
  if (rounds.size() > instance.steps)
    return Unsatisfiable{"some chunk needs " + std::to_string(rounds.size()) +
                         " steps"};
  if (rounds.empty()) // a single rank
    rounds = {1};
  return Satisfied{
      splitSteps(topology, emit(), instance.steps, instance.rounds)};
}

//===----------------------------------------------------------------------===//
// The engine
//===----------------------------------------------------------------------===//

namespace {
class MatchingBackend final : public SolverBackend {
public:
  MatchingBackend()
      : SolverBackend({.name = "matching",
                       .workUnit = "arcs",
                       .kinds = {CollectiveKind::AllGather},
                       .sharing = EngineTraits::Sharing::None,
                       .refutes = true,
                       .endsEarly = true,
                       .limitsMemory = true}) {}

  SynthesisResult solve(const Instance &instance,
                        const SolverOptions &options) const override {
    return runEngine(*this, instance, options, [&](const Deadline &deadline) {
      return MatchingRun(instance, options.memoryMiB, deadline).answer();
    });
  }
};
} // namespace

std::unique_ptr<SolverBackend> sccl::createMatchingBackend() {
  return std::make_unique<MatchingBackend>();
}
