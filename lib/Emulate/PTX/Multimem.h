//===- Multimem.h - Accesses through a switch -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EMULATE_PTX_MULTIMEM_H
#define SCCL_LIB_EMULATE_PTX_MULTIMEM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace sccl::emulate {

struct Op;
struct Summation;

/// What a switch computes of elements.
struct SwitchReduction {
  enum class Kind : uint8_t { Add, Min, Max, And, Or, Xor };
  enum class Number : uint8_t { Unsigned, Signed, Bits, F16, BF16, Float };
  Kind kind = Kind::Add;
  Number number = Number::Bits;
  bool isPair = false; ///< two of 16 bits in an element
  bool isWide = false; ///< at least with the precision of f32
  uint8_t bytes = 0;   ///< of an element

  /// Of one element of each member of a group.
  uint64_t operator()(llvm::ArrayRef<uint64_t> values,
                      const Summation &how) const;
};

/// Reads "multimem.ld_reduce.weak.global.add.v4.f32" and what is like it, as
/// `ptxas` takes it for sm_90; returns the number of elements, or 0.
unsigned decodeMultimem(Op &op, llvm::StringRef opcode);

} // namespace sccl::emulate

#endif // SCCL_LIB_EMULATE_PTX_MULTIMEM_H
