//===- Routes.h - Which way data goes in a machine --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MACHINE_ROUTES_H
#define SCCL_LIB_MACHINE_ROUTES_H

#include "sccl/Machine/Machine.h"

namespace sccl {

/// The part of a route's traffic that an edge carries.
struct Share {
  unsigned edge;
  Rational part;
};

/// How one rank reaches another, through no third.
struct Route {
  unsigned src, dst; ///< ranks
  std::vector<Share> shares;
  std::vector<unsigned> path; ///< edges of one of the ways, in order
};

/// The routes that become links, by source and then by destination; with
/// `withMemories`, ranks are `gpusAndMemories()`. Fails if there are more than
/// a topology may have.
Result<std::vector<Route>> findRoutes(const Machine &machine,
                                      bool withMemories = false);

/// A line for each group of switches that became one, and of these the lines
/// for GPUs that are not wired alike.
struct MergeNotes {
  std::vector<std::string> all, uneven;
};

/// `machine` with switches that join the same GPUs as one.
Machine mergeParallelSwitches(const Machine &machine, MergeNotes &notes);

} // namespace sccl

#endif // SCCL_LIB_MACHINE_ROUTES_H
