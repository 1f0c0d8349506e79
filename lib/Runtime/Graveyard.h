//===- Graveyard.h - Handles after their destruction ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_GRAVEYARD_H
#define SCCL_LIB_RUNTIME_GRAVEYARD_H

#include <array>
#include <atomic>

namespace sccl {

/// Keeps the last handles that were destroyed, without what they stood for, so
/// that the next call with one of them finds that out. Programs destroy a
/// handle twice where finalizers run in any order. Without a destructor:
/// finalizers may run after those of the library.
template <typename Handle> class Graveyard {
public:
  static constexpr unsigned capacity = 256;
  void bury(Handle *handle) {
    delete graves[next++ % graves.size()].exchange(handle);
  }

private:
  std::array<std::atomic<Handle *>, capacity> graves = {};
  std::atomic<unsigned> next = 0;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_GRAVEYARD_H
