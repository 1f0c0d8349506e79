//===- Operands.h - Splitting operands of assembly --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EMULATE_OPERANDS_H
#define SCCL_LIB_EMULATE_OPERANDS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace sccl::emulate {

/// Splits at commas that are in no brackets.
llvm::SmallVector<llvm::StringRef, 4> splitOperands(llvm::StringRef text);

} // namespace sccl::emulate

#endif // SCCL_LIB_EMULATE_OPERANDS_H
