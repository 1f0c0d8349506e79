//===- SizedTime.h - What a launch of some size takes -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_SIZEDTIME_H
#define SCCL_MODEL_SIZEDTIME_H

#include <cstdint>

namespace sccl {

/// What a launch of so many bytes of a send buffer takes, and what no program
/// takes less than; 0 if that is not known.
struct SizedTime {
  uint64_t bytes = 0, nanoseconds = 0, bound = 0;
  bool operator==(const SizedTime &) const = default;
};

} // namespace sccl

#endif // SCCL_MODEL_SIZEDTIME_H
