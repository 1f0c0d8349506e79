//===- ProgramInfo.h - What programs are for who launches them --*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_CONVERSION_PROGRAMINFO_H
#define SCCL_CONVERSION_PROGRAMINFO_H

#include "sccl/ABI/ProgramInfo.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace sccl {

class Collective;

namespace coll {
class FlagTable;
class ProgramOp;
} // namespace coll

/// The beginning of all symbols made for the program called `name`. Assemblers
/// take fewer names than MLIR: bytes other than letters, digits and underscores
/// become "_x" and two hexadecimal digits, and so do a digit at the beginning
/// and the underscore of "_x" itself. Different names have different symbols.
std::string symbolOf(llvm::StringRef name);

/// The symbol of the function of `rank` in the program called `name`; of step
/// `step` if the program has steps.
std::string functionName(llvm::StringRef name, const ProgramInfo &info,
                         unsigned rank, unsigned step = 0);

/// Reads what there is to know off a program of `collective` with `flags`, but
/// for whether it works in place, which takes a check.
ProgramInfo describeProgram(coll::ProgramOp program,
                            const Collective &collective,
                            const coll::FlagTable &flags);

} // namespace sccl

#endif // SCCL_CONVERSION_PROGRAMINFO_H
