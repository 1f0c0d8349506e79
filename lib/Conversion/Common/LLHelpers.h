//===- LLHelpers.h - Moving and reducing LL words ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An LL word is a word of 64 bits: 4 bytes of data below, the low half of the
// launch's number above. Each thread polls the words that it takes part in
// itself, so that no thread waits for its block.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_LLHELPERS_H
#define SCCL_LIB_CONVERSION_COMMON_LLHELPERS_H

#include "ElementOps.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace sccl::coll {

class CodeBuilder;
struct HelperOptions;

/// Which operands of a copy or a reduction are LL words.
struct LLShape {
  bool reduces = false;
  bool dst = false, src0 = false, src1 = false;

  auto operator<=>(const LLShape &) const = default;
  bool any() const { return dst || src0 || src1; }
  unsigned sources() const { return reduces ? 2 : 1; }
  /// A number below `count`.
  unsigned number() const {
    return unsigned(reduces) << 3 | unsigned(dst) << 2 | unsigned(src0) << 1 |
           unsigned(src1);
  }
  static constexpr unsigned count = 16;
  /// What the names of the helpers end with: a letter for the destination and
  /// one for each source, p for LL words and m for plain memory: "_pmp".
  std::string suffix() const;
};

/// Bytes of data in an LL word.
inline constexpr unsigned llDataBytes = 4;

/// Why elements do not fit into LL words, or nothing if they do.
std::optional<std::string> whyNoLL(const ElementOp &op);

/// Builds @coll_copy or @coll_reduce_elements, and for averages @coll_average,
/// with the suffix of `shape`.
void buildLLLoops(CodeBuilder &code, const HelperOptions &options,
                  const LLShape &shape);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_LLHELPERS_H
