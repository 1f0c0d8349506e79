//===- stand-in-messages.cpp - Messages of the stand-in -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks are threads, on the drivers of test/Runtime/fake. A group is one thing
// in a stream: it sends all that it has to send and receives what it has to
// receive, in the order in which it names them, and ends when others have taken
// what it has sent. So ranks whose groups do not fit together wait, for 5 s,
// which then is an error.
//
//===----------------------------------------------------------------------===//

#include "StandIn.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include <dlfcn.h>

namespace {
/// What is sent and not received yet.
struct Letter {
  const void *data;
  size_t bytes;
  bool isTaken = false;
};
/// A send or a receive.
struct Call {
  void *data;
  size_t bytes;
  int peer;
  bool sends;
};
/// Calls of one rank in one stream.
struct Exchange {
  StandInMessages *of;
  void *stream;
  std::vector<Call> calls;
};
} // namespace

struct StandInMeeting {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<int, int>, std::deque<Letter *>> ways; ///< from, to
};
struct StandInMessages {
  std::shared_ptr<StandInMeeting> world;
  int rank;
  std::atomic<bool> isAborted{false};
  std::atomic<int> error{0};
  /// Graphs may repeat them.
  std::deque<Exchange> exchanges;

  void execute(const Exchange &exchange);
};

std::shared_ptr<StandInMessages> joinStandIns(const std::string &id, int rank) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<StandInMeeting>> worlds;
  std::lock_guard lock(mutex);
  std::shared_ptr<StandInMeeting> world = worlds[id].lock();
  if (!world)
    worlds[id] = world = std::make_shared<StandInMeeting>();
  auto made = std::make_shared<StandInMessages>();
  made->world = world;
  made->rank = rank;
  return made;
}

ncclResult_t errorOfMessages(const StandInMessages &messages) {
  return ncclResult_t(messages.error.load());
}

void abortMessages(const std::shared_ptr<StandInMessages> &messages) {
  // Streams may still be about to come here.
  static std::vector<std::shared_ptr<StandInMessages>> kept;
  std::lock_guard lock(messages->world->mutex);
  kept.push_back(messages);
  messages->isAborted = true;
  messages->world->changed.notify_all();
}

void StandInMessages::execute(const Exchange &exchange) {
  constexpr std::chrono::seconds patience{5};
  std::unique_lock lock(world->mutex);
  auto await = [&](auto condition) {
    bool isInTime = world->changed.wait_for(
        lock, patience, [&] { return isAborted || condition(); });
    if (!isInTime)
      error = ncclSystemError;
    return isInTime && !isAborted;
  };
  std::deque<Letter> sent;
  for (const Call &call : exchange.calls)
    if (call.sends) {
      sent.push_back({call.data, call.bytes});
      world->ways[{rank, call.peer}].push_back(&sent.back());
    }
  world->changed.notify_all();
  bool isFine = !isAborted;
  for (const Call &call : exchange.calls) {
    if (call.sends || !isFine)
      continue;
    std::deque<Letter *> &way = world->ways[{call.peer, rank}];
    if (!(isFine = await([&] { return !way.empty(); })))
      continue;
    Letter &letter = *way.front();
    way.pop_front();
    if (letter.bytes != call.bytes)
      error = ncclInvalidUsage;
    std::memcpy(call.data, letter.data, std::min(letter.bytes, call.bytes));
    letter.isTaken = true;
    world->changed.notify_all();
  }
  for (Letter &letter : sent)
    isFine = isFine && await([&] { return letter.isTaken; });
  // What nobody has taken is gone.
  for (auto &[ends, way] : world->ways)
    for (Letter &letter : sent)
      std::erase(way, &letter);
}

/// Messages from one rank to another that there were in this process.
static std::mutex countMutex;
static std::map<std::pair<int, int>, unsigned> sends;
extern "C" __attribute__((visibility("default"))) unsigned
scclStandInSends(int from, int to) {
  std::lock_guard lock(countMutex);
  return sends[{from, to}];
}

static thread_local int depth = 0;
static thread_local std::vector<Exchange> open;

/// Enqueues an exchange, by the driver whose stream it is.
static ncclResult_t enqueue(const Exchange &exchange) {
  using Launch = int(void *, void (*)(void *), void *);
  exchange.of->exchanges.push_back(exchange);
  auto call = [](void *data) {
    auto *exchange = static_cast<Exchange *>(data);
    exchange->of->execute(*exchange);
  };
  for (auto [library, name] :
       {std::pair("libcuda.so.1", "cuLaunchHostFunc"),
        std::pair("libamdhip64.so", "hipLaunchHostFunc")}) {
    void *driver = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    auto *launch =
        driver ? reinterpret_cast<Launch *>(dlsym(driver, name)) : nullptr;
    if (launch &&
        launch(exchange.stream, call, &exchange.of->exchanges.back()) == 0)
      return ncclSuccess;
  }
  return ncclUnhandledCudaError;
}

SCCL_VENDOR_API ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}

extern std::atomic<bool> someGoOn;

SCCL_VENDOR_API ncclResult_t ncclGroupEnd() {
  ncclResult_t result = someGoOn ? ncclInProgress : ncclSuccess;
  if (--depth != 0)
    return result;
  for (const Exchange &exchange : open)
    if (ncclResult_t code = enqueue(exchange))
      result = code;
  open.clear();
  return result;
}

static ncclResult_t add(const char *name, ncclComm_t comm, void *stream,
                        const Call &call) {
  auto *own = static_cast<StandIn *>(comm);
  // Programs that share no GPU only want to know that the call came here.
  if (!stream) {
    std::printf("vendor: %s by rank %d of %d\n", name, own->rank,
                own->numRanks);
    return ncclSuccess;
  }
  if (isToFail(name, own->rank))
    return ncclSystemError;
  if (depth == 0 || call.peer < 0 || call.peer >= own->numRanks ||
      call.peer == own->rank)
    return ncclInvalidUsage;
  if (call.sends) {
    std::lock_guard lock(countMutex);
    ++sends[{own->rank, call.peer}];
  }
  StandInMessages *of = own->messages.get();
  for (Exchange &exchange : open)
    if (exchange.of == of && exchange.stream == stream) {
      exchange.calls.push_back(call);
      return ncclSuccess;
    }
  open.push_back({of, stream, {call}});
  return ncclSuccess;
}

SCCL_VENDOR_API ncclResult_t ncclSend(const void *data, size_t count, int,
                                      int peer, ncclComm_t comm, void *stream) {
  return add("ncclSend", comm, stream,
             {const_cast<void *>(data), count, peer, true});
}
SCCL_VENDOR_API ncclResult_t ncclRecv(void *data, size_t count, int, int peer,
                                      ncclComm_t comm, void *stream) {
  return add("ncclRecv", comm, stream, {data, count, peer, false});
}
