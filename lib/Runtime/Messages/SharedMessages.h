//===- SharedMessages.h - Messages within a host ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Messages between ranks that share memory. A rank has a pipe for each other
// rank of its host: a ring of data that the other writes, and a ring of the
// tags for which it has memory. A message enters the pipe when its receiver has
// asked for it, so whatever is in a pipe can be taken out at once: messages
// that nobody wants yet never stand in the way of others, and what is under way
// needs no more memory than there is.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_SHAREDMESSAGES_H
#define SCCL_LIB_RUNTIME_MESSAGES_SHAREDMESSAGES_H

#include "CallHistory.h"

#include "Runtime/Bootstrap.h"
#include "Runtime/SharedMemory.h"

#include <memory>
#include <vector>

namespace sccl {

/// One rank's end of the pipes within its host. For one thread.
class SharedMessages {
public:
  ~SharedMessages();

  /// Collective. `here` are the ranks of this host, with this one, in their
  /// order, the same on all of them. Fails on all ranks if it fails on one;
  /// succeeds without a result if `here` has no other rank.
  static Status create(const Bootstrap &bootstrap, unsigned rank,
                       const std::vector<unsigned> &here,
                       std::unique_ptr<SharedMessages> &result);

  bool reaches(unsigned peer) const {
    return peer < placeOf.size() && placeOf[peer] >= 0;
  }
  /// Makes room for `count` messages with tags below `tags`; the ranks of a
  /// host do so before any of them sends.
  void reserve(unsigned count, unsigned tags);

  /// What is sent from now on, and what may arrive, is of this call.
  void setCall(const CallMark &call);
  /// A rank from which a message of another call has come, which was not taken;
  /// the largest number if there is none.
  unsigned stranger() const { return theStranger; }
  CallMark markOfStranger() const;

  // One message with a tag may be under way from one rank to another.
  void send(unsigned number, const void *data, uint64_t bytes, unsigned peer,
            unsigned tag);
  void receive(unsigned number, void *data, uint64_t bytes, unsigned peer,
               unsigned tag);
  /// Moves what can be moved, and adds messages that have ended to the `count`
  /// there are in `ended`.
  void poll(scclCompletion *ended, unsigned &count);

private:
  struct Pipe;
  struct Peer;
  SharedMessages() = default;
  Status open(const Bootstrap &bootstrap, unsigned rank,
              const std::vector<unsigned> &here);
  void connect(unsigned rank, const std::vector<unsigned> &here);
  Pipe &pipe(const SharedMemory &memory, unsigned number) const;
  uint64_t pipeBytes() const;
  Peer &peerOf(unsigned rank);

  void announce(Peer &peer);
  void takeAnnounced(Peer &peer);
  bool write(Peer &peer);
  void startNext(Peer &peer);
  void sendMore(Peer &peer, scclCompletion *ended, unsigned &count);
  void takeArrived(Peer &peer, scclCompletion *ended, unsigned &count);

  CallMark call;
  unsigned theStranger = ~0u;
  uint64_t strangerNumber = 0, strangerHistory = 0;
  uint64_t ringBytes = 0;
  SharedMemory own;
  std::vector<SharedMemory> others; ///< by place; empty for this rank
  std::vector<Peer> peers;
  std::vector<int> placeOf; ///< by rank: in `peers`, or -1
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_SHAREDMESSAGES_H
