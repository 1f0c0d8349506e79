//===- ProductWays.cpp - Orders of the factors of a sum -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductWays.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace sccl;

unsigned Way::steps() const {
  unsigned steps = 0;
  for (const WayPhase &phase : phases)
    steps += phase.part->steps();
  return steps;
}

uint64_t Way::chunks() const {
  uint64_t chunks = sumChunks;
  for (unsigned digit : digits)
    chunks *= digit;
  return chunks;
}

//===----------------------------------------------------------------------===//
// Ways
//===----------------------------------------------------------------------===//

namespace {
/// Which of its parts each factor takes; the last one, if it has fewer.
struct Choice {
  size_t sum, scattered;
};

/// A way, and what matters for the choice among them.
struct RatedWay {
  Way way;
  double sends;              ///< for each of its chunks
  std::vector<double> loads; ///< rounds per chunk, by step and factor
};
} // namespace

template <typename Part>
static const Part &chosen(const std::vector<Part> &parts, size_t choice) {
  return parts[std::min(choice, parts.size() - 1)];
}

/// The sum that is chosen, or another, where inputs are gone.
static const FactorPart &sumOf(const FactorParts &parts, size_t choice,
                               bool hasInputs) {
  const FactorPart &sum = chosen(parts.sums, choice);
  if (!sum.needsInputs || hasInputs)
    return sum;
  return *std::ranges::find(parts.sums, false, &FactorPart::needsInputs);
}

static Way makeWay(const std::vector<FactorParts> &parts,
                   const std::vector<unsigned> &order, unsigned scattered,
                   const Choice &choice) {
  Way way{order, {}, {}};
  auto ofFactor = [&](unsigned at) -> const ScatterAndGather & {
    return chosen(parts[order[at]].scattered, choice.scattered);
  };
  for (unsigned at = 0; at < scattered; ++at) {
    const FactorPart &part = ofFactor(at).scatter;
    way.phases.push_back({order[at], &part, at});
    way.digits.push_back(part.chunks);
  }
  for (unsigned at = scattered; at < order.size(); ++at) {
    const FactorPart &part =
        sumOf(parts[order[at]], choice.sum, /*hasInputs=*/at == 0);
    way.phases.push_back({order[at], &part, scattered});
    way.sumChunks = std::lcm(way.sumChunks, part.chunks);
  }
  for (unsigned at = scattered; at-- > 0;)
    way.phases.push_back({order[at], &ofFactor(at).gather, at});
  return way;
}

static RatedWay rated(Way way, const Product &product, unsigned steps) {
  size_t factors = product.factors.size();
  RatedWay result{std::move(way), 0, std::vector<double>(steps * factors)};
  size_t step = 0;
  for (const WayPhase &phase : result.way.phases) {
    double share = 1;
    for (unsigned at = 0; at < phase.depth; ++at)
      share /= product.factors[result.way.order[at]].numRanks();
    double copies =
        double(product.ranks.size()) / product.factors[phase.factor].numRanks();
    result.sends += share * copies * double(phase.part->schedule.numSends()) /
                    phase.part->chunks;
    for (double rounds : phase.part->rounds)
      result.loads[step++ * factors + phase.factor] += share * rounds;
  }
  return result;
}

/// Larger factors first, or last, and from there on in turn.
static std::vector<std::vector<unsigned>> ordersOf(const Product &product) {
  std::vector<unsigned> base(product.factors.size());
  std::iota(base.begin(), base.end(), 0u);
  std::ranges::stable_sort(base, std::ranges::greater(), [&](unsigned factor) {
    return product.factors[factor].numRanks();
  });
  std::vector<std::vector<unsigned>> orders;
  for (bool isTurned : {false, true}) {
    if (isTurned)
      std::ranges::reverse(base);
    for (size_t i = 0; i < base.size(); ++i) {
      orders.push_back(base);
      std::ranges::rotate(base, base.begin() + 1);
    }
  }
  return orders;
}

//===----------------------------------------------------------------------===//
// Mixes
//===----------------------------------------------------------------------===//

namespace {
/// Adds one way after the other, each time the one that costs least, and
/// remembers after how many the cost per chunk was least.
class MixSearch {
public:
  MixSearch(const Product &product, const std::vector<FactorParts> &parts,
            const MixLimits &limits)
      : product(product), parts(parts), limits(limits),
        orders(ordersOf(product)) {}

  std::optional<MixOfWays> run();

private:
  std::vector<RatedWay> waysOf(const Choice &choice, unsigned scattered) const;
  double costWith(const RatedWay &way) const;
  void tryWays(const std::vector<RatedWay> &ways);

  const Product &product;
  const std::vector<FactorParts> &parts;
  const MixLimits &limits;
  const std::vector<std::vector<unsigned>> orders;
  std::vector<double> loads; ///< of the ways so far
  std::optional<MixOfWays> best;
  double least = INFINITY;
};
} // namespace

/// One for each order: with as many factors that scatter, of at most
/// `scattered`, as there are steps for.
std::vector<RatedWay> MixSearch::waysOf(const Choice &choice,
                                        unsigned scattered) const {
  std::vector<RatedWay> ways;
  for (const std::vector<unsigned> &order : orders)
    for (unsigned count = scattered + 1; count-- > 0;) {
      Way way = makeWay(parts, order, count, choice);
      if (way.steps() > limits.steps || way.chunks() > limits.chunks)
        continue;
      ways.push_back(rated(std::move(way), product, limits.steps));
      break;
    }
  // Others were looked at with fewer steps.
  bool isNew = std::ranges::any_of(ways, [&](const RatedWay &rated) {
    return rated.way.steps() == limits.steps;
  });
  return isNew ? ways : std::vector<RatedWay>();
}

double MixSearch::costWith(const RatedWay &way) const {
  size_t factors = product.factors.size();
  double cost = 0;
  for (size_t step = 0; step < limits.steps; ++step) {
    double most = 0;
    for (size_t i = step * factors; i < (step + 1) * factors; ++i)
      most = std::max(most, loads[i] + way.loads[i]);
    cost += most;
  }
  return cost;
}

void MixSearch::tryWays(const std::vector<RatedWay> &ways) {
  constexpr double tolerance = 1e-9;
  uint64_t unit = 1;
  for (const RatedWay &rated : ways)
    unit = std::min<uint64_t>(std::lcm(unit, rated.way.chunks()), UINT32_MAX);
  loads.assign(limits.steps * product.factors.size(), 0);
  MixOfWays mix{{}, unsigned(unit)};
  double sends = 0;
  while (mix.ways.size() < 2 * ways.size()) {
    const RatedWay &next = *std::ranges::min_element(
        ways, {}, [&](const RatedWay &way) { return costWith(way); });
    double cost = costWith(next);
    sends += next.sends * double(unit);
    mix.ways.push_back(next.way);
    if (mix.ways.size() * unit > limits.chunks || sends > double(limits.sends))
      return;
    for (size_t i = 0; i < loads.size(); ++i)
      loads[i] += next.loads[i];
    if (cost / double(mix.ways.size()) < least * (1 - tolerance)) {
      least = cost / double(mix.ways.size());
      best = mix;
    }
  }
}

std::optional<MixOfWays> MixSearch::run() {
  size_t sums = 0, scattered = 0;
  for (const FactorParts &some : parts) {
    sums = std::max(sums, some.sums.size());
    scattered = std::max(scattered, some.scattered.size());
  }
  for (size_t sum = 0; sum < sums; ++sum)
    for (size_t other = 0; other < scattered; ++other)
      for (unsigned count = 0; count <= product.factors.size(); ++count)
        if (auto ways = waysOf({sum, other}, count); !ways.empty())
          tryWays(ways);
  return std::move(best);
}

std::optional<MixOfWays>
sccl::cheapestMix(const Product &product, const std::vector<FactorParts> &parts,
                  const MixLimits &limits) {
  return MixSearch(product, parts, limits).run();
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

namespace {
/// Chunks `first` to `first + count - 1`, all of which do the same.
struct AlikeChunks {
  unsigned first, count;
  uint64_t index; ///< among the chunks of the way
};

class WayWriter {
public:
  WayWriter(const Product &product, Schedule &schedule)
      : product(product), schedule(schedule) {}
  void write(const Way &way, unsigned first, unsigned unit);

private:
  void write(const Way &way, const AlikeChunks &chunks);
  std::vector<unsigned> ranksFor(const Way &way, const WayPhase &phase,
                                 const std::vector<unsigned> &digits) const;

  const Product &product;
  Schedule &schedule;
};
} // namespace

/// Those at place 0 of the factor that hold the chunk in the others.
std::vector<unsigned>
WayWriter::ranksFor(const Way &way, const WayPhase &phase,
                    const std::vector<unsigned> &digits) const {
  std::vector<unsigned> ranks;
  for (unsigned rank = 0; rank < product.ranks.size(); ++rank) {
    bool holds = product.places[phase.factor][rank] == 0;
    for (unsigned at = 0; at < phase.depth && holds; ++at) {
      unsigned factor = way.order[at];
      unsigned perRank = way.digits[at] / product.factors[factor].numRanks();
      holds = product.places[factor][rank] == digits[at] / perRank;
    }
    if (holds)
      ranks.push_back(rank);
  }
  return ranks;
}

void WayWriter::write(const Way &way, const AlikeChunks &chunks) {
  std::vector<unsigned> digits;
  uint64_t index = chunks.index;
  for (unsigned size : way.digits) {
    digits.push_back(unsigned(index % size));
    index /= size;
  }
  size_t first = 0;
  for (const WayPhase &phase : way.phases) {
    std::vector<unsigned> ranks = ranksFor(way, phase, digits);
    bool isSum = phase.depth == way.digits.size();
    unsigned chunk =
        isSum ? unsigned(index % phase.part->chunks) : digits[phase.depth];
    for (const Step &step : phase.part->schedule.steps) {
      std::vector<Send> &sends = schedule.steps[first++].sends;
      for (Send send : step.sends) {
        if (send.chunk != chunk)
          continue;
        unsigned src = send.src, dst = send.dst;
        for (unsigned rank : ranks) {
          send.src = product.moved(rank, phase.factor, src);
          send.dst = product.moved(rank, phase.factor, dst);
          for (unsigned i = 0; i < chunks.count; ++i) {
            send.chunk = chunks.first + i;
            sends.push_back(send);
          }
        }
        send.chunk = chunk;
      }
    }
  }
}

void WayWriter::write(const Way &way, unsigned first, unsigned unit) {
  unsigned count = unsigned(unit / way.chunks());
  for (uint64_t index = 0; index < way.chunks(); ++index)
    write(way, {unsigned(first + index * count), count, index});
}

Schedule sccl::writeOut(const MixOfWays &mix, const Product &product) {
  Schedule schedule;
  unsigned steps = 0;
  for (const Way &way : mix.ways)
    steps = std::max(steps, way.steps());
  schedule.steps.resize(steps);
  WayWriter writer(product, schedule);
  for (unsigned i = 0; i < mix.ways.size(); ++i)
    writer.write(mix.ways[i], i * mix.unit, mix.unit);
  return schedule;
}
