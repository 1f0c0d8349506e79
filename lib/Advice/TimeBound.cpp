//===- TimeBound.cpp - How little time a collective can take --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Advice/TimeBound.h"

#include "sccl/Bounds/LowerBound.h"
#include "sccl/Model/RanksByChunk.h"
#include "sccl/Model/TopologyIdentity.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <queue>

using namespace sccl;

double TimeBound::Kind::microseconds(double bytes) const {
  double transfer = perByte > 0 ? perByte * bytes + leastLatency : 0;
  return std::max(latency, transfer) + delivery;
}

double TimeBound::microseconds(double bytes) const {
  double least = flags.microseconds(bytes);
  if (words)
    least = std::min(least, words->microseconds(bytes));
  return launch + least;
}

/// The latencies of the fastest paths from the nearest of `sources` to each
/// rank (Dijkstra).
static std::vector<double> distances(const Topology &topology,
                                     const Timing &timing,
                                     const std::vector<unsigned> &sources) {
  using Entry = std::pair<double, unsigned>;
  std::vector<double> best(topology.numRanks(),
                           std::numeric_limits<double>::infinity());
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (unsigned source : sources) {
    best[source] = 0;
    queue.push({0, source});
  }
  while (!queue.empty()) {
    auto [distance, rank] = queue.top();
    queue.pop();
    if (distance > best[rank])
      continue;
    for (unsigned link : topology.outLinks(rank)) {
      unsigned next = topology.links()[link].dst;
      double there = distance + timing.latencies[link];
      if (there < best[next]) {
        best[next] = there;
        queue.push({there, next});
      }
    }
  }
  return best;
}

namespace {
/// The latencies between sets of ranks, each found once.
class Latencies {
public:
  Latencies(const Topology &topology, const Timing &timing)
      : topology(topology), timing(timing) {}

  /// Of the farthest of `post` from the nearest of `sources`.
  double farthest(const std::vector<unsigned> &sources,
                  const std::vector<unsigned> &post) {
    auto [it, isNew] = known.try_emplace(sources);
    if (isNew)
      it->second = distances(topology, timing, sources);
    double most = 0;
    for (unsigned rank : post)
      most = std::max(most, it->second[rank]);
    return most;
  }

private:
  const Topology &topology;
  const Timing &timing;
  std::map<std::vector<unsigned>, std::vector<double>> known;
};
} // namespace

/// Of programs whose hops take `flagTime` beside a transfer.
static TimeBound::Kind boundOfKind(const Topology &topology,
                                   const Collective &collective,
                                   const Timing &timing, double flagTime,
                                   double perByte) {
  TimeBound::Kind bound;
  bound.perByte = perByte;
  // Before the first byte of what is busy, and after the last one.
  if (!timing.latencies.empty())
    bound.leastLatency = timing.startTime +
                         *std::ranges::min_element(timing.latencies) + flagTime;
  const Timing hops = timing.withHops(flagTime + timing.leastTime());
  Latencies latencies(topology, hops);
  forEachRoute(collective, [&](const std::vector<unsigned> &origins,
                               const std::vector<unsigned> &destinations) {
    bound.latency =
        std::max(bound.latency, latencies.farthest(origins, destinations));
  });
  return bound;
}

TimeBound sccl::timeBound(const Topology &topology,
                          const Collective &collective, const Timing &timing,
                          const std::optional<Rational> &throughput,
                          double roundTime) {
  double perByte = throughput ? throughput->toDouble() * roundTime : 0;
  TimeBound bound;
  bound.launch = timing.launchTime;
  bound.flags =
      boundOfKind(topology, collective, timing, timing.flagTime(), perByte);
  if (timing.flagTime() > 0) {
    bound.words = boundOfKind(topology, collective, timing, 0, 2 * perByte);
    bound.words->delivery = timing.leastTime();
  }
  return bound;
}

TimeBound sccl::machineTimeBound(const Fabric &fabric,
                                 const Collective &collective,
                                 std::optional<Rational> throughput,
                                 const SearchLimits &limits) {
  const Fabric &own = fabric.forBounds();
  if (identityOf(own.topology) != identityOf(fabric.topology)) {
    throughput.reset();
    if (auto bound = throughputBound(own.topology, collective, {limits}))
      throughput = bound->value;
  }
  return timeBound(own.topology, collective, own.timing, throughput,
                   own.unitTime);
}
