//===- CheckLitmus.h - Litmus tests, from files and from PTX ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_CHECKLITMUS_H
#define SCCL_TOOLS_SCCL_CHECKLITMUS_H

#include "llvm/ADT/StringRef.h"

namespace sccl::driver {

/// True if `path` is called like a file of litmus tests.
bool isLitmusFile(llvm::StringRef path);

/// Prints the verdict of each litmus test in `path`, and an execution where it
/// is not what the file expects. Returns BadInput if there is such a test.
int checkLitmus(llvm::StringRef path, bool json);

/// The same for the flag protocol as the PTX in `path` performs it, which must
/// never go wrong. Shows a litmus test that does.
int checkProtocol(llvm::StringRef path, bool json);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_CHECKLITMUS_H
