//===- NcclSystem.h - The machine that a log of NCCL has --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_IMPORT_NCCLSYSTEM_H
#define SCCL_LIB_IMPORT_NCCLSYSTEM_H

#include "NcclLog.h"

#include "sccl/Import/Import.h"

#include <set>

namespace sccl::import {

/// What one process found: a host, or the hosts of an NVLink domain.
struct NcclSystem {
  Reading reading;
  std::set<unsigned> ranks; ///< of the GPUs, where the log has them
};

/// Reads the lines between "=== System" and "=====".
Result<NcclSystem> readNcclSystem(const ImportFile &file,
                                  const std::vector<LogLine> &lines);

} // namespace sccl::import

#endif // SCCL_LIB_IMPORT_NCCLSYSTEM_H
