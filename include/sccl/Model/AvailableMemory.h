//===- AvailableMemory.h - How much memory may be taken ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linux grants more memory than there is, and then kills processes, maybe
// those of others. So whoever takes much of it has to ask before.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_AVAILABLEMEMORY_H
#define SCCL_MODEL_AVAILABLEMEMORY_H

#include <cstdint>
#include <string>

namespace sccl {

/// Bytes that this process can take: what the machine has, or less if a control
/// group that the process is in has a limit. A part is held back, because these
/// are estimates. UINT64_MAX if the system does not say. `root` comes before
/// /proc and /sys, for tests.
uint64_t availableMemory(const std::string &root = "");

} // namespace sccl

#endif // SCCL_MODEL_AVAILABLEMEMORY_H
