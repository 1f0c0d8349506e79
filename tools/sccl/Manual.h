//===- Manual.h - Man pages and completions -*- C++ -* --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_MANUAL_H
#define SCCL_TOOLS_SCCL_MANUAL_H

#include <optional>

namespace sccl::driver {

/// Does what --manual or --completion asks for, from the table that --help
/// prints, and returns the exit code; nothing if neither is there.
std::optional<int> writeManual();

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_MANUAL_H
