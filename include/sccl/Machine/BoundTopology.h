//===- BoundTopology.h - What a machine lets pass at most -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A derived topology is what schedules may rely on: its bandwidths are rounded,
// its traffic is split evenly over equal routes, and an edge that carries
// different parts of links counts the largest part for all. Bounds need the
// reverse. The topology here allows all that the machine does: whatever way the
// bytes of a transfer take from GPU to GPU through no third GPU, and however
// they are split over ways, at the rates of the machine.
//
// Edges. Open to transfers are all edges of fabrics and networks, and of those
// of the host (PCIe, links between CPUs) the ones that routes of the derived
// topology use. PCIe beside a working NVLink stays out, as it does there.
//
// Links. A pair of GPUs is a link if open edges lead from one to the other.
//
// Limits. An edge that all ways of a link take carries all of its bytes, so
// that it limits all such links together. Where ways part, the maximum flow
// from a set of GPUs to another one limits the links between them: for the ends
// of the links of each limit of the derived topology, and for all that leaves,
// or gets to, a GPU. Switches copy and reduce as those of the derived
// topology do.
//
// Where nothing was rounded and no ways part, this is the derived topology.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MACHINE_BOUNDTOPOLOGY_H
#define SCCL_MACHINE_BOUNDTOPOLOGY_H

#include "sccl/Machine/Derivation.h"

namespace sccl {

/// A topology whose certified bounds hold for the machine.
struct BoundTopology {
  /// No limit is below the machine's, and none above it by more than
  /// 1 / 2^19 of the widest.
  Topology topology;
  /// GB/s that one chunk per round is.
  Rational quantum;
  /// GB/s of each limit, exact but where flows needed rounding up.
  std::vector<Rational> rates;
  /// For each edge of `Derivation::routed`, whether transfers may take it.
  std::vector<bool> isOpen;
  /// Whether edges that are not open join GPUs, too.
  bool leavesOutHost = false;
};

/// What the machine of `derivation` lets pass. Fails if more pairs of GPUs are
/// joined than a topology may have links.
Result<BoundTopology> boundTopology(const Derivation &derivation);

} // namespace sccl

#endif // SCCL_MACHINE_BOUNDTOPOLOGY_H
