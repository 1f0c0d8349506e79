//===- Target.cpp - Kinds of output ---------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Codegen/Target.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Path.h"

using namespace sccl;

std::optional<OutputKind> sccl::outputKindOf(llvm::StringRef path) {
  return llvm::StringSwitch<std::optional<OutputKind>>(
             llvm::sys::path::extension(path))
      .Case(".mlir", OutputKind::MLIR)
      .Case(".ptx", OutputKind::PTX)
      .Case(".cubin", OutputKind::Cubin)
      .Case(".fatbin", OutputKind::Fatbin)
      .Case(".s", OutputKind::GCN)
      .Case(".hsaco", OutputKind::HSACO)
      .Default(std::nullopt);
}
