//===- Passes.h - Passes on the coll dialect --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TRANSFORMS_PASSES_H
#define SCCL_TRANSFORMS_PASSES_H

#include "sccl/Options/LoweringOptions.h"

#include "mlir/Pass/Pass.h"

#include <memory>

namespace sccl {
class Collective;
} // namespace sccl

namespace sccl::coll {

class ProgramOp;
class ScheduleOp;

/// True if coll-check-schedule accepts `schedule`. Emits no error unless the
/// schedule names what is not there.
bool isRight(ScheduleOp schedule);

/// True if coll-check-program accepts `program`, which must pass MLIR's
/// verifier. Emits nothing and leaves the context alone: others may work with
/// both meanwhile, as long as `program` stays as it is.
bool isRight(ProgramOp program, const Collective &collective,
             const SumContract &contract);

/// True if `program`, which must be right, is right also when send and receive
/// buffers overlap, see Collective::hasInPlaceLayout (check H4). Likewise emits
/// nothing.
bool allowsInPlace(ProgramOp program, const Collective &collective);

#define GEN_PASS_DECL
#include "sccl/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "sccl/Transforms/Passes.h.inc"

} // namespace sccl::coll

#endif // SCCL_TRANSFORMS_PASSES_H
