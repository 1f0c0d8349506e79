//===- LoopTransport.h - Messages among threads -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scclTransport within a process. Messages between two ranks may overtake
// each other unless their tags are the same, and may fail.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_RUNTIME_LOOPTRANSPORT_H
#define SCCL_TEST_RUNTIME_LOOPTRANSPORT_H

#include "sccl/Measure/Ranks.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>
#include <random>
#include <vector>

namespace sccl {

/// The wires between all ranks. A message is taken when both ends have asked
/// for it, and ends then, as a synchronous send of MPI.
class LoopNetwork {
public:
  explicit LoopNetwork(unsigned seed = 1) : random(seed) {}

  scclTransport transport(const RankEnd &end) {
    scclTransport made = {};
    made.size = sizeof(made);
    made.context = new Rank{*this, end, {}, {}};
    made.rank = end.rank;
    made.numRanks = end.numRanks;
    made.numTags = numTags;
    made.host = ranksOfHost ? int(end.rank / ranksOfHost) : -1;
    made.allGather = allGather;
    made.reserve = [](void *context, int count) {
      auto *rank = static_cast<Rank *>(context);
      std::lock_guard lock(rank->network.mutex);
      rank->messages.reserve(count);
      rank->ended.reserve(count);
      return 0;
    };
    made.send = [](void *context, int request, const void *data, size_t bytes,
                   int peer, int tag) {
      return send(context, data,
                  {request, true, nullptr, bytes, rankOf(context), peer, tag},
                  isBuffered(context));
    };
    made.sendAsking = [](void *context, int request, const void *data,
                         size_t bytes, int peer, int tag) {
      return send(context, data,
                  {request, true, nullptr, bytes, rankOf(context), peer, tag},
                  /*isBuffered=*/false);
    };
    made.receive = [](void *context, int request, void *data, size_t bytes,
                      int peer, int tag) {
      return post(context,
                  {request, false, data, bytes, peer, rankOf(context), tag});
    };
    made.poll = poll;
    made.close = [](void *context, int) {
      auto *rank = static_cast<Rank *>(context);
      rank->network.forget(rank);
      delete rank;
    };
    made.errorText = [](void *, int) { return "the wire is cut"; };
    made.anyThread = hasThreads;
    made.devices = devices;
    adjust(made);
    return made;
  }

  int numTags = 32768;
  bool hasThreads = false;  ///< any thread may send and receive
  unsigned ranksOfHost = 0; ///< that share memory; 0: none do
  uint64_t devices = 0;     ///< whose memory it takes; see scclTransport
  /// Called with what a rank gets.
  std::function<void(scclTransport &)> adjust = [](scclTransport &) {};
  /// Messages of programs that are taken before all others fail, or are never
  /// taken; -1: there are none such.
  std::atomic<int> failsAfter = -1, cutAfter = -1;
  /// The rank whose messages are never taken then, and that takes none; -1: all
  /// but what ranks tell each other beside programs.
  int lostRank = -1;
  /// Messages that do not ask end at once.
  bool buffers = false;
  /// Called before a rank sends; set before there are ranks.
  std::function<void(int rank)> onSend = [](int) {};
  unsigned taken = 0;
  std::atomic<unsigned> polls = 0; ///< calls by all ranks

private:
  /// Tags from this one on are of programs; the ones below are of what ranks
  /// tell each other beside.
  static constexpr int firstTag = 2;
  struct Message {
    int request;
    bool isSend;
    void *data;
    size_t bytes;
    int from, to, tag;
    std::vector<char> copy = {}; ///< of what has ended already
  };
  struct Rank {
    LoopNetwork &network;
    RankEnd end;
    std::vector<Message> messages;
    std::vector<scclCompletion> ended;
  };

  static int rankOf(void *context) {
    return int(static_cast<Rank *>(context)->end.rank);
  }
  static bool isBuffered(void *context) {
    return static_cast<Rank *>(context)->network.buffers;
  }
  static int allGather(void *context, const void *mine, void *all,
                       size_t bytes) {
    const RankEnd &end = static_cast<Rank *>(context)->end;
    return end.allGather(end.context, mine, all, bytes);
  }

  static int post(void *context, Message message) {
    auto *rank = static_cast<Rank *>(context);
    std::lock_guard lock(rank->network.mutex);
    rank->network.members.resize(rank->end.numRanks);
    rank->network.members[rank->end.rank] = rank;
    if (!message.copy.empty())
      rank->ended.push_back({message.request, 0, 0, 0});
    rank->messages.push_back(std::move(message));
    return 0;
  }
  static int send(void *context, const void *data, Message message,
                  bool isBuffered) {
    static_cast<Rank *>(context)->network.onSend(rankOf(context));
    auto *bytes = static_cast<const char *>(data);
    message.data = const_cast<void *>(data);
    if (isBuffered) {
      message.copy.assign(bytes, bytes + message.bytes);
      message.data = message.copy.data();
    }
    return post(context, std::move(message));
  }
  bool isCut(const Message &sent) const {
    if (cutAfter < 0 || int(taken) < cutAfter)
      return false;
    return lostRank < 0 ? sent.tag >= firstTag
                        : sent.from == lostRank || sent.to == lostRank;
  }

  void forget(Rank *rank) {
    std::lock_guard lock(mutex);
    for (Rank *&member : members)
      if (member == rank)
        member = nullptr;
  }

  /// Joins what `rank` receives with what others send, now and then.
  void takeMessages(Rank &rank) {
    for (size_t i = 0; i < rank.messages.size();)
      if (rank.messages[i].isSend || random() % 4 == 0 || !take(rank, i))
        ++i;
  }

  /// Whether somebody sends what message `index` of `receiver` is to be.
  bool take(Rank &receiver, size_t index) {
    const Message &wanted = receiver.messages[index];
    for (size_t i = 0; i < index; ++i)
      if (const Message &other = receiver.messages[i];
          !other.isSend && other.from == wanted.from && other.tag == wanted.tag)
        return false;
    for (Rank *sender : members) {
      if (!sender || (wanted.from >= 0 && int(sender->end.rank) != wanted.from))
        continue;
      for (size_t i = 0; i < sender->messages.size(); ++i) {
        const Message &sent = sender->messages[i];
        if (!sent.isSend || sent.to != int(receiver.end.rank) ||
            sent.tag != wanted.tag)
          continue;
        if (isCut(sent))
          break;
        int error = failsAfter >= 0 && int(taken) >= failsAfter ? 7 : 0;
        taken += sent.tag >= firstTag;
        if (size_t bytes = std::min(sent.bytes, wanted.bytes); bytes != 0)
          std::memcpy(wanted.data, sent.data, bytes);
        receiver.ended.push_back(
            {wanted.request, error, int(sender->end.rank), sent.bytes});
        if (sent.copy.empty())
          sender->ended.push_back({sent.request, error, 0, 0});
        sender->messages.erase(sender->messages.begin() + i);
        receiver.messages.erase(receiver.messages.begin() + index);
        return true;
      }
    }
    return false;
  }

  static int poll(void *context, scclCompletion *ended, int most, int *count) {
    auto *rank = static_cast<Rank *>(context);
    ++rank->network.polls;
    std::lock_guard lock(rank->network.mutex);
    rank->network.takeMessages(*rank);
    *count = 0;
    while (*count < most && !rank->ended.empty()) {
      ended[(*count)++] = rank->ended.back();
      rank->ended.pop_back();
    }
    return 0;
  }

  std::mutex mutex;
  std::vector<Rank *> members;
  std::minstd_rand random;
};

} // namespace sccl

#endif // SCCL_TEST_RUNTIME_LOOPTRANSPORT_H
