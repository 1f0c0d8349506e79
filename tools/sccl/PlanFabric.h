//===- PlanFabric.h - What sccl plan plans for ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_PLANFABRIC_H
#define SCCL_TOOLS_SCCL_PLANFABRIC_H

#include "sccl/Advice/MachineTiming.h"
#include "sccl/Machine/Machine.h"
#include "sccl/Model/CollectiveFamily.h"

namespace sccl {
struct Advice;
} // namespace sccl

namespace sccl::driver {

/// A fabric, and what to say of it.
struct NamedFabric {
  Fabric fabric;
  std::vector<std::string> assumptions;
  RankGroups boxes; ///< the ranks of each
  /// Where the topology is not the machine.
  std::vector<std::string> notes = {};
  std::string bounded = "";           ///< programs that bounds hold for
  std::vector<std::string> gpus = {}; ///< names, by rank
  std::string chip = {};              ///< of rank 0; empty if not known
};

/// Has ranks of different boxes exchange messages, and says so.
void takeMessages(NamedFabric &named);

/// `family`, of the ranks of `left`, among the same GPUs of `intact`. Nothing
/// if GPUs are lost and the collective is defined for as many ranks as are
/// left.
std::optional<CollectiveFamily> amongAll(const CollectiveFamily &family,
                                         const NamedFabric &left,
                                         const NamedFabric &intact);

/// The kinds of edges as --latency names them, without numbers at their ends.
std::string kindsOf(const Machine &machine);

/// True if `intact` has a topology. Else says why nothing is compared with it:
/// a GPU that it does not reach may be what is left out.
bool canCompareWith(const Machine &intact);

/// The intact machine has all links that are left: whatever was found for
/// these, it is no slower.
void limitBy(const Advice &left, Advice &intact);

/// What the columns of the intact machine are of, if some GPUs are lost.
std::string comparisonText(const NamedFabric &left, const NamedFabric &intact,
                           bool isCompared);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_PLANFABRIC_H
