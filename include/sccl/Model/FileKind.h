//===- FileKind.h - Recognizing files by content ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files of many kinds lie side by side, and each part of sccl reads some. For
// messages about the others.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_FILEKIND_H
#define SCCL_MODEL_FILEKIND_H

#include <cstdint>
#include <string>
#include <string_view>

namespace sccl {

enum class FileKind : uint8_t {
  Unknown, ///< among them what tools print of machines, which Import knows
  Machine, ///< is never recognized here
  Plan,
  Mlir,
  Certificate,
  Ptx,
  Gcn,
  Object,
  Msccl,
  Mscclpp,
  Teccl,
  Forest,
  NcclGraph,
  Chakra,
  Fabric,
  Timeline,
  Page,
  Compressed,
  Utf16,
  Binary,
};

/// What `text` is. It looks at the beginning only, but for JSON.
FileKind recognizeFile(std::string_view text);

/// "a plan of sccl".
std::string_view nameOf(FileKind kind);
/// What to do with it: "sccl run, ... take it".
std::string_view useOf(FileKind kind);

} // namespace sccl

#endif // SCCL_MODEL_FILEKIND_H
