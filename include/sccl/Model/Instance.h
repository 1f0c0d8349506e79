//===- Instance.h - One synthesis problem -----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_INSTANCE_H
#define SCCL_MODEL_INSTANCE_H

#include "sccl/Model/Collective.h"
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

  /// Largest S and R accepted.
  static constexpr unsigned maxRounds = 1u << 20;

  /// Checks what no solver needs to be asked: equal numbers of ranks, at least
  /// one step, rounds >= steps, and a path for every chunk to every rank that
  /// must get it.
  static Result<Instance> make(Topology topology, Collective collective,
                               unsigned steps, unsigned rounds);
};

} // namespace sccl

#endif // SCCL_MODEL_INSTANCE_H
