//===- MscclppCheck.h - A plan of MSCCL++ that is right ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_MSCCLPPCHECK_H
#define SCCL_LIB_EXCHANGE_MSCCLPPCHECK_H

#include "CallLayout.h"

#include "sccl/Exchange/Mscclpp.h"

namespace sccl::exchange {

/// What `checkMscclpp` has found, and the call that it has run.
struct MscclppChecked {
  MscclppVerdict verdict;
  CheckedCall call;
};
std::optional<MscclppChecked> runMscclpp(const MscclppPlan &plan,
                                         const MscclppCheckOptions &options,
                                         Findings &findings);

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_MSCCLPPCHECK_H
