//===- Blockwise.cpp - All_reduces that boxes suggest ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Blockwise.h"

#include "sccl/Check/ScheduleChecker.h"

#include <algorithm>
#include <set>

using namespace sccl;
using namespace sccl::advice;

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

Blocks advice::joinedWithin(const Topology &topology, const Timing &timing,
                            double latency) {
  Blocks blocks;
  std::vector<bool> isReached(topology.numRanks());
  for (unsigned first = 0; first < topology.numRanks(); ++first) {
    if (isReached[first])
      continue;
    std::vector<unsigned> block = {first};
    isReached[first] = true;
    for (size_t next = 0; next < block.size(); ++next)
      for (unsigned link : topology.outLinks(block[next])) {
        unsigned other = topology.links()[link].dst;
        if (timing.latencies[link] > latency || isReached[other])
          continue;
        isReached[other] = true;
        block.push_back(other);
      }
    std::ranges::sort(block);
    blocks.push_back(std::move(block));
  }
  return blocks;
}

static bool areJoined(const Topology &topology, unsigned a, unsigned b) {
  return topology.findLink(a, b) && topology.findLink(b, a);
}

/// True if each rank has a link to each.
static bool areAllJoined(const Topology &topology,
                         const std::vector<unsigned> &ranks) {
  for (unsigned a : ranks)
    for (unsigned b : ranks)
      if (a < b && !areJoined(topology, a, b))
        return false;
  return true;
}

namespace {
/// Blocks whose first ranks are in places: those of one place have links to
/// each other. The others of a block are guests, which have no part in what
/// goes between blocks, as GPUs that have lost their network card.
struct PlacedBlocks {
  Blocks blocks;
  size_t places = 0;

  bool hasGuests() const {
    return std::ranges::any_of(blocks, [&](const std::vector<unsigned> &block) {
      return block.size() > places;
    });
  }
};
} // namespace

/// The ranks of each place, block by block. Takes the first that fit, and
/// leaves out places that have none in some block.
static Blocks findPlaces(const Topology &topology, const Blocks &blocks) {
  Blocks places;
  for (unsigned rank : blocks.front())
    places.push_back({rank});
  for (size_t i = 1; i < blocks.size(); ++i) {
    std::vector<unsigned> left = blocks[i];
    for (std::vector<unsigned> &place : places) {
      auto it = std::ranges::find_if(left, [&](unsigned rank) {
        return std::ranges::all_of(place, [&](unsigned other) {
          return areJoined(topology, rank, other);
        });
      });
      if (it == left.end())
        continue;
      place.push_back(*it);
      left.erase(it);
    }
    std::erase_if(places, [&](const auto &place) { return place.size() <= i; });
  }
  return places;
}

/// Blocks in places, or none.
static PlacedBlocks findBlocks(const Fabric &fabric, double latency) {
  const Topology &topology = fabric.topology;
  Blocks blocks = joinedWithin(topology, fabric.timing, latency);
  size_t largest = 0;
  for (const std::vector<unsigned> &block : blocks) {
    largest = std::max(largest, block.size());
    if (!areAllJoined(topology, block))
      return {};
  }
  Blocks places = findPlaces(topology, blocks);
  // With fewer what goes between blocks takes too long.
  if (blocks.size() == 1 || largest == 1 || places.size() * 2 < largest)
    return {};
  for (size_t i = 0; i < blocks.size(); ++i)
    for (size_t place = places.size(); place-- > 0;) {
      auto it = std::ranges::find(blocks[i], places[place][i]);
      std::rotate(blocks[i].begin(), it, it + 1);
    }
  return {std::move(blocks), places.size()};
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

namespace {
/// The steps of an all_reduce with `parts` chunks for each place, or one chunk.
class BlockwiseSchedule {
public:
  BlockwiseSchedule(const PlacedBlocks &placed, unsigned parts)
      : blocks(placed.blocks), places(placed.places), parts(parts) {}
  Schedule make();

private:
  template <typename Visitor> void forEachPair(Visitor visit) const;
  Step within(SendAction action) const;
  Step exchange() const;
  Step exchangeWithin() const;
  Step exchangeBetween() const;
  Step between(SendAction action) const;
  uint32_t chunk(size_t place, size_t part) const {
    return uint32_t(place * parts + part);
  }

  const Blocks &blocks;
  const size_t places;
  const unsigned parts;
};
} // namespace

/// A send to `owner` of a chunk, from a rank that has a part of its sum, or
/// back to that rank once the sum is there.
static Send towards(unsigned owner, unsigned other, uint32_t chunk,
                    SendAction action) {
  if (action == SendAction::Reduce)
    return {chunk, other, owner, action};
  return {chunk, owner, other, action};
}

/// Calls visit(block, place, other place, which may be a guest's).
template <typename Visitor>
void BlockwiseSchedule::forEachPair(Visitor visit) const {
  for (const std::vector<unsigned> &block : blocks)
    for (size_t place = 0; place < places; ++place)
      for (size_t other = 0; other < block.size(); ++other)
        if (place != other)
          visit(block, place, other);
}

/// The chunks of a place: from the others of the block, or to them.
Step BlockwiseSchedule::within(SendAction action) const {
  Step step;
  forEachPair(
      [&](const std::vector<unsigned> &block, size_t place, size_t other) {
        for (size_t part = 0; part < parts; ++part) {
          step.sends.push_back(
              towards(block[place], block[other], chunk(place, part), action));
        }
      });
  return step;
}

/// Each block's sums to the same place of each other block.
Step BlockwiseSchedule::exchange() const {
  Step step;
  for (const std::vector<unsigned> &from : blocks)
    for (const std::vector<unsigned> &to : blocks)
      for (size_t place = 0; &from != &to && place < places; ++place)
        step.sends.push_back(
            {chunk(place, 0), from[place], to[place], SendAction::Reduce});
  return step;
}

/// The part of each block: from the others, or to them.
Step BlockwiseSchedule::between(SendAction action) const {
  Step step;
  for (size_t part = 0; part < blocks.size(); ++part)
    for (size_t other = 0; other < blocks.size(); ++other)
      for (size_t place = 0; part != other && place < places; ++place) {
        step.sends.push_back(towards(blocks[part][place], blocks[other][place],
                                     chunk(place, part), action));
      }
  return step;
}

/// All that each rank has to all others of its block.
Step BlockwiseSchedule::exchangeWithin() const {
  Step step;
  forEachPair([&](const std::vector<unsigned> &block, size_t place,
                  size_t other) {
    step.sends.push_back({0, block[place], block[other], SendAction::Reduce});
  });
  return step;
}

/// Each block's sums, which all its ranks have, to the same place of the
/// others.
Step BlockwiseSchedule::exchangeBetween() const {
  Step step = exchange();
  for (Send &send : step.sends)
    send.chunk = 0;
  return step;
}

Schedule BlockwiseSchedule::make() {
  Schedule schedule;
  if (parts == 0) {
    schedule.steps.push_back(exchangeWithin());
    if (blocks.size() > 1)
      schedule.steps.push_back(exchangeBetween());
    return schedule;
  }
  schedule.steps.push_back(within(SendAction::Reduce));
  if (parts == 1) {
    schedule.steps.push_back(exchange());
  } else {
    schedule.steps.push_back(between(SendAction::Reduce));
    schedule.steps.push_back(between(SendAction::Copy));
  }
  schedule.steps.push_back(within(SendAction::Copy));
  return schedule;
}

/// Adds the schedule with `parts` chunks for each place, if the checker takes
/// it.
static void addSchedule(const Topology &topology, const PlacedBlocks &placed,
                        unsigned parts, std::vector<Implementation> &result) {
  Result<Collective> collective =
      Collective::make(CollectiveKind::AllReduce, topology.numRanks(),
                       std::max(unsigned(placed.places) * parts, 1u));
  if (!collective)
    return;
  Schedule schedule = BlockwiseSchedule(placed, parts).make();
  fitRounds(schedule, topology);
  schedule.normalize();
  if (!checkSchedule(topology, *collective, schedule))
    result.push_back({std::move(*collective), std::move(schedule)});
}

std::vector<Implementation> advice::blockwiseAllReduces(const Fabric &fabric) {
  const Topology &topology = fabric.topology;
  std::vector<Implementation> result;
  PlacedBlocks whole{Blocks(1), topology.numRanks()};
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    whole.blocks.front().push_back(rank);
  if (areAllJoined(topology, whole.blocks.front()))
    addSchedule(topology, whole, 0, result);
  std::set<double> latencies(fabric.timing.latencies.begin(),
                             fabric.timing.latencies.end());
  for (double latency : latencies) {
    PlacedBlocks placed = findBlocks(fabric, latency);
    if (placed.places == 0)
      continue;
    // Guests would not get what all of a place have.
    if (!placed.hasGuests())
      addSchedule(topology, placed, 0, result);
    for (unsigned parts : {1u, unsigned(placed.blocks.size())})
      addSchedule(topology, placed, parts, result);
  }
  return result;
}
