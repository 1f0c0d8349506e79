//===- WrongFile.h - Messages about files of another kind -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_WRONGFILE_H
#define SCCL_TOOLS_SCCL_WRONGFILE_H

#include "sccl/Model/FileKind.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace sccl::driver {

/// Prints what the file `path` is and what takes it, and returns true, if by
/// its content it is something known and none of `expected`.
bool isWrongFile(llvm::StringRef path, llvm::StringRef text,
                 llvm::ArrayRef<FileKind> expected);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_WRONGFILE_H
