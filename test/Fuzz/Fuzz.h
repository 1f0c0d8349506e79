//===- Fuzz.h - What each fuzzer does with an input ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_FUZZ_FUZZ_H
#define SCCL_TEST_FUZZ_FUZZ_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

/// The name that libFuzzer calls. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/// Ends the process unless `condition` holds; `what` says what was expected.
inline void demand(bool condition, const char *what) {
  if (condition)
    return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

#endif // SCCL_TEST_FUZZ_FUZZ_H
