//===- HostTarget.h - What this machine's CPU runs --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_HOSTTARGET_H
#define SCCL_MODEL_HOSTTARGET_H

namespace sccl {

/// The best of the targets for CPUs that this one runs code for.
inline const char *hostTarget() {
  return __builtin_cpu_supports("x86-64-v3") ? "x86-64-v3" : "x86-64";
}

} // namespace sccl

#endif // SCCL_MODEL_HOSTTARGET_H
