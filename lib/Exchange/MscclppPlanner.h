//===- MscclppPlanner.h - From steps of MSCCL to operations -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_MSCCLPPPLANNER_H
#define SCCL_LIB_EXCHANGE_MSCCLPPPLANNER_H

#include "CallLayout.h"

#include "sccl/Exchange/Mscclpp.h"

namespace sccl::exchange {

/// How steps become operations. What is cheaper may race in some algorithms.
struct MscclppManner {
  bool usesLL;
  /// What is put waits in scratch memory until its receiver copies it to where
  /// it belongs.
  bool stages;
  bool tellsBegin; ///< receivers tell senders that they have begun
  bool flushes;    ///< each put through a port is waited for
};

/// A block for each block of `algorithm`, which must be one that `checkMsccl`
/// accepts but for its limits; without names and sizes, and not checked.
MscclppPlan planMscclpp(const MscclAlgorithm &algorithm, const Call &call,
                        unsigned ranksPerBox, const MscclppManner &manner);

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_MSCCLPPPLANNER_H
