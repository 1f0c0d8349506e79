//===- CheckMsccl.h - sccl check of files of MSCCL --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_CHECKMSCCL_H
#define SCCL_TOOLS_SCCL_CHECKMSCCL_H

#include "ForeignFile.h"

namespace sccl::driver {

/// Which calls an engine takes whose buffers are cut into equal parts: those
/// with a multiple of `all` elements or bytes, `ofRank` of each rank.
std::string takenCounts(uint64_t all, uint64_t ofRank);
std::string takenSizes(uint64_t all, uint64_t ofRank);

/// Checks a file of another tool, prints what it is or all that is wrong with
/// it, and returns the exit code.
int checkAlgorithm(llvm::StringRef path, const MscclFlags &flags, bool json);

/// Checks that the schedule of a file of another tool runs on the topology that
/// `spec` names, with its ranks in their order: a name, an .mlir file, or a
/// file that `machine --import` takes. Prints and returns likewise.
int checkAlgorithmOn(llvm::StringRef path, llvm::StringRef spec,
                     const MscclFlags &flags, bool json);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_CHECKMSCCL_H
