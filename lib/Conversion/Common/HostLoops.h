//===- HostLoops.h - Loops of a host thread ---------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_HOSTLOOPS_H
#define SCCL_LIB_CONVERSION_COMMON_HOSTLOOPS_H

namespace sccl::coll {

class CodeBuilder;
struct HelperOptions;

/// Builds @coll_copy and, if the program reduces, @coll_reduce_elements, and
/// for averages @coll_average; and for what does not fit in the cache
/// @coll_copy_stream and @coll_reduce_elements_stream.
/// What copies, reduces and averages plain memory; also several terms if the
/// program `hasTerms`.
void buildHostLoops(CodeBuilder &code, const HelperOptions &options,
                    bool hasTerms);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_HOSTLOOPS_H
