//===- LeftMessages.h - What launches leave under way -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_LEFTMESSAGES_H
#define SCCL_LIB_RUNTIME_MESSAGES_LEFTMESSAGES_H

#include "MessageEngine.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace sccl {

/// Moves, by a thread of its own, what a launch has left under way, while this
/// rank makes no other call: some transports send nothing by themselves, and
/// the rank may wait for what a peer does after the same launch.
class LeftMessages {
public:
  LeftMessages(MessageGroup &group, MessageEngine &engine)
      : group(group), engine(engine) {}
  ~LeftMessages();
  /// Starts the thread.
  Status start();

  /// A launch is done; does nothing if it has left nothing, or without start.
  void move();
  /// Returns when the thread does nothing, until the next `move`. For those who
  /// use the transport without `MessageGroup::enter`.
  void rest();

private:
  void run();

  MessageGroup &group;
  MessageEngine &engine;
  std::mutex mutex;
  std::condition_variable changed;
  bool isWanted = false, isEnding = false;
  std::thread thread;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_LEFTMESSAGES_H
