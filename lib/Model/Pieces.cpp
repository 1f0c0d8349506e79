//===- Pieces.cpp - Schedules whose pieces follow each other --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Pieces.h"

#include "PieceRounds.h"
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
                                        unsigned pieces, PieceOrder order) {
  const Schedule &whole = implementation.schedule;
  if (pieces == 0)
    return Error{"a chunk cannot be cut into 0 pieces"};
  if (order.distance == 0)
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
  // Of rounds there are no more than sends, and what waits between them.
  uint64_t every = order.inRounds ? leastPeriod(whole, topology) : 1;
  if ((whole.steps.size() * uint64_t(order.distance + every)) +
          uint64_t(pieces) * every >
      Schedule::maxSends)
    return tooMany(whole.steps.size(), "steps");
  return std::nullopt;
}

/// What each piece does after the one before, with a piece every `every` steps,
/// for segments of `perSegment` chunks.
static Schedule repeat(const std::vector<Step> &ofOne, unsigned perSegment,
                       unsigned pieces, size_t every) {
  Schedule schedule;
  schedule.steps.resize(ofOne.size() + (pieces - 1) * every);
  for (size_t step = 0; step < ofOne.size(); ++step)
    for (Send send : ofOne[step].sends) {
      send.chunk += send.chunk / perSegment * perSegment * (pieces - 1);
      for (unsigned piece = 0; piece < pieces; ++piece) {
        schedule.steps[step + piece * every].sends.push_back(send);
        send.chunk += perSegment;
      }
    }
  return schedule;
}

/// `steps` with `distance` - 1 empty ones between each two.
static std::vector<Step> spread(const std::vector<Step> &steps,
                                unsigned distance) {
  std::vector<Step> result((steps.size() - 1) * size_t(distance) + 1);
  for (size_t step = 0; step < steps.size(); ++step)
    result[step * distance] = steps[step];
  return result;
}

Result<Implementation> sccl::cutIntoPieces(const Implementation &implementation,
                                           const Topology &topology,
                                           unsigned pieces, PieceOrder order) {
  if (auto error = findMistake(implementation, topology, pieces, order))
    return *error;
  const Schedule &whole = implementation.schedule;
  if (pieces == 1 || whole.steps.empty())
    return implementation;
  Result<Collective> collective = cut(implementation.collective, pieces);
  if (!collective)
    return Error{collective.error()};
  unsigned every = order.inRounds ? leastPeriod(whole, topology) : 1;
  Schedule schedule =
      repeat(order.inRounds ? roundsOfPiece(implementation, topology, every,
                                            order.distance)
                            : spread(whole.steps, order.distance),
             implementation.collective.chunksPerSegment(), pieces, every);
  std::erase_if(schedule.steps,
                [](const Step &step) { return step.sends.empty(); });
  fitRounds(schedule, topology);
  schedule.normalize();
  return Implementation{std::move(*collective), std::move(schedule)};
}

unsigned sccl::roundsOfOnePiece(const Implementation &implementation,
                                const Topology &topology, unsigned distance) {
  unsigned period = leastPeriod(implementation.schedule, topology);
  return unsigned(
      roundsOfPiece(implementation, topology, period, distance).size());
}
