//===- Output.h - What goes to terminals ------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_OUTPUT_H
#define SCCL_TOOLS_SCCL_OUTPUT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace sccl::driver {

/// llvm::outs() and llvm::errs() for text that people read: names that came
/// from files do not command the terminal, see escapeControls. What programs
/// read, as JSON, goes to llvm::outs() as it is.
llvm::raw_ostream &out();
llvm::raw_ostream &err();

/// Makes a folder for outputs, and those above it, if it is not there. Prints
/// an error and returns false if there is none then.
bool makeFolder(llvm::StringRef path);
/// `name`, of whatever letters, as part of the name of a file.
std::string fileStem(llvm::StringRef name);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_OUTPUT_H
