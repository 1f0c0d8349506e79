//===- MessageGroup.h - Ranks that exchange messages ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_MESSAGEGROUP_H
#define SCCL_LIB_RUNTIME_MESSAGES_MESSAGEGROUP_H

#include "Inquiry.h"
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
  /// Of a rank that has not joined yet. Takes over the transport.
  MessageGroup(const scclTransport &transport, const scclConfig &config);
  /// Closes the transport.
  ~MessageGroup();
  /// Collective. Joins the others, also if `arguments` is an error, which all
  /// ranks get then.
  Status connect(const Status &arguments);
  /// Collective: in place of `connect`, tells the others why there is no group
  /// for this rank, and closes the transport. Returns `why`.
  static Status decline(const scclTransport &transport, const Status &why);

  /// Collective; see scclCommSplit. An error in `arguments` is one for all.
  /// There is no `result` for a negative colour.
  Status split(int color, int key, const Status &arguments,
               scclTransport &result) const;
  /// Launches may be executed by a thread that is not the caller's.
  bool mayUseThreads() const { return transport.anyThread != 0; }

  unsigned rank() const { return transport.rank; }
  unsigned numRanks() const { return transport.numRanks; }
  /// Ranks that share the processor of this one.
  unsigned ranksHere() const { return neighbours; }
  /// Ranks that do not share memory with this one.
  unsigned numRemote() const;
  bool sharesMemory(unsigned peer) const {
    return shared && shared->reaches(peer);
  }
  /// "rank 3", or with the name of its host if there are several.
  std::string nameOf(unsigned rank) const;
  /// Tags for the messages of programs.
  unsigned numTags() const { return transport.numTags - firstTag; }

  /// Makes room for `count` messages under way, with tags below `tags`; they
  /// have the numbers from 0 on. Fails if the transport has none.
  Status reserve(unsigned count, unsigned tags);
  /// The most messages that `poll` needs room for.
  unsigned mostEnded() const { return firstMessage() + room; }
  // Fail with what the transport says, and with who is at the other end.
  /// A message that `asks` ends when it is taken, others maybe earlier.
  Status send(unsigned number, const void *data, uint64_t bytes, unsigned peer,
              unsigned tag, bool asks);
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
  /// Asks `peer` whether it is there, and whom it waits for, and tells that
  /// this rank waits for `mainPeer`.
  void ask(unsigned peer, unsigned mainPeer);
  const Inquiry &inquiry() const { return theInquiry; }
  /// Something has come or gone.
  void restartInquiry();
  /// Why nothing comes from `peer`, after "rank 3, ".
  std::string explainSilence(unsigned peer) const;
  bool isPoisoned() const { return cause.load() != 0; }
  /// Why the group is out of use; success if it is not.
  Status poison() const;

  /// Marks this rank as being in a launch; false if it is in one. Waits for a
  /// thread that aborts.
  bool enter();
  void leave() { user = User::None; }

  const scclConfig config;
  const Bootstrap bootstrap;
  const unsigned origin; ///< tells the process, see Fork.h
  std::unique_ptr<Device> device;

private:
  /// What ranks tell each other beside programs.
  struct Control {
    enum Kind : uint32_t {
      Cause, ///< the group is out of use
      Note,
      Question, ///< whether somebody is there
      Answer    ///< to that
    };
    uint32_t kind;
    uint32_t rank;  ///< whom an answering rank waits for
    uint64_t cause; ///< or the number of an inquiry
    char text[496];
  };
  /// The tag of such messages; those of programs have the next ones.
  static constexpr int controlTag = 0, firstTag = 1;

  Status prepare();
  Status listen();
  Status meet(const Status &arguments, std::vector<unsigned> &here);
  void tell(unsigned peer, const Control &message);
  void tellAll(const Control &message);
  bool pollTransport(scclCompletion *ended, unsigned &count);
  void hear(const Control &message, unsigned from);
  void answer();
  void take(const Control &cause);
  bool handle(const scclCompletion &ended, Status &status);
  /// The numbers of messages: what is heard, what is told, and those of
  /// programs. A question on its way stops no cause.
  unsigned outboxOf(unsigned peer, const Control &message) const {
    return message.kind >= Control::Question ? numRanks() + peer : peer;
  }
  int firstMessage() const { return 1 + int(outboxes.size()); }
  Status fail(int error, const std::string &what) const;

  scclTransport transport;
  unsigned neighbours = 1, room = 0;
  std::unique_ptr<SharedMessages> shared; ///< null: all goes through transport
  bool isConnected = false;
  Control heard = {}; ///< where the next one arrives
  struct Outbox {
    Control message;
    bool isUnderWay = false;
  };
  std::vector<Outbox> outboxes;   ///< two for each rank
  std::vector<char> isOwed;       ///< by rank: an answer
  std::vector<uint64_t> owed;     ///< to the inquiry of that number
  std::vector<std::string> notes; ///< by rank
  std::vector<std::string> hosts; ///< by rank
  Inquiry theInquiry;
  unsigned waitsFor = Inquiry::nobody;
  std::atomic<uint64_t> cause = 0; ///< an encoded AbortCause
  std::string causeText;           ///< written before `cause`
  /// Who sends and receives, of which a transport may allow one at a time.
  enum class User { None, Launch, Abort };
  /// Returns `None` if it is `next` now, else who it is.
  User become(User next);

  std::atomic<User> user = User::None;
  std::atomic<bool> wantsAbort = false;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_MESSAGEGROUP_H
