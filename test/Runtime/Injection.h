//===- Injection.h - Failing what a thread asks the system for --*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The n-th allocation of a thread, or its n-th system call, fails. Allocations
// are counted in malloc's place (Allocations.cpp), system calls by having the
// kernel send a signal for each, as emulators do, whoever makes it: libsccl,
// the C library or the dynamic linker.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_RUNTIME_INJECTION_H
#define SCCL_TEST_RUNTIME_INJECTION_H

#include <cstdint>

namespace sccl {

/// What can fail.
enum class Injected { Nothing, Allocations, SystemCalls };

/// Of one thread. Nothing is counted unless it is armed.
struct Injection {
  Injected what = Injected::Nothing;
  bool isArmed = false;
  int error = 0;       ///< of system calls
  uint64_t count = 0;  ///< so far
  uint64_t failAt = 0; ///< of those, from 1 on
  bool hasFailed() const { return failAt != 0 && count >= failAt; }
  /// Counts one; true if it is to fail.
  bool takes(Injected kind) {
    return isArmed && what == kind && ++count == failAt;
  }
};

extern constinit thread_local Injection injection;

/// False if this machine, or a sanitizer, does not let one do that.
bool canInject(Injected what);
/// From now on, allocations or system calls of this thread are counted while it
/// is `Armed`, and number `failAt` fails, system calls with `error`.
void inject(Injected what, uint64_t failAt, int error);

/// A part of a thread's work in which things fail, or none do.
class Arming {
public:
  explicit Arming(bool arms);
  ~Arming();
  Arming(const Arming &) = delete;

private:
  bool before;
};

/// Blocks of memory that the process has and has not freed.
uint64_t liveBlocks();

} // namespace sccl

#endif // SCCL_TEST_RUNTIME_INJECTION_H
