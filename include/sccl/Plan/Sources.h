//===- Sources.h - The schedules that a plan was made of --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan keeps the modules that it was compiled of, each in a blob: the text in
// MLIR's syntax, compressed, behind its length. So whoever has the plan can
// explain its programs, and simulate them by the clock they were chosen by.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_PLAN_SOURCES_H
#define SCCL_PLAN_SOURCES_H

#include "sccl/Model/Result.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace sccl::plan {

/// The blob of the module `text`.
std::string packSource(llvm::StringRef text);

/// The text of a module. Fails if `blob` is none.
Result<std::string> unpackSource(llvm::StringRef blob);

} // namespace sccl::plan

#endif // SCCL_PLAN_SOURCES_H
