//===- TableText.h - Tables of ranks as data in assembly --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CODEGEN_TABLETEXT_H
#define SCCL_LIB_CODEGEN_TABLETEXT_H

#include "sccl/Model/Chip.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace sccl {

/// Appends to `isa`, assembly for `chip`, the bytes of a table for each rank of
/// `program`, with the symbols that tableSymbol() says. LLVM would print and
/// read them again slowly: on NVIDIA byte by byte.
void appendTables(std::string &isa, const Chip &chip, llvm::StringRef program,
                  llvm::ArrayRef<std::string> tables);

} // namespace sccl

#endif // SCCL_LIB_CODEGEN_TABLETEXT_H
