//===- Inversion.h - Schedules turned round ---------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turned round in time and space, a tree that spreads a chunk becomes a tree
// that reduces it: an all_gather becomes a reduce_scatter, as in the SCCL
// paper.
//
// All functions expect schedules that `checkSchedule` accepts, and then return
// such schedules. Given others they return an error or a schedule that the
// checker rejects.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_INVERSION_H
#define SCCL_MODEL_INVERSION_H

#include "sccl/Model/Schedule.h"

namespace sccl {

/// A collective and a schedule for it, on a topology known to the caller.
struct Implementation {
  Collective collective;
  Schedule schedule;
};

/// The collective that inverted schedules of `collective` implement:
///   all_gather with C chunks   <-> reduce_scatter with C * ranks chunks
///   broadcast                  <-> reduce, same C and root
///   gather with C chunks       <-> scatter with C * ranks chunks, same root
///   all_to_all                 <-> all_to_all, sources and destinations
///   swapped
/// Chunks keep their numbers, except in all_to_all, where chunk j from s to d
/// becomes chunk j from d to s. In groups of equal size this holds for each
/// group, but for all_to_all. A user-defined collective is inverted by
/// swapping pre- and postcondition, and so are other groups; the result
/// combines if some chunk went to several ranks. Fails if a chunk has several
/// sources and is not combined, or is combined and has several destinations, as
/// in all_reduce.
Result<Collective> inverseOf(const Collective &collective);

/// Inverts an implementation on a topology T. The result is one of `inverseOf`
/// the collective on `T.reversed()`, with the same rounds in reverse order.
/// Sends that serve nobody are left out.
Result<Implementation> invert(const Implementation &implementation);

} // namespace sccl

#endif // SCCL_MODEL_INVERSION_H
