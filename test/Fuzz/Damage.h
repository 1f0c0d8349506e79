//===- Damage.h - Texts that are nearly right -----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_FUZZ_DAMAGE_H
#define SCCL_TEST_FUZZ_DAMAGE_H

#include <cstddef>
#include <random>
#include <string>

/// A number below `end`, or 0 if that is 0.
inline size_t below(std::mt19937 &random, size_t end) {
  return end == 0 ? 0 : random() % end;
}

/// Changes one number, word or line of `text`, so that readers get further than
/// with changed bytes. What comes in comes from `text` or `other`.
void changeToken(std::string &text, const std::string &other,
                 std::mt19937 &random);

#endif // SCCL_TEST_FUZZ_DAMAGE_H
