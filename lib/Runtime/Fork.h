//===- Fork.h - Noticing that this is another process -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_FORK_H
#define SCCL_LIB_RUNTIME_FORK_H

#include "Status.h"

namespace sccl {

/// Has forks counted from now on. Fails if there is no memory for that.
Status watchForks();
/// How often this process and its ancestors have forked since `watchForks`: two
/// values differ if they are from different processes. Costs a load, and no
/// system call as a process number does.
unsigned forkCount();
/// While it lives, other threads do not fork, after `watchForks`, but for those
/// that have waited a second: a child would find locks taken that nobody gives
/// back. Not to be taken twice by a thread.
class ForkLock {
public:
  ForkLock();
  ForkLock(const ForkLock &) = delete;
  ~ForkLock();
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_FORK_H
