//===- Json.h - JSON with places --------------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_IMPORT_JSON_H
#define SCCL_LIB_IMPORT_JSON_H

#include "Text.h"

namespace sccl::import {

/// Parses all of a file. Messages have the place of what is wrong.
Result<llvm::json::Value> parseJson(const ImportFile &file);

/// Where the key stands for the `index`-th time, or the beginning.
Place placeOfKey(llvm::StringRef text, llvm::StringRef key, size_t index = 0);

} // namespace sccl::import

#endif // SCCL_LIB_IMPORT_JSON_H
