//===- Passes.h - Conversions out of the coll dialect -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_CONVERSION_PASSES_H
#define SCCL_CONVERSION_PASSES_H

#include "sccl/Options/LoweringOptions.h"

#include "mlir/Pass/Pass.h"

#include <memory>

namespace sccl::coll {

#define GEN_PASS_DECL
#include "sccl/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "sccl/Conversion/Passes.h.inc"

} // namespace sccl::coll

#endif // SCCL_CONVERSION_PASSES_H
