//===- QuietThread.h - Threads that take no signals -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_QUIETTHREAD_H
#define SCCL_LIB_RUNTIME_QUIETTHREAD_H

#include "Status.h"

#include <functional>
#include <thread>

namespace sccl {

/// Starts `thread`, which executes `body` and is `Quiet`: the caller's threads
/// expect signals. Fails with scclErrorSystem if the system has
/// no thread left; the caller's own mask of signals is as before either way.
Status startQuietThread(std::thread &thread, std::function<void()> body);

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_QUIETTHREAD_H
