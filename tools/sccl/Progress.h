//===- Progress.h - Signs of life on a terminal -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_PROGRESS_H
#define SCCL_TOOLS_SCCL_PROGRESS_H

#include "sccl/Model/Threads.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>

namespace sccl::driver {

/// While this object lives, a line on standard error says what is done and for
/// how long, if that is a terminal; else there is none.
class Progress {
public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// Shows `text` after what is done. From any thread.
  void setDetail(std::string text);

  /// Takes the line away, for other output, until the result is gone.
  [[nodiscard]] std::unique_lock<std::mutex> pause();

  /// Takes the line of whatever is under way away, for a message that is about
  /// to be printed. It comes back later.
  static void clear();

private:
  void show();
  void erase();

  const std::string what;
  std::mutex mutex; ///< guards all below
  std::string detail;
  bool over = false;
  std::atomic<bool> isShown = false; ///< false while somebody pauses it
  std::condition_variable wake;
  Thread thread;
};

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_PROGRESS_H
