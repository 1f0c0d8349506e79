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

/// Builds @coll_copy and, if the program reduces, @coll_combine, and for
/// averages @coll_average. If `options` say that there are large chunks, there
/// are @coll_copy_stream and @coll_combine_stream, too, which bypass the cache.
void buildHostLoops(CodeBuilder &code, const HelperOptions &options);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_HOSTLOOPS_H
