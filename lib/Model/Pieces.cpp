//===- Pieces.cpp - Schedules whose pieces follow each other --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Pieces.h"

#include "ScheduleEdits.h"

#include "sccl/Model/CollectiveFamily.h"

using namespace sccl;

static Result<Collective> cut(const Collective &collective, unsigned pieces) {
  uint64_t chunks = uint64_t(collective.chunks()) * pieces;
  uint64_t pairs =
      uint64_t(collective.numRanks()) * collective.numChunks() * pieces;
  if (pairs > Collective::maxPairs || chunks > ~0u)
    return Error{std::to_string(pieces) + " pieces of " +
                 std::to_string(collective.numChunks()) +
                 " chunks are too many for " +
                 std::to_string(collective.numRanks()) + " ranks"};
  return CollectiveFamily::of(collective)
      .make(collective.numRanks(), unsigned(chunks));
}

/// Why that makes no sense, or is too much.
static std::optional<Error> findMistake(const Implementation &implementation,
                                        const Topology &topology,
                                        unsigned pieces, unsigned distance) {
  const Schedule &whole = implementation.schedule;
  if (pieces == 0)
    return Error{"a chunk cannot be cut into 0 pieces"};
  if (distance == 0)
    return Error{"the steps of a piece cannot be at a distance of 0"};
  if (std::optional<Error> error = checkNumbers(implementation))
    return error;
  for (const Step &step : whole.steps)
    for (const Send &send : step.sends)
      if (!topology.findLink(send.src, send.dst))
        return Error{"a send from " + std::to_string(send.src) + " to " +
                     std::to_string(send.dst) + " has no link"};
  auto tooMany = [&](uint64_t count, std::string_view what) {
    return Error{std::to_string(pieces) + " pieces of " +
                 std::to_string(count) + " " + std::string(what) +
                 " are more than " + std::to_string(Schedule::maxSends)};
  };
  if (whole.numSends() * uint64_t(pieces) > Schedule::maxSends)
    return tooMany(whole.numSends(), "sends");
  if (whole.steps.size() * uint64_t(distance) + pieces > Schedule::maxSends)
    return tooMany(whole.steps.size(), "steps");
  return std::nullopt;
}

Result<Implementation> sccl::cutIntoPieces(const Implementation &implementation,
                                           const Topology &topology,
                                           unsigned pieces, unsigned distance) {
  if (auto error = findMistake(implementation, topology, pieces, distance))
    return *error;
  const Schedule &whole = implementation.schedule;
  if (pieces == 1 || whole.steps.empty())
    return implementation;
  Result<Collective> collective = cut(implementation.collective, pieces);
  if (!collective)
    return Error{collective.error()};
  Schedule schedule;
  schedule.steps.resize((whole.steps.size() - 1) * distance + pieces);
  for (size_t step = 0; step < whole.steps.size(); ++step)
    for (Send send : whole.steps[step].sends) {
      send.chunk *= pieces;
      for (unsigned piece = 0; piece < pieces; ++piece, ++send.chunk)
        schedule.steps[step * distance + piece].sends.push_back(send);
    }
  std::erase_if(schedule.steps,
                [](const Step &step) { return step.sends.empty(); });
  fitRounds(schedule, topology);
  schedule.normalize();
  return Implementation{std::move(*collective), std::move(schedule)};
}
