//===- OrderCheck.h - Schedules that follow a tree of additions -*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule can add up by a tree if each sum that a rank sends or ends with is
// a node of the tree. What arrives may wait until then: so a rank may hold
// parts that make no node yet.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_ORDERCHECK_H
#define SCCL_MODEL_ORDERCHECK_H

#include "sccl/Model/Schedule.h"
#include "sccl/Model/SumTree.h"

#include <optional>

namespace sccl {

/// Why `schedule`, which checkSchedule() accepts for `collective`, cannot add
/// up in `order`: the first sum, of the lowest chunk, that is no node of the
/// tree for the ranks that contribute to it, or that there is no such tree.
/// Nothing if it can, if nothing is reduced, or if `order` asks for no tree.
std::optional<Error> checkOrder(const Collective &collective,
                                const Schedule &schedule,
                                const SumOrder &order);

/// That `order`, which asks for a tree, has none for the ranks that contribute
/// to some chunk of `collective`. Nothing if it has, or if nothing is reduced.
std::optional<Error> checkTrees(const Collective &collective,
                                const SumOrder &order);

} // namespace sccl

#endif // SCCL_MODEL_ORDERCHECK_H
