//===- MscclImport.cpp - From algorithms of MSCCL to schedules ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MscclTrace.h"

using namespace sccl;
using namespace sccl::exchange;

Result<FoundSchedule> exchange::fromMsccl(const MscclAlgorithm &algorithm,
                                          const MscclCheckOptions &options) {
  Findings findings;
  std::optional<MscclChecked> checked = runMsccl(algorithm, options, findings);
  if (!checked)
    return firstError(findings);
  return scheduleOfCall(checked->call);
}
