//===- MessageGroup.cpp - Ranks that exchange messages --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageGroup.h"

#include "Runtime/Fork.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>

#include <thread>
#include <unistd.h>

using namespace sccl;

namespace {
/// What ranks tell each other when they join.
struct MessageHello {
  uint32_t magic, version;
  uint32_t rank, numRanks;
  uint64_t machine;
  uint64_t nonce; ///< that of rank 0 counts
  int32_t host;
  uint32_t numTags;
  uint32_t hasStreams, hasGPU;
  double timeoutSeconds;
  char hostName[64];
  Outcome outcome;
};
} // namespace

static constexpr uint32_t messageHelloMagic = 0x4d434353; // "SCCM"

MessageGroup::MessageGroup(const scclTransport &transport,
                           const scclConfig &config, unsigned original)
    : config(keptConfig(config)),
      bootstrap(transport.allGather, transport.context, transport.rank,
                transport.numRanks),
      origin(forkCount()), original(original), transport(transport),
      theInquiry(transport.numRanks) {}

MessageGroup::~MessageGroup() {
  if (origin == forkCount())
    transport.close(transport.context, isPoisoned());
}

Status MessageGroup::split(int color, int key, const Status &arguments,
                           scclTransport &result) const {
  Status status = attempt([&]() -> Status {
    if (arguments.ok() && !transport.split)
      return {scclErrorUnsupported, "the transport cannot be split"};
    return arguments.ok() ? poison() : arguments;
  });
  if (status = bootstrap.agree(status); !status.ok())
    return status;
  int error = transport.split(transport.context, color, key, &result);
  status = bootstrap.agree(
      attempt([&] { return fail(error, "cannot split the transport"); }));
  if (!status.ok() && error == 0 && color >= 0)
    result.close(result.context, /*failed=*/0);
  return status;
}

/// Fails on every rank in the same way if the ranks do not fit together (check
/// M1).
static Status compareHellos(const Gathered<MessageHello> &hellos,
                            unsigned rank) {
  const MessageHello &own = hellos[rank];
  for (unsigned other = 0; other < hellos.size(); ++other) {
    const MessageHello &hello = hellos[other];
    std::string who = "rank " + std::to_string(other);
    if (hello.magic != own.magic || hello.version != own.version)
      return {scclErrorMismatch, who +
                                     " has another version of libsccl than "
                                     "rank " +
                                     std::to_string(rank) + " (M1)"};
    if (hello.rank != other || hello.numRanks != own.numRanks)
      return {scclErrorMismatch,
              "the all-gather put rank " + std::to_string(hello.rank) + " of " +
                  std::to_string(hello.numRanks) + " in the place of " + who};
  }
  return {};
}

/// What a rank says if `status` is all that there is to say.
static MessageHello greet(const scclTransport &transport,
                          const Status &status) {
  MessageHello hello = {};
  hello.magic = messageHelloMagic;
  hello.version = SCCL_VERSION_CODE;
  hello.rank = transport.rank;
  hello.numRanks = transport.numRanks;
  hello.host = transport.host;
  hello.numTags = transport.numTags;
  // Cut off if it is too long, and empty if there is none.
  (void)gethostname(hello.hostName, sizeof(hello.hostName) - 1);
  hello.outcome = Outcome(status);
  return hello;
}

Status MessageGroup::decline(const scclTransport &transport,
                             const Status &why) {
  Gathered<MessageHello> hellos(transport.numRanks);
  Bootstrap bootstrap(transport.allGather, transport.context, transport.rank,
                      transport.numRanks);
  (void)bootstrap.gather(greet(transport, why), hellos);
  transport.close(transport.context, /*failed=*/0);
  return why;
}

/// Finds out who the others are, and which of them share memory with this rank.
Status MessageGroup::meet(const Status &arguments, bool hasStreams,
                          std::vector<unsigned> &here) {
  uint64_t machine = 0;
  Status status = attempt([&] {
    here.reserve(numRanks());
    hosts.reserve(numRanks());
    Status status = arguments;
    if (status.ok())
      status = watchForks();
    return status.ok() ? machineId(machine, original) : status;
  });
  MessageHello hello = greet(transport, status);
  hello.machine = machine;
  hello.hasStreams = hasStreams;
  hello.hasGPU = config.device != scclDeviceCPU;
  // Earlier groups of the rank had another time.
  hello.nonce = std::chrono::system_clock::now().time_since_epoch().count();
  Gathered<MessageHello> hellos(numRanks());
  if (Status gathered = bootstrap.gather(hello, hellos); !gathered.ok())
    return gathered;
  if (Status same = compareHellos(hellos, rank()); !same.ok())
    return same;
  if (status = bootstrap.agree(status, hellos); !status.ok())
    return status;
  nonce = hellos[0].nonce;
  neighbours = 0;
  for (const MessageHello &other : hellos) {
    neighbours += other.machine == hello.machine;
    someHaveStreams |= other.hasStreams != 0;
    someHaveGPUs |= other.hasGPU != 0;
    if (other.rank == rank() || (other.machine == hello.machine &&
                                 other.host >= 0 && other.host == hello.host))
      here.push_back(other.rank);
    transport.numTags = std::min(transport.numTags, int(other.numTags));
  }
  return bootstrap.agree(attempt([&] {
    for (const MessageHello &other : hellos)
      hosts.push_back(other.hostName);
    return prepare();
  }));
}

/// Makes room for what is said and heard.
Status MessageGroup::prepare() {
  device = createMessageDevice();
  outboxes.resize(3 * numRanks());
  isUntold.resize(numRanks());
  calls.prepare(numRanks());
  isOwed.resize(numRanks());
  owed.resize(numRanks());
  notes.resize(numRanks());
  lastCalls.resize(numRanks());
  causeText.reserve(sizeof(Control));
  return {};
}

Status MessageGroup::connect(const Status &arguments, bool hasStreams) {
  std::vector<unsigned> here;
  if (Status status = meet(arguments, hasStreams, here); !status.ok())
    return status;
  // Where there is no such memory, the transport will do.
  (void)SharedMessages::create(bootstrap, rank(), here, shared);
  return bootstrap.agree(attempt([&] {
    Status status = reserve(0, 0);
    return status.ok() ? listen() : status;
  }));
}

unsigned MessageGroup::numRemote() const {
  unsigned count = 0;
  for (unsigned peer = 0; peer < numRanks(); ++peer)
    count += peer != rank() && !sharesMemory(peer);
  return count;
}

bool MessageGroup::areSeveralHosts() const {
  return std::any_of(hosts.begin(), hosts.end(), [&](const std::string &host) {
    return host != hosts.front();
  });
}

std::string MessageGroup::nameOf(unsigned rank) const {
  std::string name = "rank " + std::to_string(rank);
  return areSeveralHosts() ? name + " on host " + hosts[rank] : name;
}

/// Is ready for what others have to say.
Status MessageGroup::listen() {
  heard = {};
  return fail(transport.receive(transport.context, 0, &heard, sizeof(heard),
                                SCCL_ANY_RANK, controlTag),
              "cannot receive messages");
}

Status MessageGroup::fail(int error, const std::string &what) const {
  if (error == 0)
    return {};
  return {scclErrorSystem,
          what + ": " + transport.errorText(transport.context, error)};
}

Status MessageGroup::checkTransport() const {
  int none = 0;
  int error = transport.poll(transport.context, nullptr, 0, &none);
  // Words only where they are needed: launches do not allocate.
  return error == 0 ? Status() : fail(error, "cannot exchange messages");
}

Status MessageGroup::reserve(unsigned count, unsigned tags) {
  constexpr unsigned most = 1 << 24;
  if (count > most)
    return {scclErrorUnsupported, "the plan has " + std::to_string(count) +
                                      " messages under way, the limit is " +
                                      std::to_string(most)};
  int total = firstMessage() + int(std::max(count, room));
  if (Status status = fail(transport.reserve(transport.context, total),
                           "cannot prepare messages");
      !status.ok())
    return status;
  room = std::max(count, room);
  if (shared)
    shared->reserve(room, tags);
  return {};
}

Status MessageGroup::send(unsigned number, const void *data, uint64_t bytes,
                          unsigned peer, int tag, bool asks) {
  if (sharesMemory(peer) && tag >= 0) {
    shared->send(number, data, bytes, peer, tag);
    return {};
  }
  ++underWay;
  auto *send = asks ? transport.sendAsking : transport.send;
  int error = send(transport.context, firstMessage() + int(number), data, bytes,
                   int(peer), tag + firstTag);
  // Text only where it is needed: launches do not allocate.
  return error == 0
             ? Status()
             : fail(error, "cannot send to rank " + std::to_string(peer));
}

Status MessageGroup::receive(unsigned number, void *data, uint64_t bytes,
                             unsigned peer, int tag) {
  if (sharesMemory(peer) && tag >= 0) {
    shared->receive(number, data, bytes, peer, tag);
    return {};
  }
  ++underWay;
  int error = transport.receive(transport.context, firstMessage() + int(number),
                                data, bytes, int(peer), tag + firstTag);
  return error == 0
             ? Status()
             : fail(error, "cannot receive from rank " + std::to_string(peer));
}

Status MessageGroup::errorOf(const scclCompletion &ended, unsigned peer) const {
  if (ended.error == 0)
    return {};
  return {scclErrorRankLost,
          "a message between rank " + std::to_string(rank()) + " and rank " +
              std::to_string(peer) + " failed: " +
              transport.errorText(transport.context, ended.error)};
}

/// Adds those of the transport's messages that have ended to the `count` there
/// are. True if some rank has said something: then there may be more.
bool MessageGroup::pollTransport(scclCompletion *ended, unsigned &count) {
  int found = 0;
  bool hasHeard = false;
  scclCompletion *next = ended + count;
  int error =
      transport.poll(transport.context, next, int(mostEnded() - count), &found);
  if (error != 0)
    raise(fail(error, "cannot wait for messages"));
  for (int i = 0; i < found; ++i) {
    underWay -= next[i].request != 0;
    if (next[i].request >= firstMessage()) {
      ended[count] = next[i];
      ended[count++].request -= firstMessage();
    } else if (next[i].request == 0) {
      if (next[i].error == 0)
        hear(heard, next[i].peer);
      hasHeard = next[i].error == 0;
    } else {
      outboxes[next[i].request - 1].isUnderWay = false;
    }
  }
  return hasHeard;
}

Status MessageGroup::poll(scclCompletion *ended, unsigned &count) {
  count = 0;
  // All may have something to say at once.
  unsigned turns = 2 * numRanks();
  constexpr unsigned patience = 8;
  if (underWay != 0 || idlePolls++ % patience == 0)
    while (pollTransport(ended, count) && turns-- != 0)
      ;
  answer();
  tellOwed();
  if (shared) {
    shared->poll(ended, count);
    if (unsigned peer = shared->stranger(); peer < numRanks())
      compare(peer, shared->markOfStranger());
  }
  if (wantsAbort.load(std::memory_order_relaxed))
    raise({scclErrorAborted, rank(), rank()}, "");
  return poison();
}

MessageGroup::User MessageGroup::become(User next) {
  User before = User::None;
  user.compare_exchange_strong(before, next);
  return before;
}

bool MessageGroup::enter() {
  User other;
  while ((other = become(User::Launch)) == User::Abort || other == User::Beside)
    std::this_thread::yield();
  return other == User::None;
}

void MessageGroup::abort() {
  wantsAbort = true;
  User other;
  while ((other = become(User::Abort)) == User::Beside)
    std::this_thread::yield();
  if (other != User::None)
    return; // the thread that is in a launch does it
  raise({scclErrorAborted, rank(), rank()}, "");
  leave();
}

Status MessageGroup::poison() const {
  uint64_t word = cause.load(std::memory_order_relaxed);
  if (word == 0)
    return {};
  AbortCause why = AbortCause::decode(word);
  std::string who = "rank " + std::to_string(why.culprit);
  if (why.code == scclErrorAborted)
    return {why.code, who + " has aborted the communicator"};
  if (why.culprit == rank() || why.code == scclErrorTimeout ||
      why.code == scclErrorMismatch || why.code == scclErrorRankLost)
    return {why.code, causeText};
  return {why.code, "the communicator failed on " + who + ": " + causeText};
}
