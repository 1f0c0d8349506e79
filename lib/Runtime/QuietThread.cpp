//===- QuietThread.cpp - Threads that take no signals ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuietThread.h"

#include <csignal>
#include <system_error>

using namespace sccl;

Status sccl::startQuietThread(std::thread &thread, std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status status;
  try {
    thread = std::thread(std::move(body));
  } catch (const std::system_error &error) {
    status = {scclErrorSystem,
              std::string("cannot start a thread: ") + error.what()};
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return status;
}
