//===- SendWindow.h - What is on the way to a peer --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is on the way to a peer cannot be overtaken by what is urgent, so there
// is only as much as keeps the way busy. A transport may say that a message is
// sent when the kernel has it, megabytes before the wire has. So now and then
// one is sent that ends when the peer has begun to take it: then those before
// it are there, too. What has not arrived when a launch ends still counts in
// the next one.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_SENDWINDOW_H
#define SCCL_LIB_RUNTIME_MESSAGES_SENDWINDOW_H

#include <cstdint>

namespace sccl {

class SendWindow {
public:
  bool hasRoom() const { return asked < leastAsked || bytes < mostBytes; }
  /// Nobody is asked whether he has taken something.
  bool isEmpty() const { return asked == 0; }
  /// True if a message of `size` bytes should tell when it is taken.
  bool mustAsk(uint64_t size) const { return unasked + size >= bytesToAsk; }

  /// A message is sent, and `asks` or not. Returns what to pass to `taken` if
  /// it does.
  uint64_t add(uint64_t size, bool asks) {
    bytes += size;
    unasked += size;
    if (!asks)
      return 0;
    ++asked;
    uint64_t covered = unasked;
    unasked = 0;
    return covered;
  }
  /// A message that has asked is taken, and all before it have arrived.
  void taken(uint64_t covered) {
    --asked;
    bytes -= covered;
  }

private:
  /// So many messages that ask, and more up to so many bytes. Less leaves the
  /// way idle until the peer has answered.
  static constexpr unsigned leastAsked = 2;
  static constexpr uint64_t mostBytes = 128 << 10;
  static constexpr uint64_t bytesToAsk = 32 << 10;

  unsigned asked = 0;   ///< messages that have not been answered
  uint64_t bytes = 0;   ///< that may not have arrived
  uint64_t unasked = 0; ///< of these, since a message has asked
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_SENDWINDOW_H
