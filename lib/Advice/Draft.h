//===- Draft.h - What a program will send, before there is one --*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// To lower a schedule takes many times as long as to simulate the program that
// it becomes. A draft is what that program sends, from the schedule itself: the
// same channels, transfers in the same order, reductions, copies from scratch,
// and flags for each group of transfers that share them. It knows no ops and no
// slots, joins the transfers of a group, and leaves in waits that are
// redundant, so it has fewer events, and in nearly all cases the time of the
// program. It says which programs are worth lowering; what `advise` returns is
// simulated.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ADVICE_DRAFT_H
#define SCCL_LIB_ADVICE_DRAFT_H

#include "sccl/Model/Composition.h"
#include "sccl/Options/LoweringOptions.h"
#include "sccl/Simulate/Simulator.h"

namespace sccl::advice {

/// Nearly what a program for `implementation`, step by step, does on
/// `topology`, if it pushes all and is lowered with `options`, of which
/// `throughScratch`, `doubleBuffer`, `ll`, `blocksPerLink` and `smBudget`
/// count, and with `timing` for a clock. Chunks have one byte. All sends must
/// be over links of the topology.
Traffic draftTraffic(const Topology &topology, const Timing &timing,
                     const Implementation &implementation,
                     const LoweringOptions &options);

} // namespace sccl::advice

#endif // SCCL_LIB_ADVICE_DRAFT_H
