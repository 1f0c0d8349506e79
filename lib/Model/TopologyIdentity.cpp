//===- TopologyIdentity.cpp - When topologies are the same ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/TopologyIdentity.h"

#include <algorithm>

using namespace sccl;

/// Most topologies are made in order, and some have millions of links.
template <typename Value> static void sortIfNeeded(std::vector<Value> &values) {
  if (!std::is_sorted(values.begin(), values.end()))
    std::sort(values.begin(), values.end());
}

TopologyIdentity sccl::identityOf(const Topology &topology) {
  TopologyIdentity identity;
  identity.numRanks = topology.numRanks();
  for (const Link &link : topology.links())
    identity.links.emplace_back(link.src, link.dst);
  for (const BandwidthLimit &limit : topology.limits()) {
    std::vector<TopologyIdentity::Link> set;
    for (unsigned link : limit.links)
      set.push_back(identity.links[link]);
    sortIfNeeded(set);
    identity.limits.emplace_back(std::move(set), limit.bandwidth);
  }
  sortIfNeeded(identity.links);
  std::sort(identity.limits.begin(), identity.limits.end());
  identity.switches = topology.switches();
  std::ranges::sort(identity.switches, {}, &Switch::ranks);
  return identity;
}
