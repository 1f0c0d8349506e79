//===- MessageSender.h - Sending no more than is of use ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_MESSAGESENDER_H
#define SCCL_LIB_RUNTIME_MESSAGES_MESSAGESENDER_H

#include "MessageGroup.h"
#include "SendCopies.h"
#include "SendWindow.h"

namespace sccl {

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
