//===- ByRelay.h - Part of all chunks by way of relays ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Relays are ranks that take no part, such as the memory of a host. The same
// part of what each rank sends goes to a relay and from there to all that want
// it, and the rest goes straight to them. Programs over all trees know that
// too, but find mixtures of many trees, whose shares have large denominators.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_PIPELINED_BYRELAY_H
#define SCCL_LIB_SOLVER_PIPELINED_BYRELAY_H

#include "sccl/Model/CollectiveFamily.h"
#include "sccl/Model/Inversion.h"
#include "sccl/Model/Topology.h"

#include <optional>

namespace sccl::pipelined {

/// The pipelined schedule of this kind with the least load, for a collective
/// that does not combine; `smallest` is that of `family` with the least C. All
/// relays that have links from all and to all that need them get as much.
/// Nothing if there are none, or the schedule would have too many sends.
std::optional<Implementation> throughRelays(const Topology &topology,
                                            const CollectiveFamily &family,
                                            const Collective &smallest);

} // namespace sccl::pipelined

#endif // SCCL_LIB_SOLVER_PIPELINED_BYRELAY_H
