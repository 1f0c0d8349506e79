//===- PlanBaselines.h - What sccl plan compares with -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_PLANBASELINES_H
#define SCCL_TOOLS_SCCL_PLANBASELINES_H

#include "AdviceReport.h"

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

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_PLANBASELINES_H
