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

namespace sccl::driver {

/// With --engines, what the schedules of `advice` take in engines that exchange
/// messages, for each of its sizes: where GPUs of a box write to each other,
/// unless the advice is of that, and where all goes by groups of a library.
/// Nothing without the option. Fails where `timesByMessages` does.
Result<std::vector<Baseline>> engineTimes(mlir::MLIRContext &context,
                                          const NamedFabric &named,
                                          const Advice &advice,
                                          const LoweringWay &way,
                                          const SearchLimits &limits);

/// How to get what the columns of engines among `engines` are of; a line for
/// each, and one for the advice.
std::vector<std::string> engineNotes(const NamedFabric &named,
                                     const std::vector<Baseline> &engines);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_PLANENGINES_H
