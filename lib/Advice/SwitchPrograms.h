//===- SwitchPrograms.h - With and without what switches do -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ADVICE_SWITCHPROGRAMS_H
#define SCCL_LIB_ADVICE_SWITCHPROGRAMS_H

#include "sccl/Advice/Advice.h"

namespace sccl::advice {

/// `fabric`, whose switches copy and reduce nothing.
Fabric withoutSwitches(const Fabric &fabric);

/// True if switches of `fabric` copy or reduce, and may do so in programs of
/// `collective` that are lowered with `options`: in what order they add up is
/// not known, nor how often they round.
bool maySwitchesDo(const Fabric &fabric, const Collective &collective,
                   const LoweringOptions &options);

} // namespace sccl::advice

#endif // SCCL_LIB_ADVICE_SWITCHPROGRAMS_H
