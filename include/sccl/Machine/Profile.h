//===- Profile.h - Measured numbers in a machine ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers of a machine are what data sheets say. What a send over a link
// really takes is measured link by link, and has to be given to the edges of
// its route. Edges of one kind with the same numbers are alike, and links whose
// routes cross the same edges, up to such likeness, are of one class: one link
// of each class is measured.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MACHINE_PROFILE_H
#define SCCL_MACHINE_PROFILE_H

#include "sccl/Machine/Derivation.h"

namespace sccl {

/// Links whose routes are alike.
struct LinkClass {
  std::string name; ///< kinds of edges along the route, "PCIe5 + IB + PCIe5"
  unsigned link;    ///< of the topology, the first of the class
  unsigned count;   ///< links in it
};

/// The classes of all links, in the order of their first links.
std::vector<LinkClass> classifyLinks(const Derivation &derivation);

/// What one link does while all others are idle.
struct LinkMeasurement {
  unsigned link;    ///< of the topology
  double latency;   ///< microseconds until the first byte is there
  double bandwidth; ///< GB/s
};

/// `derivation.routed` with the numbers of `measurements`, for each edge like
/// one that a measured link's route crosses. The bandwidth goes to the
/// narrowest edges of the route: as much more or less as the link did better or
/// worse than its limits say; where several links tell of one edge, the best
/// counts. The latency is shared by the edges that no shorter route has told
/// of, in proportion to what the machine says, or evenly where it says nothing.
/// Both are rounded to 1/1000, or to four digits, of which
/// six decimals at most, if they are less than 1. `source` is said
/// of each number. Fails on an unknown link, or a number that is not positive
/// (a latency may be 0) or over `Machine::maxQuantity`.
Result<Machine>
withMeasurements(const Derivation &derivation,
                 const std::vector<LinkMeasurement> &measurements,
                 const std::string &source);

/// `ranks` ranks of one host, each joined to the memory they share by edges of
/// kind "memory". Its bandwidths stand for numbers that nobody knows yet. Fails
/// on fewer than 2 ranks, or more than `Topology::maxRanks`.
Result<Machine> makeHostMachine(unsigned ranks);

} // namespace sccl

#endif // SCCL_MACHINE_PROFILE_H
