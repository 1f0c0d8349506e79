//===- GPUTargets.h - Parts of the NVVM and ROCDL dialects ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The attributes that name a chip, and the assembler of AMD's chips. MLIR
// declares them beside the classes of 1,500 ops, which take g++ half a minute
// to read.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CODEGEN_GPUTARGETS_H
#define SCCL_LIB_CODEGEN_GPUTARGETS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMInterfaces.h"

#include "mlir/Dialect/LLVMIR/NVVMOpsEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "mlir/Dialect/LLVMIR/NVVMOpsAttributes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "mlir/Dialect/LLVMIR/ROCDLOpsAttributes.h.inc"

namespace mlir::ROCDL {
/// As mlir/Target/LLVM/ROCDL/Utils.h declares it.
FailureOr<SmallVector<char, 0>>
assembleIsa(StringRef isa, StringRef targetTriple, StringRef chip,
            StringRef features, function_ref<InFlightDiagnostic()> emitError);
} // namespace mlir::ROCDL

#endif // SCCL_LIB_CODEGEN_GPUTARGETS_H
