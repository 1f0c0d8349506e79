//===- AverageWord.h - How an average weighs its operands -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// While an average of floats is under way, a slot with the contributions of c
// ranks holds their sum over 2^e(c), where e(c) is the least exponent for which
// 2^e(c) >= c. That is no larger than the largest contribution, so it fits
// where the inputs do, and powers of two do not round. Each reduction gets one
// word, with which it brings its operands to the scale of its result. Of
// several right ones, all have the same scale. Integers are added as they are,
// and divided at the end.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ABI_AVERAGEWORD_H
#define SCCL_ABI_AVERAGEWORD_H

#include <algorithm>
#include <bit>
#include <cstdint>

namespace sccl {

/// The layout of the word, from bit 0 on.
struct AverageWord {
  /// The number of contributions if the reduction has all of them, else 0.
  static constexpr unsigned divisorBits = 17;
  /// By which powers of two the left and the right operand are divided.
  static constexpr unsigned shiftBits = 5;
  static constexpr unsigned leftBit = divisorBits;
  static constexpr unsigned rightBit = leftBit + shiftBits;
  static constexpr unsigned bits = rightBit + shiftBits;

  static constexpr uint32_t divisorMask = (1u << divisorBits) - 1;
  static constexpr uint32_t shiftMask = (1u << shiftBits) - 1;
};

/// e(`contributions`), for 1 or more.
constexpr unsigned averageExponent(uint32_t contributions) {
  return std::bit_width(contributions - 1);
}

/// The word of a reduction whose left operand and each of whose right ones have
/// so many contributions, and the result `total`. If it `divides`, that is the
/// number of all, and it is the last one.
constexpr uint32_t averageWord(uint32_t left, uint32_t right, uint32_t total,
                               bool divides) {
  unsigned result = averageExponent(total);
  auto shift = [&](uint32_t operand) {
    return result - std::min(result, averageExponent(operand));
  };
  return (divides ? total : 0) | shift(left) << AverageWord::leftBit |
         shift(right) << AverageWord::rightBit;
}

} // namespace sccl

#endif // SCCL_ABI_AVERAGEWORD_H
