//===- Scaling.cpp - The same problem in smaller numbers ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Scaling.h"

#include "sccl/Model/CollectiveFamily.h"

#include <numeric>

using namespace sccl;

unsigned sccl::commonBandwidth(const Topology &topology) {
  unsigned common = 0;
  for (const BandwidthLimit &limit : topology.limits())
    common = std::gcd(common, limit.bandwidth);
  return common == 0 ? 1 : common;
}

Topology sccl::dividedBy(const Topology &topology, unsigned divisor) {
  if (divisor == 1)
    return topology;
  Topology result(topology.name(), topology.numRanks());
  // What the given one accepted is accepted again.
  for (const Link &link : topology.links())
    (void)result.addLink(link.src, link.dst);
  for (const BandwidthLimit &limit : topology.limits())
    (void)result.addLimit(limit.links, limit.bandwidth / divisor);
  return result;
}

Schedule sccl::cutChunks(const Schedule &schedule, unsigned pieces,
                         unsigned roundsFactor) {
  if (pieces == 1 && roundsFactor == 1)
    return schedule;
  Schedule result;
  result.period = schedule.period * roundsFactor;
  for (const Step &step : schedule.steps) {
    Step &copy = result.steps.emplace_back();
    copy.rounds = step.rounds * roundsFactor;
    copy.sends.reserve(step.sends.size() * pieces);
    for (Send send : step.sends) {
      unsigned first = send.chunk * pieces;
      for (unsigned piece = 0; piece < pieces; ++piece) {
        send.chunk = first + piece;
        copy.sends.push_back(send);
      }
    }
  }
  result.normalize();
  return result;
}

Result<Implementation> sccl::withChunks(const Implementation &implementation,
                                        uint64_t chunks) {
  const auto &[collective, schedule] = implementation;
  uint64_t factor = chunks / collective.chunks();
  if (chunks % collective.chunks() != 0)
    return Error{"C of " + std::to_string(chunks) + " is not a multiple of " +
                 std::to_string(collective.chunks())};
  if (chunks > UINT32_MAX || factor * schedule.numSends() > Schedule::maxSends)
    return Error{"C of " + std::to_string(chunks) + " needs more than " +
                 std::to_string(Schedule::maxSends) + " sends"};
  Result<Collective> scaled =
      CollectiveFamily::of(collective)
          .make(collective.numRanks(), unsigned(chunks));
  if (!scaled)
    return Error{scaled.error()};
  return Implementation{
      std::move(*scaled),
      cutChunks(schedule, unsigned(factor), unsigned(factor))};
}
