//===- Interrupt.h - Ctrl-C ends the search, not the process ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_INTERRUPT_H
#define SCCL_TOOLS_SCCL_INTERRUPT_H

#include <atomic>

namespace sccl::driver {

/// While this object lives, Ctrl-C (SIGINT) or SIGTERM sets `flag()`; a second
/// one ends the process.
class InterruptScope {
public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope &) = delete;
  InterruptScope &operator=(const InterruptScope &) = delete;
  const std::atomic<bool> *flag() const;

private:
  void (*previousInterrupt)(int);
  void (*previousTerminate)(int);
};

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_INTERRUPT_H
