//===- Progress.cpp - Signs of life on a terminal -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Progress.h"

#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <utility>

#include <unistd.h>

using namespace sccl::driver;

Progress::Progress(std::string what) : what(std::move(what)) {
  if (isatty(STDERR_FILENO))
    thread.start([this] { show(); });
}

Progress::~Progress() {
  {
    std::lock_guard lock(mutex);
    over = true;
  }
  wake.notify_one();
  thread.join();
}

void Progress::setDetail(std::string text) {
  std::lock_guard lock(mutex);
  detail = std::move(text);
}

std::unique_lock<std::mutex> Progress::pause() {
  std::unique_lock lock(mutex);
  erase();
  return lock;
}

void Progress::erase() {
  if (std::exchange(isShown, false))
    llvm::errs() << "\r\033[K";
}

void Progress::show() {
  // What is over before anybody wonders needs no line.
  constexpr auto interval = std::chrono::milliseconds(500);
  auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex);
  while (!wake.wait_for(lock, interval, [&] { return over; })) {
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - begin;
    erase();
    llvm::errs() << what << (detail.empty() ? "" : ", ") << detail << ": "
                 << int(seconds.count()) << " s";
    isShown = true;
  }
  erase();
}
