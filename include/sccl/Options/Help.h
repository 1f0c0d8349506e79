//===- Help.h - What --help lists -------------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_OPTIONS_HELP_H
#define SCCL_OPTIONS_HELP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace sccl {

/// Leaves in --help, of the options that exist by now, only those called as in
/// `own`, and --help and --version: LLVM's libraries bring hundreds. All of
/// them can still be given.
void hideForeignOptions(llvm::ArrayRef<llvm::StringRef> own = {});

} // namespace sccl

#endif // SCCL_OPTIONS_HELP_H
