//===- BlockLoops.h - Loops of a thread block -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_BLOCKLOOPS_H
#define SCCL_LIB_CONVERSION_COMMON_BLOCKLOOPS_H

namespace sccl::coll {

class CodeBuilder;
struct HelperOptions;

/// Builds @coll_copy for a GPU and, if the program reduces,
/// @coll_reduce_elements, and for averages @coll_average.
/// What copies, reduces and averages plain memory; also several terms if the
/// program `hasTerms`.
void buildBlockLoops(CodeBuilder &code, const HelperOptions &options,
                     bool hasTerms);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_BLOCKLOOPS_H
