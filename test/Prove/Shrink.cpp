//===- Shrink.cpp - A smaller case with the same fault --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shrink.h"

#include "sccl/Check/ScheduleChecker.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::test;

/// `given` without its chunk `chunk`, as a user-defined collective; nothing if
/// it has no other.
static std::optional<RandomCase> withoutChunk(RandomCase given,
                                              unsigned chunk) {
  const Collective &collective = given.implementation.collective;
  if (collective.numChunks() == 1)
    return std::nullopt;
  auto less = [&](const RankChunkSet &set) {
    RankChunkSet result(set.numRanks(), set.numChunks() - 1);
    for (unsigned rank = 0; rank < set.numRanks(); ++rank)
      for (unsigned other : set.chunksOf(rank))
        if (other != chunk)
          result.insert(rank, other - (other > chunk));
    return result;
  };
  Result<Collective> fewer =
      Collective::makeCustom("fewer", 1, collective.combining(),
                             less(collective.pre()), less(collective.post()));
  if (!fewer)
    return std::nullopt;
  for (Step &step : given.implementation.schedule.steps) {
    std::erase_if(step.sends,
                  [&](const Send &send) { return send.chunk == chunk; });
    for (Send &send : step.sends)
      send.chunk -= send.chunk > chunk;
  }
  given.implementation.collective = std::move(*fewer);
  return given;
}

/// `given` without the limit `limit`, unless a link would have none.
static std::optional<RandomCase> withoutLimit(RandomCase given, size_t limit) {
  Topology fewer(given.topology.name(), given.topology.numRanks());
  for (const Link &link : given.topology.links())
    must(fewer.addLink(link.src, link.dst));
  for (size_t i = 0; i < given.topology.limits().size(); ++i)
    if (const BandwidthLimit &other = given.topology.limits()[i]; i != limit)
      must(fewer.addLimit(other.links, other.bandwidth));
  for (unsigned link = 0; link < fewer.links().size(); ++link)
    if (fewer.capacity(link) == Topology::maxBandwidth)
      return std::nullopt;
  given.topology = std::move(fewer);
  return given;
}

/// Everything that is one thing less than `given`, what saves most first.
static std::vector<RandomCase> smallerCases(const RandomCase &given) {
  std::vector<RandomCase> cases;
  auto add = [&](auto change) { change(cases.emplace_back(given)); };
  const LoweringOptions &options = given.lowering, plain;
  for (auto flag :
       {&LoweringOptions::ll, &LoweringOptions::steps,
        &LoweringOptions::throughScratch, &LoweringOptions::doubleBuffer})
    if (options.*flag)
      add([&](RandomCase &smaller) { smaller.lowering.*flag = false; });
  if (options.pieces != plain.pieces)
    add([&](RandomCase &smaller) { smaller.lowering.pieces = plain.pieces; });
  if (options.transport != plain.transport)
    add([&](RandomCase &smaller) {
      smaller.lowering.transport = plain.transport;
    });
  if (options.element != plain.element)
    add([&](RandomCase &smaller) { smaller.lowering.element = plain.element; });
  if (options.reduction != plain.reduction)
    add([&](RandomCase &smaller) {
      smaller.lowering.reduction = plain.reduction;
    });
  if (given.reach != Reach::Memory)
    add([&](RandomCase &smaller) { smaller.reach = Reach::Memory; });
  if (given.inPlace)
    add([&](RandomCase &smaller) { smaller.inPlace = false; });
  for (unsigned chunk = given.implementation.collective.numChunks();
       chunk-- > 0;)
    if (std::optional<RandomCase> smaller = withoutChunk(given, chunk))
      cases.push_back(std::move(*smaller));
  size_t numSteps = given.implementation.schedule.steps.size();
  for (size_t step = 0; step < numSteps; ++step)
    add([&](RandomCase &smaller) {
      std::vector<Step> &fewer = smaller.implementation.schedule.steps;
      fewer.erase(fewer.begin() + step);
    });
  for (uint64_t elements : {given.elements / 2, given.elements - 1})
    if (given.elements > 1)
      add([&](RandomCase &smaller) { smaller.elements = elements; });
  for (size_t limit = 0; limit < given.topology.limits().size(); ++limit)
    if (std::optional<RandomCase> smaller = withoutLimit(given, limit))
      cases.push_back(std::move(*smaller));
  return cases;
}

RandomCase test::shrink(RandomCase given,
                        const std::function<bool(const RandomCase &)> &fails,
                        unsigned most) {
  auto isRight = [](const RandomCase &smaller) {
    const auto &[collective, schedule] = smaller.implementation;
    return !schedule.steps.empty() &&
           !checkSchedule(smaller.topology, collective, schedule);
  };
  for (bool isSmaller = true; isSmaller;) {
    isSmaller = false;
    for (RandomCase &smaller : smallerCases(given)) {
      if (!isRight(smaller))
        continue;
      if (most == 0)
        return given;
      --most;
      if (!fails(smaller))
        continue;
      given = std::move(smaller);
      isSmaller = true;
      break;
    }
  }
  return given;
}
