//===- MessageSender.h - Sending no more than is of use ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_MESSAGESENDER_H
#define SCCL_LIB_RUNTIME_MESSAGES_MESSAGESENDER_H

#include "MessageGroup.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

namespace sccl {

/// Copies of messages, so that launches need not wait until these are taken.
class SendCopies {
public:
  /// Makes room for messages to `peers` ranks, the first time.
  void reserve(unsigned peers) {
    if (memory)
      return;
    unsigned wanted = std::min(peers * copiesOfPeer, mostCopies);
    // All or nothing: the next try finds what this one has left.
    free.resize(wanted);
    memory.reset(new char[wanted * mostBytes]);
    count = wanted;
    for (unsigned i = 0; i < count; ++i)
      free[i] = count - 1 - i;
  }
  /// Their numbers are below this.
  unsigned size() const { return count; }
  bool isEmpty() const { return free.size() == count; }

  /// The number of a copy; nothing if the message is too long, or there is no
  /// room.
  std::optional<unsigned> take(const void *data, uint64_t bytes) {
    if (bytes > mostBytes || free.empty())
      return std::nullopt;
    unsigned number = free.back();
    free.pop_back();
    std::memcpy(memory.get() + number * mostBytes, data, bytes);
    return number;
  }
  const char *dataOf(unsigned number) const {
    return memory.get() + number * mostBytes;
  }
  void release(unsigned number) { free.push_back(number); }
  /// The transport may still read them: the memory stays.
  void leak() { (void)memory.release(); }

private:
  static constexpr uint64_t mostBytes = 32 << 10;
  static constexpr unsigned copiesOfPeer = 4, mostCopies = 32;

  std::unique_ptr<char[]> memory;
  unsigned count = 0;
  std::vector<unsigned> free;
};

// What is on the way to a peer cannot be overtaken by what is urgent, so there
// is only as much as keeps the way busy. A transport may say that a message is
// sent when the kernel has it, megabytes before the wire has. So now and then
// one is sent that ends when the peer has begun to take it: then those before
// it are there, too. What has not arrived when a launch ends still counts in
// the next one.

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

/// What one rank sends to all others, in one launch after the other.
class MessageSender {
public:
  explicit MessageSender(MessageGroup &group) : group(group) {}
  ~MessageSender();

  /// Makes room for messages with numbers from `firstNumber()` on, `count` of
  /// them, with tags below `tags`.
  Status reserve(unsigned count, unsigned tags);
  /// Numbers below are of messages of its own.
  unsigned firstNumber() const { return copies.size(); }

  bool hasRoom(unsigned peer) const { return windows[peer].hasRoom(); }
  /// `isDone`: the data may change at once, and no message with this number
  /// will end. Where there is no room it ends when it is taken.
  Status send(unsigned number, const void *data, uint64_t bytes, unsigned peer,
              unsigned tag, bool &isDone);
  /// A message to `peer` has ended that was not done at once.
  void end(unsigned number, unsigned peer);
  /// One of its own has; returns to whom it went.
  unsigned endOwn(unsigned number);
  bool hasEndedOwn() const { return copies.isEmpty(); }
  /// Who has not taken what was sent to him; this rank if there is none such.
  unsigned lateRank() const;

private:
  MessageGroup &group;
  SendCopies copies;
  std::vector<unsigned> peerOf;    ///< by number of a copy
  std::vector<uint64_t> covered;   ///< by number: see SendWindow::add
  std::vector<SendWindow> windows; ///< by peer
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_MESSAGESENDER_H
