//===- MessageGroup.h - Ranks that exchange messages ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_MESSAGEGROUP_H
#define SCCL_LIB_RUNTIME_MESSAGES_MESSAGEGROUP_H

#include "SharedMessages.h"

#include "Runtime/Bootstrap.h"
#include "Runtime/ControlPlane.h"
#include "Runtime/Devices/Device.h"

#include <atomic>
#include <memory>

namespace sccl {

/// One rank of a group whose ranks exchange messages, through memory within a
/// host as far as they share it, else through a transport, and how they tell
/// each other what goes wrong: by messages with a tag of its own, from anybody.
class MessageGroup {
public:
  /// Collective, also if `arguments` is an error, which all ranks get then.
  /// Takes over the transport, which is closed if this fails.
  static Status create(const scclTransport &transport, const scclConfig &config,
                       const Status &arguments,
                       std::unique_ptr<MessageGroup> &group);
  ~MessageGroup();

  unsigned rank() const { return transport.rank; }
  unsigned numRanks() const { return transport.numRanks; }
  /// Ranks that share the processor of this one.
  unsigned ranksHere() const { return neighbours; }
  /// Tags for the messages of programs.
  unsigned numTags() const { return transport.numTags - firstTag; }

  /// Makes room for `count` messages under way, with tags below `tags`; they
  /// have the numbers from 0 on. Fails if the transport has none.
  Status reserve(unsigned count, unsigned tags);
  unsigned reserved() const { return room; }
  // Fail with what the transport says, and with who is at the other end.
  Status send(unsigned number, const void *data, uint64_t bytes, unsigned peer,
              unsigned tag);
  Status receive(unsigned number, void *data, uint64_t bytes, unsigned peer,
                 unsigned tag);
  /// Fills in those of the messages that have ended, of which there is room for
  /// all, and reads what others have to say. Fails if the group is out of use.
  Status poll(scclCompletion *ended, unsigned &count);
  /// What is wrong with a message that has ended.
  Status errorOf(const scclCompletion &ended, unsigned peer) const;

  /// Gives up, for all ranks; the first cause counts. `text` says more.
  void raise(const AbortCause &cause, const std::string &text);
  /// The same for a failure on this rank.
  void raise(const Status &status);
  /// Asks the thread that is in a launch to give up, or does so at once if
  /// there is none. Thread-safe in the former case.
  void abort();
  /// Has others read why a call of this rank has failed, which they may be
  /// waiting for.
  void leaveNote(const std::string &text);
  /// What `rank` has told by such a note; empty if nothing.
  std::string noteOf(unsigned rank) const;
  /// Why the group is out of use; success if it is not.
  Status poison() const;

  /// Marks this rank as being in a launch; false if it is in one.
  bool enter() { return !isBusy.exchange(true); }
  void leave() { isBusy = false; }

  const scclConfig config;
  const Bootstrap bootstrap;
  const unsigned origin; ///< tells the process, see Fork.h
  std::unique_ptr<Device> device;

private:
  /// What ranks tell each other beside programs. The cause is 0 for a note.
  struct Control {
    uint64_t cause;
    char text[248];
  };
  /// The tag of such messages; those of programs have the next ones.
  static constexpr int controlTag = 0, firstTag = 1;

  MessageGroup(const scclTransport &transport, const scclConfig &config);
  Status connect(const Status &arguments);
  Status listen();
  void tell(const Control &message);
  void hear(const Control &message, unsigned from);
  bool handle(const scclCompletion &ended, Status &status);
  int controlSend(unsigned peer) const { return 1 + int(peer); }
  int firstMessage() const { return 1 + transport.numRanks; }
  Status fail(int error, const std::string &what) const;

  scclTransport transport;
  unsigned neighbours = 1, room = 0;
  std::unique_ptr<SharedMessages> shared; ///< null: all goes through transport
  bool isConnected = false;
  Control heard = {};              ///< where the next one arrives
  std::vector<Control> said;       ///< to each rank
  std::vector<char> isTelling;     ///< by rank: `said` is under way
  std::vector<std::string> notes;  ///< by rank
  std::atomic<uint64_t> cause = 0; ///< an encoded AbortCause
  std::string causeText;           ///< written before `cause`
  std::atomic<bool> isBusy = false, wantsAbort = false;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_MESSAGEGROUP_H
