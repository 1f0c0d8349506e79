//===- Rows.h - Rows of tables on GPUs --------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_BENCH_GPU_ROWS_H
#define SCCL_TOOLS_SCCL_BENCH_GPU_ROWS_H

#include <cstdint>
#include <string>
#include <vector>

namespace sccl::gpubench {

struct RowsRequest {
  std::string device = "cuda"; ///< or "hip"
  unsigned gpus = 1;           ///< rank r gets r modulo this
  double seconds = 200;      ///< plans that are not begun by then are left out
  double launchSeconds = 20; ///< a launch without progress is given up
  uint64_t mostBytes = 64 << 20; ///< the largest size
  std::vector<std::string> plans;
};

/// Executes every plan with ranks as threads for 0 to `mostBytes`, in place and
/// not, and compares all outputs with the definition. Prints a line for each.
/// Returns 0 if all that ran was right, and something ran.
int runRows(const RowsRequest &request);

} // namespace sccl::gpubench

#endif // SCCL_TOOLS_SCCL_BENCH_GPU_ROWS_H
