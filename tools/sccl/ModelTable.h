//===- ModelTable.h - sccl simulate --model ---------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_MODELTABLE_H
#define SCCL_TOOLS_SCCL_MODELTABLE_H

#include "Driver.h"

namespace sccl::driver {

struct ModelTableRequest {
  std::vector<std::string> inputs;
  /// Of the options; without them that of the first file, or the usual one.
  std::optional<CostModel> model;
  std::vector<uint64_t> sizes;
  unsigned pieces; ///< of a chunk of pipelined schedules, at most
  bool json;
};
/// Compares schedules by S * alpha + (R/C) * L * beta.
int printModelTable(const ModelTableRequest &request);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_MODELTABLE_H
