//===- Instance.cpp - One synthesis problem -------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A solver that is asked for the impossible answers late or never, so that what
// a few graph searches can refute is refuted here. On a strongly connected
// topology two searches suffice, whatever the collective.
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Instance.h"
#include "sccl/Model/OrderCheck.h"
#include "sccl/Model/RanksByChunk.h"

#include <algorithm>
#include <numeric>

using namespace sccl;

namespace {
/// Searches along the links, or against them.
enum class Direction { Forward, Backward };
} // namespace

/// The ranks that a path joins to one of `seeds`, the seeds included.
static std::vector<bool> reachableFrom(const Topology &topology,
                                       std::vector<unsigned> seeds,
                                       Direction direction) {
  std::vector<bool> seen(topology.numRanks());
  for (unsigned rank : seeds)
    seen[rank] = true;
  bool forward = direction == Direction::Forward;
  for (std::vector<unsigned> stack = std::move(seeds); !stack.empty();) {
    unsigned rank = stack.back();
    stack.pop_back();
    for (unsigned index :
         forward ? topology.outLinks(rank) : topology.inLinks(rank)) {
      const Link &link = topology.links()[index];
      unsigned next = forward ? link.dst : link.src;
      if (seen[next])
        continue;
      seen[next] = true;
      stack.push_back(next);
    }
  }
  return seen;
}

static bool isStronglyConnected(const Topology &topology) {
  for (Direction direction : {Direction::Forward, Direction::Backward}) {
    std::vector<bool> seen = reachableFrom(topology, {0}, direction);
    if (std::find(seen.begin(), seen.end(), false) != seen.end())
      return false;
  }
  return true;
}

static Error unreachableError(unsigned chunk, unsigned rank,
                              const std::vector<unsigned> &sources) {
  std::string from =
      sources.size() == 1
          ? "rank " + std::to_string(sources.front())
          : "any of the " + std::to_string(sources.size()) + " ranks with it";
  return Error{"chunk " + std::to_string(chunk) + " cannot reach rank " +
               std::to_string(rank) + ": no path from " + from};
}

/// Each destination needs a path from one of the ranks that hold the chunk.
/// Chunks of one source are neighbours in every numbering, so remembering the
/// last search is enough.
static std::optional<Error> checkCopies(const Topology &topology,
                                        const Collective &collective) {
  std::vector<unsigned> lastSources;
  std::vector<bool> reached(topology.numRanks());
  RanksByChunk before(collective.pre()), after(collective.post());
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk) {
    const std::vector<unsigned> &sources = before[chunk];
    if (sources != lastSources)
      reached = reachableFrom(topology, sources, Direction::Forward);
    for (unsigned rank : after[chunk])
      if (!reached[rank])
        return unreachableError(chunk, rank, sources);
    if (sources != lastSources)
      lastSources = sources;
  }
  return std::nullopt;
}

/// Each destination needs a path from every contributor. The searches start at
/// the destinations, which are few where the topology is not symmetric.
static std::optional<Error> checkReductions(const Topology &topology,
                                            const Collective &collective) {
  std::vector<std::vector<bool>> reaches(topology.numRanks());
  std::vector<unsigned> lastSources, lastDestinations;
  RanksByChunk before(collective.pre()), after(collective.post());
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk) {
    const std::vector<unsigned> &sources = before[chunk];
    const std::vector<unsigned> &destinations = after[chunk];
    if (sources == lastSources && destinations == lastDestinations)
      continue;
    for (unsigned rank : destinations) {
      if (reaches[rank].empty())
        reaches[rank] = reachableFrom(topology, {rank}, Direction::Backward);
      for (unsigned source : sources)
        if (!reaches[rank][source])
          return unreachableError(chunk, rank, {source});
    }
    lastSources = sources;
    lastDestinations = destinations;
  }
  return std::nullopt;
}

Result<Instance> Instance::make(Topology topology, Collective collective,
                                unsigned steps, unsigned rounds,
                                SumOrder order) {
  if (topology.numRanks() != collective.numRanks())
    return Error{"topology '" + topology.name() + "' has " +
                 std::to_string(topology.numRanks()) +
                 " ranks, but collective '" + collective.name() + "' has " +
                 std::to_string(collective.numRanks())};
  if (steps == 0)
    return Error{"steps must be at least 1"};
  if (rounds < steps)
    return Error{"rounds (" + std::to_string(rounds) +
                 ") must be at least steps (" + std::to_string(steps) + ")"};
  if (rounds > maxRounds)
    return Error{"rounds (" + std::to_string(rounds) + ") must be at most " +
                 std::to_string(maxRounds)};
  if (!isStronglyConnected(topology)) {
    std::optional<Error> error = collective.combining()
                                     ? checkReductions(topology, collective)
                                     : checkCopies(topology, collective);
    if (error)
      return *error;
  }
  if (std::optional<Error> error = checkTrees(collective, order))
    return *error;
  return Instance{std::move(topology), std::move(collective), steps, rounds,
                  std::move(order)};
}
