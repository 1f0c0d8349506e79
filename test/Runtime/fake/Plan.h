//===- Plan.h - Plans for GPUs that the fake drivers run --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_RUNTIME_FAKE_PLAN_H
#define SCCL_TEST_RUNTIME_FAKE_PLAN_H

#include "sccl/Plan/Plan.h"

namespace fake {

/// The name by which the fake drivers make a kernel of all ranks.
inline std::string virtualSymbolOf(const sccl::plan::KernelInfo &kernel,
                                   unsigned ranks) {
  llvm::StringRef symbol = kernel.symbols.front();
  bool isOfOneRank = symbol.consume_back("_rank0");
  std::string name = symbol.str() + sccl::virtualSuffix;
  return isOfOneRank ? name : name + std::to_string(ranks);
}

/// A plan for the host that says it is one for a GPU, with virtual kernels or
/// without. Empty if `bytes` is no plan.
inline std::string asGPUPlan(llvm::StringRef bytes, bool isCUDA,
                             bool isVirtual) {
  auto read = sccl::plan::readPlan(bytes);
  if (!read)
    return "";
  sccl::plan::Plan &changed = *read;
  for (sccl::plan::KernelInfo &kernel : changed.manifest.kernels) {
    kernel.target = isCUDA ? "sm_90" : "gfx942";
    kernel.format = isCUDA ? "cubin" : "hsaco";
    // Functions of steps have other names, and wait for nobody.
    bool isWhole = changed.manifest.programs[kernel.program].steps == 0;
    if (isVirtual && isWhole)
      kernel.virtualSymbol = virtualSymbolOf(kernel, changed.manifest.ranks);
  }
  auto written = sccl::plan::serialize(changed);
  return written ? *written : "";
}

} // namespace fake

#endif // SCCL_TEST_RUNTIME_FAKE_PLAN_H
