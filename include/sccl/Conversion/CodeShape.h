//===- CodeShape.h - Calls or tables ----------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_CONVERSION_CODESHAPE_H
#define SCCL_CONVERSION_CODESHAPE_H

#include "sccl/Options/LoweringOptions.h"

namespace sccl::coll {

class ProgramOp;

/// How the operations of a program become code.
enum class CodeShape {
  Unrolled, ///< a call for each of them
  Table,    ///< a table, and a loop over it
};

/// The shape that `choice` asks for. With Auto it is a table if the longest
/// function would have more than `autoTableRows` calls, for which `program` is
/// measured.
CodeShape chooseCodeShape(CodeShapeChoice choice, ProgramOp program);
inline constexpr unsigned autoTableRows = 64;

} // namespace sccl::coll

#endif // SCCL_CONVERSION_CODESHAPE_H
