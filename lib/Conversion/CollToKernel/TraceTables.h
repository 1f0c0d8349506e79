//===- TraceTables.h - What traced code tells, as data ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COLLTOKERNEL_TRACETABLES_H
#define SCCL_LIB_CONVERSION_COLLTOKERNEL_TRACETABLES_H

#include "sccl/ABI/TraceMark.h"
#include "sccl/Dialect/CollKernel/CollKernelOps.h"

#include <string>
#include <vector>

namespace sccl::collk {

/// What `op` says, in a program with `chunks` chunks in a segment. Its flag is
/// a `collk.flag` of constants.
TraceMark traceMarkOf(MarkOp op, uint32_t chunks);

/// By rank, the bytes of the table of TraceTable.h. Empty if no kernel for
/// thread blocks has marks.
std::vector<std::string> traceTables(ProgramOp program);

} // namespace sccl::collk

#endif // SCCL_LIB_CONVERSION_COLLTOKERNEL_TRACETABLES_H
