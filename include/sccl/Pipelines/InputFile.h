//===- InputFile.h - Files that anybody may have made -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_PIPELINES_INPUTFILE_H
#define SCCL_PIPELINES_INPUTFILE_H

#include "sccl/Model/Result.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace sccl {

/// The most bytes that are read of a file: schedules of 10^7 sends have a
/// hundredth of it.
constexpr uint64_t maxInputBytes = uint64_t(1) << 30;

/// What is in the file at `path`, or comes from standard input if that is "-".
/// An error that names the file if it cannot be read or holds more than `most`
/// bytes; of a device or pipe without end no more than that is read.
Result<std::unique_ptr<llvm::MemoryBuffer>>
readInput(llvm::StringRef path, uint64_t most = maxInputBytes);

} // namespace sccl

#endif // SCCL_PIPELINES_INPUTFILE_H
