//===- MarkCode.h - Code of marks -------------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_MARKCODE_H
#define SCCL_LIB_CONVERSION_COMMON_MARKCODE_H

namespace sccl::coll {

class CodeBuilder;

/// Builds @coll_record and @coll_mark, for GPUs; see TraceTable.h.
void buildMarkHelpers(CodeBuilder &code);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_MARKCODE_H
