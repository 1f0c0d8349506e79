//===- Old.cpp - A driver without the functions that libsccl needs --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

extern "C" __attribute__((visibility("default"))) int cuInit(unsigned) {
  return 0;
}
