//===- Progress.cpp - Signs of life on a terminal -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Progress.h"
#include "Output.h"

#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <mutex>
#include <utility>

#include <unistd.h>

using namespace sccl::driver;

/// The one that was begun last, if it is not over. Ranks that are threads may
/// fail while it ends.
static std::mutex latestMutex;
static Progress *latest = nullptr;

static void setLatest(Progress *progress) {
  std::lock_guard lock(latestMutex);
  latest = progress;
}

void Progress::clear() {
  std::lock_guard lock(latestMutex);
  if (latest && latest->isShown)
    (void)latest->pause();
}

Progress::Progress(std::string what) : what(std::move(what)) {
  setLatest(this);
  if (isatty(STDERR_FILENO))
    thread.start([this] { show(); });
}

Progress::~Progress() {
  setLatest(nullptr);
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
  if (isShown.exchange(false))
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
    err() << what << (detail.empty() ? "" : ", ") << detail << ": "
          << int(seconds.count()) << " s";
    isShown = true;
  }
  erase();
}
