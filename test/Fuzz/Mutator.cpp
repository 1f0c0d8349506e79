//===- Mutator.cpp - What libFuzzer changes -------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Damage.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/// LLVM's libraries are not instrumented, and hand out memory that instrumented
/// code of the same allocator has poisoned.
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_container_overflow=0";
}

/// Tokens half of the time, bytes otherwise. Returns the new size, at most
/// `most`.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  std::mt19937 random(seed);
  if (below(random, 2) == 0)
    return LLVMFuzzerMutate(data, size, most);
  std::string text(reinterpret_cast<char *>(data), size);
  for (size_t times = 1 + below(random, 3); times > 0; --times)
    changeToken(text, std::string(text), random);
  size = std::min(text.size(), most);
  std::memcpy(data, text.data(), size);
  return size;
}
