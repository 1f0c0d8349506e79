//===- RankTables.h - The tables of a program's ranks -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_CONVERSION_RANKTABLES_H
#define SCCL_CONVERSION_RANKTABLES_H

#include "sccl/ABI/RankTable.h"

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace sccl {

namespace collk {
class ProgramOp;
} // namespace collk

/// By rank, the bytes of the table that the rank passes to its functions
/// (RankTable.h), or where kernels of single ranks for blocks have marks, of
/// that (TraceTable.h). Empty if functions take none.
std::vector<std::string> rankTables(collk::ProgramOp program);

/// The symbol of the table of `rank` in device code that brings its tables.
std::string tableSymbol(llvm::StringRef program, unsigned rank);

} // namespace sccl

#endif // SCCL_CONVERSION_RANKTABLES_H
