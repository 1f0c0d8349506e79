//===- Hash.h - A hash that is the same everywhere --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CHECK_HASH_H
#define SCCL_LIB_CHECK_HASH_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sccl {

/// The 64-bit hash of Fowler, Noll and Vo.
class Hash {
public:
  void addByte(unsigned char byte) { state = (state ^ byte) * prime; }
  /// As 8 bytes, the lowest first.
  void add(uint64_t number) {
    unsigned zeros = 8;
    for (; number != 0; number >>= 8, --zeros)
      addByte(number & 0xff);
    // The leading zeros of a number are bytes like others, and most of them.
    state *= powers[zeros];
  }
  uint64_t value() const { return state; }

private:
  static constexpr uint64_t prime = 0x100000001b3;
  static constexpr std::array<uint64_t, 9> powers = [] {
    std::array<uint64_t, 9> powers = {1};
    for (unsigned i = 1; i < powers.size(); ++i)
      powers[i] = powers[i - 1] * prime;
    return powers;
  }();

  uint64_t state = 0xcbf29ce484222325;
};

inline uint64_t hashOf(std::string_view text) {
  Hash hash;
  for (char byte : text)
    hash.addByte(static_cast<unsigned char>(byte));
  return hash.value();
}

/// 16 digits.
inline std::string hexText(uint64_t value) {
  std::string text(16, '0');
  for (size_t digit = 16; digit-- > 0; value >>= 4)
    text[digit] = "0123456789abcdef"[value & 15];
  return text;
}

} // namespace sccl

#endif // SCCL_LIB_CHECK_HASH_H
