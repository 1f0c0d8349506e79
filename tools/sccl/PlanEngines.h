//===- PlanEngines.h - What other engines take ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_PLANENGINES_H
#define SCCL_TOOLS_SCCL_PLANENGINES_H

#include "AdviceReport.h"
#include "PlanFabric.h"

#include "sccl/Advice/Advice.h"
#include "sccl/Model/Baselines.h"
#include "sccl/Model/CollectiveFamily.h"
#include "sccl/Model/RankGroups.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sccl::driver {

/// Schedules of NCCL or another tool, by name.
using NamedBaselines = std::vector<std::pair<std::string, Implementation>>;

/// What --baselines asks for, on `topology`, whose ranks share `boxes`: none
/// without it; rings and trees that fit, where stderr names those that do not;
/// or those of a file. Prints an error and returns nothing if a file has none.
std::optional<NamedBaselines> makeBaselines(const Topology &topology,
                                            const RankGroups &boxes,
                                            const CollectiveFamily &family);

/// What those of `schedules` take whose ranks write to each other, for each of
/// `sizes`. Prints an error and returns nothing if one cannot be simulated.
std::optional<std::vector<Baseline>> simulateBaselines(
    mlir::MLIRContext &context, Fabric fabric, const NamedBaselines &schedules,
    const std::vector<uint64_t> &sizes, const std::vector<LoweringWay> &ways,
    const SearchLimits &limits);

/// Whether there is more to compare with than the intact machine.
bool hasMoreToCompare(const NamedBaselines &schedules);

/// What baselines take, and, with --engines, the schedules of `advice` in other
/// engines, for each of its sizes; no times of an engine for which `limits` do
/// not suffice. Prints an error and returns nothing if one cannot be simulated.
std::optional<std::vector<Baseline>>
timesToCompare(mlir::MLIRContext &context, const NamedFabric &named,
               const NamedBaselines &schedules, const Advice &advice,
               const std::vector<LoweringWay> &ways,
               const SearchLimits &limits);

/// How to get what the columns of engines among `engines` are of; a line for
/// each, and one for the advice.
std::vector<std::string> engineNotes(const NamedFabric &named,
                                     const std::vector<Baseline> &engines);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_PLANENGINES_H
