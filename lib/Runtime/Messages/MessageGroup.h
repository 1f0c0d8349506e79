//===- MessageGroup.h - Ranks that exchange messages ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_MESSAGEGROUP_H
#define SCCL_LIB_RUNTIME_MESSAGES_MESSAGEGROUP_H

#include "CallHistory.h"
#include "Runtime/Bootstrap.h"
#include "Runtime/Devices/Device.h"
#include "SharedMessages.h"

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace sccl {

// When one rank is lost all others stop, and most of them wait for a rank that
// only waits itself. So a rank to which nothing comes asks those for which it
// waits, several times. Whoever answers is there; who never does is suspected.
// A rank without a suspect leaves it to others for a while to name theirs.

/// What one rank knows of those for which it waits.
class Inquiry {
public:
  static constexpr unsigned nobody = ~0u;

  explicit Inquiry(unsigned numRanks) : peers(numRanks) {}

  /// Something has come or gone: nobody is suspected.
  void restart() {
    if (!isActive)
      return;
    std::fill(peers.begin(), peers.end(), Peer());
    isActive = false;
    ++theNumber;
  }
  /// Goes along with questions, and comes back with their answers.
  uint64_t number() const { return theNumber; }
  /// `peer` is asked.
  void ask(unsigned peer) {
    ++peers[peer].questions;
    isActive = true;
  }
  /// `peer` answers that it waits for `other`, or for nobody.
  void hear(unsigned peer, uint64_t number, unsigned other) {
    if (number != theNumber)
      return;
    peers[peer].hasAnswered = true;
    peers[peer].waitsFor = other;
  }

  bool hasAnswered(unsigned peer) const { return peers[peer].hasAnswered; }
  bool suspects(unsigned peer) const {
    return peers[peer].questions >= enough && !peers[peer].hasAnswered;
  }
  /// The first rank that is suspected, or `nobody`.
  unsigned suspect() const {
    unsigned peer = 0;
    while (peer < peers.size() && !suspects(peer))
      ++peer;
    return peer < peers.size() ? peer : nobody;
  }
  /// For whom `peer` waits, as far as it has said so.
  unsigned waitsFor(unsigned peer) const { return peers[peer].waitsFor; }
  /// The ranks that are suspected.
  std::vector<unsigned> suspects() const {
    std::vector<unsigned> result;
    for (unsigned peer = 0; peer < peers.size(); ++peer)
      if (suspects(peer))
        result.push_back(peer);
    return result;
  }
  bool hasAnyAnswered() const {
    return std::any_of(peers.begin(), peers.end(),
                       [](const Peer &peer) { return peer.hasAnswered; });
  }

private:
  /// Questions that somebody may miss who was not given the processor.
  static constexpr unsigned enough = 3;
  struct Peer {
    unsigned questions = 0;
    bool hasAnswered = false;
    unsigned waitsFor = nobody;
  };
  bool isActive = false; ///< somebody was asked
  uint64_t theNumber = 0;
  std::vector<Peer> peers;
};

/// One rank of a group whose ranks exchange messages, through memory within a
/// host as far as they share it, else through a transport, and how they tell
/// each other what goes wrong: by messages with a tag of its own, from anybody.
class MessageGroup {
public:
  /// Of a rank that has not joined yet. Takes over the transport.
  /// `original` as below.
  MessageGroup(const scclTransport &transport, const scclConfig &config,
               unsigned original);
  /// Closes the transport.
  ~MessageGroup();
  /// Collective. Joins the others, also if `arguments` is an error, which all
  /// ranks get then. `hasStreams`: a StreamGroup is of interest to this rank.
  Status connect(const Status &arguments, bool hasStreams = false);
  /// Collective: in place of `connect`, tells the others why there is no group
  /// for this rank, and closes the transport. Returns `why`.
  static Status decline(const scclTransport &transport, const Status &why);

  /// Collective; see scclCommSplit. An error in `arguments` is one for all.
  /// There is no `result` for a negative colour.
  Status split(int color, int key, const Status &arguments,
               scclTransport &result) const;
  /// Launches may be executed by a thread that is not the caller's.
  bool mayUseThreads() const { return transport.anyThread != 0; }
  /// Between them a thread of libsccl is to move messages that go to others.
  bool needsThread() const {
    return transport.anyThread > 1 && numRemote() != 0;
  }
  /// This thread may use the transport while no other does.
  bool mayUseThisThread() const {
    return mayUseThreads() || std::this_thread::get_id() == joiner;
  }

  unsigned rank() const { return transport.rank; }
  unsigned numRanks() const { return transport.numRanks; }
  /// What this rank was in the group that was split first, or what it is: tells
  /// its host.
  unsigned originalRank() const { return original; }
  /// Ranks that share the processor of this one.
  unsigned ranksHere() const { return neighbours; }
  /// Of the transport: the same for ranks that may share memory, or below 0.
  int host() const { return transport.host; }
  /// A StreamGroup is of interest to some rank.
  bool haveStreams() const { return someHaveStreams; }
  bool haveGPUs() const { return someHaveGPUs; }
  /// Ranks that do not share memory with this one.
  unsigned numRemote() const;
  bool sharesMemory(unsigned peer) const {
    return shared && shared->reaches(peer);
  }
  bool areSeveralHosts() const;
  /// "rank 3", or with the name of its host if there are several.
  std::string nameOf(unsigned rank) const;
  /// Tags for the messages of programs.
  unsigned numTags() const { return transport.numTags - firstTag; }
  /// The transport takes memory of a GPU of `kind`.
  bool carries(scclDeviceKind kind) const {
    return transport.devices >> kind & 1;
  }

  /// The tags of what goes by the transport in any case, below those of
  /// programs: of what all ranks gather, and of rounds.
  static constexpr int gatherTag = -2, roundTag = -1;
  /// Makes room for `count` messages under way, with tags below `tags`; they
  /// have the numbers from 0 on. Fails if the transport has none.
  Status reserve(unsigned count, unsigned tags);
  /// The most messages that `poll` needs room for.
  unsigned mostEnded() const { return firstMessage() + room; }
  // Fail with what the transport says, and with who is at the other end.
  /// A message that `asks` ends when it is taken, others maybe earlier.
  Status send(unsigned number, const void *data, uint64_t bytes, unsigned peer,
              int tag, bool asks);
  Status receive(unsigned number, void *data, uint64_t bytes, unsigned peer,
                 int tag);
  /// Fills in those of the messages that have ended, of which there is room for
  /// all, and reads what others have to say. Fails if the group is out of use.
  Status poll(scclCompletion *ended, unsigned &count);
  /// Fails if the transport has come to its end.
  Status checkTransport() const;
  /// The next `poll` reads in any case; it may leave out the transport while
  /// that has nothing of this rank.
  void hurry() { idlePolls = 0; }
  /// What is wrong with a message that has ended.
  Status errorOf(const scclCompletion &ended, unsigned peer) const;

  /// Gives up, for all ranks; the first cause counts. `text` says more.
  void raise(const AbortCause &cause, const std::string &text);
  /// The same for a failure on this rank.
  void raise(const Status &status);
  /// Asks the thread that is in a launch to give up, or does so at once if
  /// there is none. Thread-safe in the former case.
  void abort();
  /// The next call of this rank. Gives up if some rank has told that it has
  /// made another one.
  void beginCall(const CallHistory::Announcement &what);
  const CallMark &call() const { return calls.current(); }
  /// The number of the last call of `peer` that it has told of; 0: of none.
  uint64_t lastCallOf(unsigned peer) const { return lastCalls[peer]; }
  /// Gives up unless `peer` is in the call of this rank, whose mark came with a
  /// message of the call.
  void compare(unsigned peer, const CallMark &mark);
  /// Tells `peers` of the current call, as soon as that can be; `note` says why
  /// it has failed.
  void tellCall(llvm::ArrayRef<unsigned> peers, const std::string &note);
  void tellAllOfCall(const std::string &note);
  /// Asks `peer` whether it is there, and whom it waits for, and tells that
  /// this rank waits for `mainPeer`.
  void ask(unsigned peer, unsigned mainPeer);
  const Inquiry &inquiry() const { return theInquiry; }
  /// Something has come or gone.
  void restartInquiry();
  /// "rank 0 has waited 20 s": this one, for as long as it may.
  std::string hasWaited() const;
  /// Why nothing comes from `peer`, after "rank 3, ".
  std::string explainSilence(unsigned peer) const;
  bool isPoisoned() const { return cause.load() != 0; }
  /// Why the group is out of use; success if it is not.
  Status poison() const;

  /// Marks this rank as being in a launch; false if it is in one. Waits for a
  /// thread that aborts, or is beside.
  bool enter();
  /// The same for a thread beside the caller's, which waits for nobody.
  bool enterBeside() { return become(User::Beside) == User::None; }
  void leave() { user = User::None; }

  const scclConfig config;
  /// By the transport, until ranks can do it by messages.
  Bootstrap bootstrap;
  const unsigned origin; ///< tells the process, see Fork.h
  std::unique_ptr<Device> device;

private:
  /// What ranks tell each other beside programs. The text may be cut off.
  struct Control {
    enum Kind : uint32_t {
      Cause,    ///< the group is out of use
      Call,     ///< `call`, and why it has failed, if it has
      Question, ///< whether the peer answers
      Answer    ///< to that
    };
    uint32_t kind;
    uint32_t rank;  ///< for which an answering rank waits
    uint64_t cause; ///< or the number of an inquiry
    uint64_t group; ///< MPI may keep messages of an earlier one
    CallMark call;  ///< of the sender, but for causes
    char text[456];
    void setText(const std::string &words);
  };
  static_assert(sizeof(Control) == 512);
  /// The tag of such messages, and of the first of programs.
  static constexpr int controlTag = 0, firstTag = 3;

  Status prepare();
  Status listen();
  Status meet(const Status &arguments, bool hasStreams,
              std::vector<unsigned> &here);
  void tell(unsigned peer, const Control &message);
  void tellAll(const Control &message);
  void tellOwed();
  bool pollTransport(scclCompletion *ended, unsigned &count);
  void hear(const Control &message, unsigned from);
  void answer();
  void take(const Control &cause);
  void raiseMismatch(unsigned peer, const CallMark &mark);
  /// The numbers of messages: what is heard, what is told, and those of
  /// programs. A question on its way stops no cause, nor a call.
  unsigned outboxOf(unsigned peer, Control::Kind kind) const {
    unsigned turn = kind == Control::Cause ? 0 : kind == Control::Call ? 1 : 2;
    return turn * numRanks() + peer;
  }
  int firstMessage() const { return 1 + int(outboxes.size()); }
  Status fail(int error, const std::string &what) const;

  const unsigned original;
  scclTransport transport;
  unsigned neighbours = 1, room = 0;
  bool someHaveStreams = false, someHaveGPUs = false;
  uint64_t nonce = 0;    ///< of the group
  unsigned underWay = 0; ///< messages of the transport, but what is heard
  unsigned idlePolls = 0;
  std::unique_ptr<SharedMessages> shared; ///< null: all goes through transport
  Control heard = {};                     ///< where the next one arrives
  struct Outbox {
    Control message;
    bool isUnderWay = false;
  };
  std::vector<Outbox> outboxes; ///< three for each rank
  std::vector<char> isOwed;     ///< by rank: an answer
  std::vector<uint64_t> owed;   ///< to the inquiry of that number
  CallHistory calls;
  std::vector<char> isUntold; ///< by rank: the current call is to be told
  unsigned numUntold = 0;
  std::string ownNote;             ///< why the current call has failed
  std::vector<std::string> notes;  ///< by rank
  std::vector<uint64_t> lastCalls; ///< by rank
  std::vector<std::string> hosts;  ///< by rank
  std::thread::id joiner = std::this_thread::get_id();
  Inquiry theInquiry;
  unsigned waitsFor = Inquiry::nobody;
  std::atomic<uint64_t> cause = 0; ///< an encoded AbortCause
  std::string causeText;           ///< written before `cause`
  /// Who sends and receives, of which a transport may allow one at a time.
  enum class User { None, Launch, Abort, Beside };
  /// Returns `None` if it is `next` now, else who it is.
  User become(User next);

  std::atomic<User> user = User::None;
  std::atomic<bool> wantsAbort = false;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_MESSAGEGROUP_H
