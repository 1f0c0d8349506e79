//===- Passes.h - Passes on the coll dialect --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TRANSFORMS_PASSES_H
#define SCCL_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

#include <memory>

namespace sccl::coll {

#define GEN_PASS_DECL
#include "sccl/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "sccl/Transforms/Passes.h.inc"

} // namespace sccl::coll

#endif // SCCL_TRANSFORMS_PASSES_H
