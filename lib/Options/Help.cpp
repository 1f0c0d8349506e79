//===- Help.cpp - What --help lists ---------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Options/Help.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"

void sccl::hideForeignOptions(llvm::ArrayRef<llvm::StringRef> own) {
  for (auto &&[name, option] : llvm::cl::getRegisteredOptions())
    if (name != "help" && name != "version" && !llvm::is_contained(own, name))
      option->setHiddenFlag(llvm::cl::ReallyHidden);
}
