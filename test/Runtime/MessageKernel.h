//===- MessageKernel.h - A kernel of a plan for messages --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_RUNTIME_MESSAGEKERNEL_H
#define SCCL_TEST_RUNTIME_MESSAGEKERNEL_H

#include "sccl/Plan/Plan.h"

#include <fstream>
#include <iterator>
#include <string>

namespace sccl {

/// The kernel for sums of f32 by sm_90 of the plan at `path`, which `plan`
/// becomes; null if it has none.
inline const plan::KernelInfo *readMessageKernel(const char *path,
                                                 plan::Plan &plan) {
  std::ifstream file(path, std::ios::binary);
  plan = *plan::readPlan(std::string(std::istreambuf_iterator<char>(file), {}));
  const plan::KernelInfo *kernel = nullptr;
  for (const plan::KernelInfo &each : plan.manifest.kernels)
    if (each.target == "mpi/sm_90" && each.element == "f32" &&
        each.reduction == "sum")
      kernel = &each;
  return kernel;
}

} // namespace sccl

#endif // SCCL_TEST_RUNTIME_MESSAGEKERNEL_H
