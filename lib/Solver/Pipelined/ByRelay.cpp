//===- ByRelay.cpp - Part of all chunks by way of relays ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ByRelay.h"

#include "Solver/Constants.h"

#include <algorithm>
#include <map>
#include <set>

using namespace sccl;

namespace {
/// What a limit of `bandwidth` carries if all chunks go straight, and what it
/// carries more if all go through relays.
struct LoadLine {
  int64_t straight, more, bandwidth;
  auto operator<=>(const LoadLine &) const = default;
};

/// Where a chunk is, and where it has to get.
struct Move {
  unsigned src;
  std::vector<unsigned> targets;
};

/// The part of chunks that goes through relays, and the load for as many times
/// as there are relays.
struct RelayShare {
  Rational load, part;
};
} // namespace

/// Of each chunk, if all have one source.
static std::optional<std::vector<Move>> movesOf(const Collective &collective) {
  std::vector<unsigned> owners(collective.numChunks());
  std::vector<Move> moves(collective.numChunks());
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank) {
    for (unsigned chunk : collective.pre().chunksOf(rank)) {
      ++owners[chunk];
      moves[chunk].src = rank;
    }
    for (unsigned chunk : collective.post().chunksOf(rank))
      if (!collective.pre().contains(rank, chunk))
        moves[chunk].targets.push_back(rank);
  }
  bool isAlone = std::ranges::all_of(owners, [](auto n) { return n == 1; });
  return isAlone ? std::optional(std::move(moves)) : std::nullopt;
}

/// The ranks without chunks that have links from and to all that need them.
static std::vector<unsigned> relaysFor(const Topology &topology,
                                       const Collective &collective,
                                       const std::vector<Move> &moves) {
  std::vector<unsigned> relays;
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
    auto serves = [&](const Move &move) {
      return move.targets.empty() ||
             (topology.findLink(move.src, rank) &&
              std::ranges::all_of(move.targets, [&](unsigned dst) {
                return topology.findLink(rank, dst).has_value();
              }));
    };
    if (collective.pre().chunksOf(rank).empty() &&
        collective.post().chunksOf(rank).empty() &&
        std::ranges::all_of(moves, serves))
      relays.push_back(rank);
  }
  return relays;
}

/// The lines of all limits.
static std::set<LoadLine> linesOf(const Topology &topology,
                                  const std::vector<Move> &moves,
                                  const std::vector<unsigned> &relays,
                                  bool goesStraight) {
  std::vector<int64_t> straight(topology.links().size()), through = straight;
  for (const auto &[src, targets] : moves)
    for (unsigned relay : relays) {
      if (!targets.empty())
        ++through[*topology.findLink(src, relay)];
      for (unsigned dst : targets) {
        ++through[*topology.findLink(relay, dst)];
        if (goesStraight)
          ++straight[*topology.findLink(src, dst)];
      }
    }
  std::set<LoadLine> lines;
  for (const BandwidthLimit &limit : topology.limits()) {
    LoadLine line{0, 0, limit.bandwidth};
    for (unsigned link : limit.links) {
      line.straight += straight[link];
      line.more += through[link] - straight[link];
    }
    lines.insert(line);
  }
  return lines;
}

/// The largest of the lines where this part goes through relays.
static Rational loadAt(const std::set<LoadLine> &lines, const Rational &part) {
  Rational load(0);
  for (const LoadLine &line : lines)
    load = std::max(load, Rational(line.straight * part.denominator() +
                                       line.more * part.numerator(),
                                   line.bandwidth * part.denominator()));
  return load;
}

/// Where the largest of the lines is least: at 0, at 1, or where two lines
/// meet.
static RelayShare leastShare(const std::set<LoadLine> &lines) {
  std::set<Rational> parts = {0, 1};
  for (const LoadLine &a : lines)
    for (const LoadLine &b : lines) {
      int64_t slope = a.more * b.bandwidth - b.more * a.bandwidth;
      if (slope <= 0)
        continue;
      Rational part(b.straight * a.bandwidth - a.straight * b.bandwidth, slope);
      if (part > Rational(0) && part < Rational(1) &&
          part.denominator() <= tuned::mostDenominator())
        parts.insert(part);
    }
  RelayShare least{loadAt(lines, 1), 1};
  for (const Rational &part : parts)
    if (Rational load = loadAt(lines, part); load < least.load)
      least = {load, part};
  return least;
}

/// Of each `period` chunks with the same source and targets, the first
/// `through` go through relays, in turn, and the others straight.
static Schedule scheduleOf(const Topology &topology,
                           const Collective &collective,
                           const std::vector<unsigned> &relays, int64_t through,
                           int64_t period) {
  Schedule schedule;
  schedule.steps.resize(2);
  std::map<std::pair<unsigned, std::vector<unsigned>>, int64_t> numbers;
  std::vector<Move> moves = *movesOf(collective);
  for (unsigned chunk = 0; chunk < moves.size(); ++chunk) {
    const auto &[src, targets] = moves[chunk];
    int64_t place = numbers[{src, targets}]++ % period;
    bool isThrough = place < through && !targets.empty();
    unsigned from = isThrough ? relays[place % relays.size()] : src;
    if (isThrough)
      schedule.steps[0].sends.push_back({chunk, src, from});
    for (unsigned dst : targets)
      schedule.steps[isThrough].sends.push_back({chunk, from, dst});
  }
  if (schedule.steps[1].sends.empty())
    schedule.steps.pop_back();
  schedule.normalize();
  fitRounds(schedule, topology);
  schedule.period = leastPeriod(schedule, topology);
  return schedule;
}

std::optional<Implementation>
pipelined::throughRelays(const Topology &topology,
                         const CollectiveFamily &family,
                         const Collective &smallest) {
  constexpr size_t mostLines = 256;
  auto moves = movesOf(smallest);
  if (!moves || smallest.combining())
    return std::nullopt;
  std::vector<unsigned> relays = relaysFor(topology, smallest, *moves);
  if (relays.empty())
    return std::nullopt;
  bool goesStraight = std::ranges::all_of(*moves, [&](const Move &move) {
    return std::ranges::all_of(move.targets, [&](unsigned dst) {
      return topology.findLink(move.src, dst).has_value();
    });
  });
  std::set<LoadLine> lines = linesOf(topology, *moves, relays, goesStraight);
  if (lines.size() > mostLines)
    return std::nullopt;
  RelayShare best =
      goesStraight ? leastShare(lines) : RelayShare{loadAt(lines, 1), 1};
  // The shares in whole chunks, as often as the rounds of all are whole, too.
  int64_t shares = best.part.denominator();
  int64_t times = Rational(shares, best.load.denominator()).denominator();
  uint64_t period = uint64_t(shares) * relays.size();
  uint64_t repeats = period * uint64_t(times);
  if (repeats * smallest.numChunks() * topology.numRanks() >
      tuned::mostPipelinedSends())
    return std::nullopt;
  Result<Collective> collective =
      family.make(topology.numRanks(), unsigned(repeats * smallest.chunks()));
  if (!collective)
    return std::nullopt;
  Schedule schedule = scheduleOf(topology, *collective, relays,
                                 best.part.numerator() * int64_t(relays.size()),
                                 int64_t(period));
  return Implementation{std::move(*collective), std::move(schedule)};
}
