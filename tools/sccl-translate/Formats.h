//===- Formats.h - Translations of other tools' files -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCLTRANSLATE_FORMATS_H
#define SCCL_TOOLS_SCCLTRANSLATE_FORMATS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace llvm {
class SourceMgr;
} // namespace llvm

namespace sccl::translate {

/// Parses and verifies the input; nothing after an error.
mlir::OwningOpRef<mlir::ModuleOp>
parseInput(const std::shared_ptr<llvm::SourceMgr> &source,
           mlir::MLIRContext *context);

/// Registers --import-FORMAT and --export-FORMAT.
void registerFormats();

} // namespace sccl::translate

#endif // SCCL_TOOLS_SCCLTRANSLATE_FORMATS_H
