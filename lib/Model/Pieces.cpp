//===- Pieces.cpp - Schedules whose pieces follow each other --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Pieces.h"

#include "ScheduleEdits.h"

#include "sccl/Model/CollectiveFamily.h"
#include "sccl/Model/Inversion.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <vector>

using namespace sccl;

// Modulo scheduling (Rau: Iterative modulo scheduling, 1994) of what one piece
// sends: a new piece begins every period, so sends take the same place of a
// limit if their rounds are equal modulo the period.

namespace {
class RoundPlanner {
public:
  RoundPlanner(const Implementation &implementation, const Topology &topology,
               unsigned period, unsigned distance);
  std::vector<Step> plan();
  /// Lets chunks that come last go first the next time.
  void favourLast();

private:
  /// Sends of a step that go out together, and how many hops follow.
  struct Bundle {
    std::span<const Send> sends;
    unsigned favour;
    unsigned hops;
    unsigned earliest; ///< round
  };
  /// A chunk at a rank.
  struct Place {
    unsigned ready = 0;   ///< first round in which it may go on
    unsigned sent = 0;    ///< last round in which it went on
    unsigned copied = 0;  ///< first round after the last copy came
    unsigned arrived = 0; ///< first round after anything came
  };

  size_t at(unsigned rank, uint32_t chunk) const {
    return size_t(rank) * collective.numChunks() + chunk;
  }
  void countHops();
  std::vector<Bundle> bundlesOf(size_t step) const;
  unsigned earliestOf(const Send &send) const;
  unsigned roundFor(const Bundle &bundle) const;
  std::map<unsigned, unsigned> useOf(std::span<const Send> sends) const;
  void place(const Bundle &bundle, unsigned round);
  void enterArrivals();

  const Topology &topology;
  const Collective &collective;
  const Schedule &schedule;
  const unsigned period, distance;
  std::vector<std::vector<Send>> steps;        ///< sorted
  std::vector<std::vector<unsigned>> hops;     ///< by step and send
  std::vector<std::vector<unsigned>> limitsOf; ///< by link
  std::vector<std::vector<unsigned>> loads;    ///< by limit and round
  std::vector<Place> places;
  /// Of the present step, and their rounds.
  std::vector<std::pair<Send, unsigned>> placed;
  std::vector<Step> rounds;
  std::vector<unsigned> favours; ///< by chunk
};
} // namespace

RoundPlanner::RoundPlanner(const Implementation &implementation,
                           const Topology &topology, unsigned period,
                           unsigned distance)
    : topology(topology), collective(implementation.collective),
      schedule(implementation.schedule), period(period), distance(distance),
      limitsOf(topology.links().size()), favours(collective.numChunks()) {
  for (unsigned i = 0; i < topology.limits().size(); ++i)
    for (unsigned link : topology.limits()[i].links)
      limitsOf[link].push_back(i);
  for (const Step &step : schedule.steps) {
    steps.push_back(step.sends);
    std::ranges::sort(steps.back());
  }
  countHops();
}

/// Of the longest chain of sends that each begins.
void RoundPlanner::countHops() {
  std::vector<unsigned> after(size_t(collective.numRanks()) *
                              collective.numChunks());
  hops.resize(steps.size());
  for (size_t step = steps.size(); step-- > 0;) {
    for (const Send &send : steps[step])
      hops[step].push_back(after[at(send.dst, send.chunk)] + 1);
    for (size_t i = 0; i < steps[step].size(); ++i) {
      const Send &send = steps[step][i];
      unsigned &most = after[at(send.src, send.chunk)];
      if (!send.carriesInputOnly())
        most = std::max(most, hops[step][i]);
    }
  }
}

/// True if the order of `sends`, all of one chunk, matters: ranks that both
/// send and get it exchange what they have, and a copy replaces what comes
/// beside it.
static bool belongTogether(std::span<const Send> sends) {
  std::vector<unsigned> sources, targets;
  bool copies = false;
  for (const Send &send : sends) {
    sources.push_back(send.src);
    targets.push_back(send.dst);
    copies |= send.action == SendAction::Copy;
  }
  std::ranges::sort(sources);
  std::ranges::sort(targets);
  bool isRepeated = std::ranges::adjacent_find(targets) != targets.end();
  std::vector<unsigned> both;
  std::ranges::set_intersection(sources, targets, std::back_inserter(both));
  return !both.empty() || (copies && isRepeated);
}

/// Those that much depends on come first.
std::vector<RoundPlanner::Bundle> RoundPlanner::bundlesOf(size_t step) const {
  std::vector<Bundle> bundles;
  std::span<const Send> all = steps[step];
  for (size_t first = 0, next; first < all.size(); first = next) {
    for (next = first;
         next < all.size() && all[next].chunk == all[first].chunk;)
      ++next;
    std::span<const Send> ofChunk = all.subspan(first, next - first);
    size_t size = belongTogether(ofChunk) ? ofChunk.size() : 1;
    for (size_t i = first; i < next; i += size) {
      Bundle bundle{all.subspan(i, size), favours[all[i].chunk], 0, 0};
      for (size_t j = i; j < i + size; ++j) {
        bundle.hops = std::max(bundle.hops, hops[step][j]);
        bundle.earliest = std::max(bundle.earliest, earliestOf(all[j]));
      }
      bundles.push_back(bundle);
    }
  }
  std::ranges::stable_sort(bundles, [](const Bundle &a, const Bundle &b) {
    return std::tuple(b.hops + b.favour, a.earliest) <
           std::tuple(a.hops + a.favour, b.earliest);
  });
  return bundles;
}

/// After all that it carries has come, and not before what its destination
/// sends without it.
unsigned RoundPlanner::earliestOf(const Send &send) const {
  const Place &from = places[at(send.src, send.chunk)];
  const Place &to = places[at(send.dst, send.chunk)];
  unsigned ready = send.carriesInputOnly() ? 0 : from.ready;
  bool isCopy = send.action == SendAction::Copy;
  return std::max({ready, to.sent, isCopy ? to.arrived : to.copied});
}

/// What `sends` take of which limits.
std::map<unsigned, unsigned>
RoundPlanner::useOf(std::span<const Send> sends) const {
  std::map<unsigned, unsigned> use;
  for (const Send &send : sends)
    for (unsigned limit : limitsOf[*topology.findLink(send.src, send.dst)])
      ++use[limit];
  return use;
}

/// The first in which limits have room, or are too full by the fewest rounds.
unsigned RoundPlanner::roundFor(const Bundle &bundle) const {
  std::map<unsigned, unsigned> use = useOf(bundle.sends);
  auto excess = [&](unsigned round) {
    double sum = 0;
    for (auto [limit, count] : use) {
      double most = topology.limits()[limit].bandwidth;
      double load = loads[limit][round % period] + count;
      sum += std::max(load - most, 0.0) / most;
    }
    return sum;
  };
  unsigned best = bundle.earliest;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned i = 0; i < period && least > 0; ++i) {
    double now = excess(bundle.earliest + i);
    if (now < least) {
      least = now;
      best = bundle.earliest + i;
    }
  }
  return best;
}

void RoundPlanner::place(const Bundle &bundle, unsigned round) {
  if (round >= rounds.size())
    rounds.resize(round + 1);
  for (auto [limit, count] : useOf(bundle.sends))
    loads[limit][round % period] += count;
  for (const Send &send : bundle.sends) {
    rounds[round].sends.push_back(send);
    placed.emplace_back(send, round);
  }
}

void RoundPlanner::enterArrivals() {
  for (const auto &[send, round] : placed) {
    Place &from = places[at(send.src, send.chunk)];
    Place &to = places[at(send.dst, send.chunk)];
    if (!send.carriesInputOnly())
      from.sent = std::max(from.sent, round);
    to.ready = std::max(to.ready, round + distance);
    to.arrived = std::max(to.arrived, round + 1);
    if (send.action == SendAction::Copy)
      to.copied = std::max(to.copied, round + 1);
  }
  placed.clear();
}

std::vector<Step> RoundPlanner::plan() {
  rounds.clear();
  loads.assign(topology.limits().size(), std::vector<unsigned>(period));
  places.assign(size_t(collective.numRanks()) * collective.numChunks(), {});
  for (size_t step = 0; step < steps.size(); ++step) {
    for (const Bundle &bundle : bundlesOf(step))
      place(bundle, roundFor(bundle));
    enterArrivals();
  }
  return rounds;
}

void RoundPlanner::favourLast() {
  std::vector<size_t> last(favours.size());
  for (size_t round = 0; round < rounds.size(); ++round)
    for (const Send &send : rounds[round].sends)
      last[send.chunk] = round;
  std::vector<size_t> sorted = last;
  auto middle = sorted.begin() + ptrdiff_t(sorted.size() * 3 / 4);
  std::ranges::nth_element(sorted, middle);
  for (size_t chunk = 0; chunk < last.size(); ++chunk)
    favours[chunk] += last[chunk] > *middle;
}

/// What one piece sends, by round from 0 on; many may be empty. The sends of a
/// chunk keep their order, `distance` rounds after what brings it, or more, and
/// limits are not too full where that can be avoided. All links must be there,
/// and `period` at least 1.
static std::vector<Step> roundsOfPiece(const Implementation &implementation,
                                       const Topology &topology,
                                       unsigned period, unsigned distance) {
  constexpr unsigned attempts = 4;
  RoundPlanner planner(implementation, topology, period, distance);
  std::vector<Step> best = planner.plan();
  for (unsigned i = 1; i < attempts && best.size() > period; ++i) {
    planner.favourLast();
    std::vector<Step> other = planner.plan();
    if (other.size() < best.size())
      best = std::move(other);
  }
  return best;
}

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
