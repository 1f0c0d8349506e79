//===- TableHelper.h - The interpreter of tables ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_TABLEHELPER_H
#define SCCL_LIB_CONVERSION_COMMON_TABLEHELPER_H

#include "Helpers.h"

namespace sccl::coll {

/// The text of a module with @coll_execute and @coll_buffer.
std::string tableHelperText(const HelperOptions &options);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_TABLEHELPER_H
