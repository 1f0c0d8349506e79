//===- MscclExport.h - From schedules to algorithms of MSCCL ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_MSCCLEXPORT_H
#define SCCL_LIB_EXCHANGE_MSCCLEXPORT_H

#include "sccl/Exchange/Msccl.h"

namespace sccl::exchange {

/// `schedule` as thread blocks of at most `stepsPerBlock` steps, for no engine:
/// without names, sizes of calls, or a look at limits.
MscclAlgorithm makeMsccl(const Collective &collective, const Schedule &schedule,
                         size_t stepsPerBlock);

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_MSCCLEXPORT_H
