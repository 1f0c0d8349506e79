//===- Output.h - What goes to terminals ------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_OUTPUT_H
#define SCCL_TOOLS_SCCL_OUTPUT_H

#include "llvm/Support/raw_ostream.h"

namespace sccl::driver {

/// llvm::outs() and llvm::errs() for text that people read: names that came
/// from files do not command the terminal, see escapeControls. What programs
/// read, as JSON, goes to llvm::outs() as it is.
llvm::raw_ostream &out();
llvm::raw_ostream &err();

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_OUTPUT_H
