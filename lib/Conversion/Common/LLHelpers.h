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

#include "sccl/ABI/LLWord.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace sccl::coll {

class CodeBuilder;
struct HelperOptions;

/// What helpers a copy or a reduction needs: does it reduce, two operands or
/// several terms, and which operands are LL words, or wide? Or does the switch
/// copy or reduce?
struct TransferShape {
  bool reduces = false;
  bool dst = false, src0 = false, src1 = false;
  bool hasTerms = false; ///< as many as an operand says, from src1 on
  /// If not 1, the operands that would be LL words have f32 in plain memory, of
  /// so many times the bytes of elements.
  unsigned width = 1;
  /// A copy to, or a reduction fetched from, a group at its switch.
  bool isSwitched = false;

  auto operator<=>(const TransferShape &) const = default;
  bool isWide() const { return width != 1; }
  bool hasLL() const { return !isWide() && (dst || src0 || src1); }
  bool isPlain() const {
    return !hasLL() && !isWide() && !hasTerms && !isSwitched;
  }
  WideOperands wideOperands() const {
    return isWide() ? WideOperands{dst, src0, src1} : WideOperands{};
  }
  /// True if the helper itself repeats what it does. Of plain memory the caller
  /// does: what is kept across calls would cost kernels 20 registers.
  bool repeats() const { return hasLL() && !hasTerms; }
  unsigned sources() const { return reduces && !isSwitched ? 2 : 1; }
  /// A number below `count`; of those with terms at least `firstWithTerms`, and
  /// of those by a switch at least `firstSwitched`.
  unsigned number() const {
    if (isSwitched)
      return firstSwitched + unsigned(reduces);
    return (hasTerms ? firstWithTerms : unsigned(reduces) << 3) |
           unsigned(dst) << 2 | unsigned(src0) << 1 | unsigned(src1);
  }
  static constexpr unsigned firstWithTerms = 16, firstSwitched = 24;
  static constexpr unsigned count = firstSwitched + 2;
  /// What the names of the helpers end with. With LL words a letter for the
  /// destination and one for each source, p for LL words and m for plain
  /// memory: "_pmp"; w and m with f32 beside smaller elements; then "_terms" if
  /// it has them. By a switch "_switch".
  std::string suffix() const;
};

/// Why elements do not fit into LL words, or nothing if they do.
std::optional<std::string> whyNoLL(const ElementOp &op);

/// Builds @coll_copy or @coll_reduce_elements, and for averages @coll_average,
/// with the suffix of `shape`.
void buildLLLoops(CodeBuilder &code, const HelperOptions &options,
                  const TransferShape &shape);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_LLHELPERS_H
