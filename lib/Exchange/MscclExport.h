//===- MscclExport.h - From programs to algorithms of MSCCL -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_MSCCLEXPORT_H
#define SCCL_LIB_EXCHANGE_MSCCLEXPORT_H

#include "CallLayout.h"

#include "sccl/Exchange/Msccl.h"

namespace sccl::exchange {

/// What `program`, of a schedule of `collective` with or without pieces, does.
Call callOf(const Collective &collective, const Program &program, bool inPlace);

/// `program` as thread blocks of at most `stepsPerBlock` steps, for no engine:
/// without names, sizes of calls, or a look at limits.
MscclAlgorithm makeMsccl(const Collective &collective, const Program &program,
                         size_t stepsPerBlock);

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_MSCCLEXPORT_H
