//===- PlanFiles.h - The schedules that sccl plan writes --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_PLANFILES_H
#define SCCL_TOOLS_SCCL_PLANFILES_H

#include "sccl/Advice/Advice.h"

namespace sccl::driver {

/// True with --spares.
bool writesSpares();

/// Writes the schedules that are best for some size into `directory`, and spare
/// ones if `writesSpares`, with their certificates and those sizes. Prints an
/// error and returns false if it cannot.
bool writeSchedules(llvm::StringRef directory, const Topology &topology,
                    const RankGroups &boxes, const Advice &advice);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_PLANFILES_H
