//===- MscclStructure.h - What files of MSCCL must be like ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_MSCCLSTRUCTURE_H
#define SCCL_LIB_EXCHANGE_MSCCLSTRUCTURE_H

#include "sccl/Exchange/Msccl.h"

namespace sccl::exchange {

/// Says what `dialect` would refuse, or worse, would not.
void checkMscclLimits(const MscclAlgorithm &algorithm, MscclDialect dialect,
                      Findings &findings);

/// Steps that a thread block of `dialect` has room for.
size_t stepsPerBlock(MscclDialect dialect);

/// The collective that a file names. Says why if it is none that can be
/// checked.
std::optional<CollectiveKind> mscclCollective(const MscclAlgorithm &algorithm,
                                              Findings &findings);

/// False after a finding if chunks cannot be shared among ranks as `kind` has
/// to, or peers, channels or steps that are waited for are none.
bool checkMscclStructure(const MscclAlgorithm &algorithm, CollectiveKind kind,
                         unsigned root, Findings &findings);

/// Sends and the receives that get them, as numbers of steps over all blocks in
/// order. Says which have no counterpart, or one of another number of chunks.
std::vector<std::pair<uint32_t, uint32_t>>
matchMsccl(const MscclAlgorithm &algorithm, Findings &findings);

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_MSCCLSTRUCTURE_H
