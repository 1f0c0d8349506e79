//===- HostCombine.h - Combining on the host --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_HOSTCOMBINE_H
#define SCCL_LIB_CONVERSION_COMMON_HOSTCOMBINE_H

#include "ElementOps.h"

namespace sccl::coll {

/// The text of @coll_combine for the host, and for averages @coll_average.
/// Pointers have the type PTR.
std::string hostCombineText(const ElementOp &op);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_HOSTCOMBINE_H
