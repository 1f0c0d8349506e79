//===- BlockLoops.h - Loops of a thread block -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_BLOCKLOOPS_H
#define SCCL_LIB_CONVERSION_COMMON_BLOCKLOOPS_H

#include "Helpers.h"

namespace sccl::coll {

/// The text of @coll_copy for a GPU and, if the program combines, of
/// @coll_combine, and for averages @coll_average. Pointers have the type PTR.
std::string blockLoopsText(const HelperOptions &options);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_BLOCKLOOPS_H
