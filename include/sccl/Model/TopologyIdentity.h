//===- TopologyIdentity.h - When topologies are the same --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_TOPOLOGYIDENTITY_H
#define SCCL_MODEL_TOPOLOGYIDENTITY_H

#include "sccl/Model/Topology.h"

#include <utility>
#include <vector>

namespace sccl {

/// What a topology is, whatever its name and the order in which it was written
/// down. Two topologies are the same if and only if these are equal.
/// Certificates keep a hash of it, and plans another.
struct TopologyIdentity {
  using Link = std::pair<unsigned, unsigned>; ///< source and destination
  /// Links that share a limit, in ascending order, and their bandwidth.
  using Limit = std::pair<std::vector<Link>, unsigned>;

  unsigned numRanks = 0;
  std::vector<Link> links;      ///< in ascending order
  std::vector<Limit> limits;    ///< likewise
  std::vector<Switch> switches; ///< in ascending order of their ranks

  bool operator==(const TopologyIdentity &) const = default;
};

TopologyIdentity identityOf(const Topology &topology);

} // namespace sccl

#endif // SCCL_MODEL_TOPOLOGYIDENTITY_H
