//===- Quiet.cpp - Keeping signals from a thread --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Quiet.h"

#include <system_error>

using namespace sccl;

Status sccl::startQuietThread(std::thread &thread, std::function<void()> body) {
  try {
    Quiet quiet;
    thread = std::thread(std::move(body));
  } catch (const std::system_error &error) {
    return {scclErrorSystem,
            std::string("cannot start a thread: ") + error.what()};
  }
  return {};
}
