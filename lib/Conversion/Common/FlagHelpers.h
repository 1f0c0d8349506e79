//===- FlagHelpers.h - Flags, epochs and tables -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_FLAGHELPERS_H
#define SCCL_LIB_CONVERSION_COMMON_FLAGHELPERS_H

#include "Helpers.h"

namespace sccl::coll {

/// Replaces every occurrence of `from` in `text`.
std::string replaceAll(std::string text, llvm::StringRef from,
                       llvm::StringRef to);

/// The text of @coll_begin, @coll_end, @coll_signal and @coll_wait. Pointers
/// have the type PTR.
std::string flagHelpersText(const HelperOptions &options);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_FLAGHELPERS_H
