//===- Quiet.h - Keeping signals from a thread ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_QUIET_H
#define SCCL_LIB_RUNTIME_QUIET_H

#include "Status.h"

#include <csignal>
#include <functional>
#include <thread>

namespace sccl {

/// Keeps signals from this thread, and from those that it starts, for a while.
/// Of those that a thread itself is the cause of, it leaves alone what the
/// program has chosen: blocked, they would end the process where it handles
/// them.
class Quiet {
public:
  Quiet() {
    sigset_t others;
    sigfillset(&others);
    for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
      sigdelset(&others, own);
    pthread_sigmask(SIG_BLOCK, &others, &before);
  }
  Quiet(const Quiet &) = delete;
  ~Quiet() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

private:
  sigset_t before;
};

/// Starts `thread`, which executes `body` and is `Quiet`: the caller's threads
/// expect signals. Fails with scclErrorSystem if the system has no
/// thread left; the caller's own mask of signals is as before either way.
Status startQuietThread(std::thread &thread, std::function<void()> body);

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_QUIET_H
