//===- Plan.h - Plans for GPUs that the fake drivers run --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_RUNTIME_FAKE_PLAN_H
#define SCCL_TEST_RUNTIME_FAKE_PLAN_H

#include "sccl/ABI/MessageTable.h"
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

/// Gives code for the host the tables of code for GPUs that is beside it, and
/// removes that.
inline void takeTables(sccl::plan::Manifest &manifest) {
  using sccl::plan::KernelInfo;
  auto isOfGPU = [](const KernelInfo &kernel) {
    return kernel.format != "elf";
  };
  for (KernelInfo &kernel : manifest.kernels)
    for (const KernelInfo &other : manifest.kernels)
      if (isOfGPU(other) && !isOfGPU(kernel) &&
          other.program == kernel.program && other.element == kernel.element &&
          other.reduction == kernel.reduction)
        kernel.rankTables = other.rankTables;
  std::erase_if(manifest.kernels, isOfGPU);
}

/// A plan for the host that says it is one for a GPU, with virtual kernels or
/// without; if it is traced, one that is for a GPU as well. Empty if `bytes` is
/// no plan.
inline std::string asGPUPlan(llvm::StringRef bytes, bool isCUDA,
                             bool isVirtual) {
  auto read = sccl::plan::readPlan(bytes);
  if (!read)
    return "";
  sccl::plan::Plan &changed = *read;
  takeTables(changed.manifest);
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

/// A plan for ranks that exchange messages, with its code for the host once
/// more, as code for messages on a GPU. Empty if `bytes` is no plan.
inline std::string withMessageCode(llvm::StringRef bytes, bool isCUDA) {
  auto read = sccl::plan::readPlan(bytes);
  if (!read)
    return "";
  std::vector<sccl::plan::KernelInfo> &kernels = read->manifest.kernels;
  for (size_t i = 0, count = kernels.size(); i < count; ++i) {
    sccl::plan::KernelInfo kernel = kernels[i];
    if (kernel.target != sccl::messageTarget)
      continue;
    kernel.target =
        std::string(sccl::messageChipPrefix) + (isCUDA ? "sm_90" : "gfx942");
    kernel.format = isCUDA ? "cubin" : "hsaco";
    kernels.push_back(kernel);
  }
  auto written = sccl::plan::serialize(*read);
  return written ? *written : "";
}

} // namespace fake

#endif // SCCL_TEST_RUNTIME_FAKE_PLAN_H
