//===- Derivation.h - From a machine to a topology --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Solvers take the paper's relation: links between ranks, and limits on sets of
// links in chunks per round. Here it is derived from what the hardware is.
//
// Routes. A logical link i -> j is a path from GPU i to GPU j through no other
// GPU. Which pairs get one is decided in three classes:
//   1. fabric: NVLink, xGMI and the like, through switches;
//   2. host: also PCIe and bridges, for pairs that class 1 does not connect;
//   3. network: from a GPU to the NICs nearest to it, through switches, to the
//      NICs nearest to another GPU, for pairs not connected so far.
// "Connect" is over any number of links, so that PCIe beside a working NVLink
// is left out. With `everyWire` it is not: memories of hosts become ranks that
// store what passes, with routes of class 2 from and to each GPU; and where two
// GPUs alone share a switch of PCIe, their link may pass that in addition.
// Within a class a route crosses as few bridges as possible, then has the least
// sum of 1/bandwidth, then of edges; equal routes share the traffic evenly, hop
// by hop.
//
// Limits. Each edge bounds all links whose routes use it; an edge that carries
// the same links as another one only counts if it is the narrower. A link of
// which an edge carries the k-th part uses 1/k of it.
//
// Quantum. One chunk per round is q GB/s, q the largest number of which every
// limit is a multiple; or one given; or, if the numbers get too large, one that
// they are near to, and the error is said. Times, and bounds on them, are of
// the machine's own rates all the same: see BoundTopology.h.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MACHINE_DERIVATION_H
#define SCCL_MACHINE_DERIVATION_H

#include "sccl/Machine/Machine.h"
#include "sccl/Model/RankGroups.h"
#include "sccl/Model/Topology.h"

namespace sccl {

struct DerivationOptions {
  /// GB/s that one chunk per round is to be.
  std::optional<Rational> quantum;
  /// The largest relative error of a bandwidth, for smaller numbers. With 0,
  /// the default, numbers are exact, or within `fallbackTolerance` if that
  /// would take bandwidths over `maxUnits`.
  Rational tolerance = 0;
  /// The groups that take part; none means all ranks. Links of other ranks are
  /// left out where an edge would carry less of those between members for them.
  RankGroups groups = {};
  /// Let switches multicast and reduce where the machine says that they do.
  bool inNetwork = false;
  /// Then with `Switch::ownCopies`.
  bool ownCopies = false;
  /// Use PCIe beside a working NVLink, and the memories of hosts.
  bool everyWire = false;
  static constexpr unsigned maxUnits = 1024;
  static constexpr Rational fallbackTolerance = Rational(1, 100);
};

/// A topology, and what it stands for.
struct Derivation {
  Topology topology;
  /// GB/s that one chunk per round is.
  Rational quantum;
  /// The largest |q * limit - bandwidth| / bandwidth; 0 if all are exact.
  Rational error;
  /// The machine that routes are about: switches in parallel have become one.
  Machine routed;
  /// For each link of the topology, edges of `routed` from GPU to GPU; one of
  /// the routes if there are several.
  std::vector<std::vector<unsigned>> routes;
  /// What a reader has to know: merged switches, approximations.
  std::vector<std::string> notes;
  /// Those of `notes` that say where the topology is not the machine: its R/C,
  /// and bounds on it, are not the machine's.
  std::vector<std::string> deviations = {};
  /// GB/s of each limit, not rounded: what schedules may rely on.
  std::vector<Rational> rates = {};
  /// For each edge of `routed`, whether a route takes it.
  std::vector<bool> isUsed = {};
  /// The ranks that are memories, after all GPUs. They take no part in
  /// collectives, pass on what they get, and reduce nothing.
  std::vector<unsigned> memories = {};
};

/// The topology of `machine`, with its name and a rank for each GPU. Fails if
/// there are fewer than 2 GPUs, if some rank cannot reach another one, if a
/// quantum is given of which the bandwidths are not multiples within the
/// tolerance, or if the topology would exceed its limits.
Result<Derivation> deriveTopology(const Machine &machine,
                                  const DerivationOptions &options = {});

} // namespace sccl

#endif // SCCL_MACHINE_DERIVATION_H
