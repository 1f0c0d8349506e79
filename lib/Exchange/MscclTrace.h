//===- MscclTrace.h - What a file of MSCCL does, step by step ---*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_MSCCLTRACE_H
#define SCCL_LIB_EXCHANGE_MSCCLTRACE_H

#include "CallLayout.h"

#include "sccl/Exchange/Msccl.h"

namespace sccl::exchange {

/// The call of a collective that a file is for.
inline Call callOf(const MscclAlgorithm &algorithm, CollectiveKind kind,
                   uint32_t root, bool inPlace) {
  return {kind, uint32_t(algorithm.gpus.size()), uint32_t(algorithm.chunks),
          root, inPlace};
}
CallLayout layoutOf(const MscclAlgorithm &algorithm, const Call &call);

/// The steps of a file that checkMscclStructure has accepted. Says in
/// `findings` which leave their buffers or have no counterpart. Connections
/// hold `inFlight` sends, or any number if it is 0.
Trace makeMscclTrace(const MscclAlgorithm &algorithm, const CallLayout &layout,
                     unsigned inFlight, Findings &findings);

/// What `checkMsccl` has found, and the call that it has run: out of place if
/// the file is for that.
struct MscclChecked {
  MscclVerdict verdict;
  CheckedCall call;
};
std::optional<MscclChecked> runMsccl(const MscclAlgorithm &algorithm,
                                     const MscclCheckOptions &options,
                                     Findings &findings);

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_MSCCLTRACE_H
