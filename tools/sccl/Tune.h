//===- Tune.h - sccl bench --tune -------------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_TUNE_H
#define SCCL_TOOLS_SCCL_TUNE_H

#include "DeviceFlags.h"
#include "Plans.h"

namespace sccl::driver {

struct TuneRequest {
  const LoadedPlan &plan;
  std::vector<uint64_t> sizes; ///< of a send buffer
  RanksAs kind;
  Element element;
  Reduction reduction;
  unsigned batches;
  double timeout; ///< seconds for one launch
  const DeviceFlags &device;
  std::string output;
};
/// Finds the fastest program of a plan for each size, and writes a plan that
/// takes them.
int tunePlan(TuneRequest request);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_TUNE_H
