//===- Instance.h - One synthesis problem -----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_INSTANCE_H
#define SCCL_MODEL_INSTANCE_H

#include "sccl/Model/Collective.h"
#include "sccl/Model/SumTree.h"
#include "sccl/Model/Topology.h"

namespace sccl {

/// The question "is there a schedule of `collective` on `topology` with exactly
/// `steps` steps and `rounds` rounds in all?", the synthesis problem of the
/// SCCL paper, section 3.4.
struct Instance {
  Topology topology;
  Collective collective;
  unsigned steps;
  unsigned rounds;
  /// Of additions. Where it is a tree, each value that is sent or that a rank
  /// ends with must be the sum of a node (see checkOrder); any and same are
  /// left to programs.
  SumOrder order = {};

  /// Whether the order of additions is a given tree.
  bool hasOrder() const { return order.isTree() && collective.combining(); }

  /// Largest S and R accepted.
  static constexpr unsigned maxRounds = 1u << 20;

  /// Checks what no solver needs to be asked: equal numbers of ranks, at least
  /// one step, rounds >= steps, a path for every chunk to every rank that must
  /// get it, and a tree of `order` for all that contribute.
  static Result<Instance> make(Topology topology, Collective collective,
                               unsigned steps, unsigned rounds,
                               SumOrder order = {});
};

} // namespace sccl

#endif // SCCL_MODEL_INSTANCE_H
