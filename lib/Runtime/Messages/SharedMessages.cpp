//===- SharedMessages.cpp - Messages within a host ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMessages.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

using namespace sccl;

/// Tags that the ring of a pipe has room for; further ones wait.
static constexpr unsigned maxAnnounced = 1024;
/// Data that the ring of a pipe has room for: so much for all pipes to a rank,
/// within these limits.
static constexpr uint64_t allRingBytes = 2 << 20, mostRingBytes = 256 << 10,
                          leastRingBytes = 16 << 10;

namespace {
/// Part of a message, as it stands in a ring before its bytes.
struct Fragment {
  uint32_t tag, bytes;
  uint64_t messageBytes;
  uint64_t call, history; ///< see CallMark
};
/// The receiver takes one fragment while the next one is written. Divides the
/// sizes of rings, as the alignment does.
constexpr uint64_t mostFragmentBytes = 32 << 10;
constexpr uint64_t fragmentAlignment = 32;
static_assert(sizeof(Fragment) == fragmentAlignment);

struct SharedHello {
  SharedMemoryHandle memory;
  Outcome outcome;
};
} // namespace

/// From one rank to another; in the memory of the one that receives. The
/// numbers only grow; whoever writes one alone writes it.
struct SharedMessages::Pipe {
  alignas(64) std::atomic<uint64_t> written;   ///< bytes of the ring
  alignas(64) std::atomic<uint64_t> taken;     ///< of these
  alignas(64) std::atomic<uint64_t> announced; ///< tags
  alignas(64) std::atomic<uint64_t> seen;      ///< of these
  /// Of the call of the rank that writes. Read where it differs.
  alignas(64) std::atomic<uint64_t> number, signature, count;
  alignas(64) uint32_t tags[maxAnnounced];
  char *ring() { return reinterpret_cast<char *>(this + 1); }
};

struct SharedMessages::Peer {
  struct Send {
    unsigned number, tag;
    const char *data;
    uint64_t bytes, done;
  };
  struct Receive {
    unsigned number;
    char *data;
    uint64_t bytes, done;
  };

  unsigned rank;
  Pipe *in, *out;
  std::vector<Send> sends;       ///< in the order in which they were asked for
  bool hasBegun = false;         ///< the first one of these
  std::vector<Receive> receives; ///< by tag
  std::vector<uint32_t> wanted;  ///< by tag: messages that the peer can take
  std::vector<uint32_t> toAnnounce;
};

SharedMessages::~SharedMessages() = default;

uint64_t SharedMessages::pipeBytes() const { return sizeof(Pipe) + ringBytes; }

SharedMessages::Pipe &SharedMessages::pipe(const SharedMemory &memory,
                                           unsigned number) const {
  return *reinterpret_cast<Pipe *>(memory.data() + number * pipeBytes());
}

SharedMessages::Peer &SharedMessages::peerOf(unsigned rank) {
  return peers[placeOf[rank]];
}

/// A power of two, so that fragments never end beyond the ring.
static uint64_t chooseRingBytes(size_t numPipes) {
  uint64_t bytes = mostRingBytes;
  while (bytes > leastRingBytes && bytes * numPipes > allRingBytes)
    bytes /= 2;
  return bytes;
}

/// Makes the memory of this rank and finds that of the others.
Status SharedMessages::open(const Bootstrap &bootstrap, unsigned rank,
                            const std::vector<unsigned> &here) {
  SharedHello hello = {};
  Status status = attempt([&]() -> Status {
    others.resize(here.size());
    if (here.size() <= 1)
      return {};
    ringBytes = chooseRingBytes(here.size() - 1);
    return own.create((here.size() - 1) * pipeBytes());
  });
  hello.outcome = Outcome(status);
  if (status.ok() && here.size() > 1)
    hello.memory = own.handle();
  Gathered<SharedHello> hellos(bootstrap.size());
  if (Status gathered = bootstrap.gather(hello, hellos); !gathered.ok())
    return gathered;
  if (status = bootstrap.agree(status, hellos); !status.ok())
    return status;
  status = bootstrap.agree(attempt([&] {
    Status status;
    for (unsigned place = 0; place < here.size() && status.ok(); ++place)
      if (here[place] != rank)
        status = others[place].open(hellos[here[place]].memory);
    if (status.ok() && here.size() > 1)
      connect(rank, here);
    return status;
  }));
  own.seal();
  return status;
}

/// Pipes of a rank are in the order of those who write to them.
void SharedMessages::connect(unsigned rank, const std::vector<unsigned> &here) {
  unsigned ownPlace = std::find(here.begin(), here.end(), rank) - here.begin();
  placeOf.assign(here.back() + 1, -1);
  for (unsigned place = 0; place < here.size(); ++place) {
    if (place == ownPlace)
      continue;
    Peer peer = {};
    peer.rank = here[place];
    peer.in = &pipe(own, place - (place > ownPlace));
    peer.out = &pipe(others[place], ownPlace - (ownPlace > place));
    placeOf[peer.rank] = int(peers.size());
    peers.push_back(std::move(peer));
  }
}

Status SharedMessages::create(const Bootstrap &bootstrap, unsigned rank,
                              const std::vector<unsigned> &here,
                              std::unique_ptr<SharedMessages> &result) {
  std::unique_ptr<SharedMessages> made(new (std::nothrow) SharedMessages);
  Status status;
  if (!made)
    status = {scclErrorOutOfMemory, "out of memory"};
  if (status = bootstrap.agree(status); !status.ok())
    return status;
  if (status = made->open(bootstrap, rank, here); !status.ok())
    return status;
  if (here.size() > 1)
    result = std::move(made);
  return {};
}

void SharedMessages::reserve(unsigned count, unsigned tags) {
  for (Peer &peer : peers) {
    peer.sends.reserve(count);
    peer.toAnnounce.reserve(count);
    peer.receives.resize(std::max<size_t>(peer.receives.size(), tags));
    peer.wanted.resize(peer.receives.size());
  }
}

void SharedMessages::setCall(const CallMark &mark) {
  call = mark;
  for (Peer &peer : peers) {
    peer.out->number.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    peer.out->signature.store(mark.signature, std::memory_order_relaxed);
    peer.out->count.store(mark.count, std::memory_order_relaxed);
    peer.out->number.store(mark.number, std::memory_order_release);
  }
}

CallMark SharedMessages::markOfStranger() const {
  const Pipe &in = *peers[placeOf[theStranger]].in;
  CallMark mark = {strangerNumber, strangerHistory, CallMark::unknown, 0};
  if (in.number.load(std::memory_order_acquire) == strangerNumber) {
    mark.signature = in.signature.load(std::memory_order_relaxed);
    mark.count = in.count.load(std::memory_order_relaxed);
  }
  return mark;
}

void SharedMessages::send(unsigned number, const void *data, uint64_t bytes,
                          unsigned peer, unsigned tag) {
  peerOf(peer).sends.push_back(
      {number, tag, static_cast<const char *>(data), bytes, 0});
}

void SharedMessages::receive(unsigned number, void *data, uint64_t bytes,
                             unsigned peer, unsigned tag) {
  Peer &from = peerOf(peer);
  from.receives[tag] = {number, static_cast<char *>(data), bytes, 0};
  from.toAnnounce.push_back(tag);
}

/// Tells the peer what this rank can take, as far as there is room for it.
void SharedMessages::announce(Peer &peer) {
  if (peer.toAnnounce.empty())
    return;
  uint64_t announced = peer.in->announced.load(std::memory_order_relaxed);
  uint64_t room = maxAnnounced -
                  (announced - peer.in->seen.load(std::memory_order_acquire));
  size_t count = std::min<uint64_t>(room, peer.toAnnounce.size());
  for (size_t i = 0; i < count; ++i)
    peer.in->tags[announced++ % maxAnnounced] = peer.toAnnounce[i];
  peer.in->announced.store(announced, std::memory_order_release);
  peer.toAnnounce.erase(peer.toAnnounce.begin(),
                        peer.toAnnounce.begin() + count);
}

void SharedMessages::takeAnnounced(Peer &peer) {
  uint64_t announced = peer.out->announced.load(std::memory_order_acquire);
  uint64_t seen = peer.out->seen.load(std::memory_order_relaxed);
  if (seen == announced)
    return;
  for (; seen < announced; ++seen)
    if (uint32_t tag = peer.out->tags[seen % maxAnnounced];
        tag < peer.wanted.size())
      ++peer.wanted[tag];
  peer.out->seen.store(seen, std::memory_order_release);
}

/// Puts the first message that the peer can take before all others.
void SharedMessages::startNext(Peer &peer) {
  for (size_t i = 0; i < peer.sends.size(); ++i) {
    if (peer.wanted[peer.sends[i].tag] == 0)
      continue;
    --peer.wanted[peer.sends[i].tag];
    std::rotate(peer.sends.begin(), peer.sends.begin() + i,
                peer.sends.begin() + i + 1);
    peer.hasBegun = true;
    return;
  }
}

/// Writes a fragment of the first message; false if there is no room.
bool SharedMessages::write(Peer &peer) {
  Peer::Send &send = peer.sends.front();
  uint64_t written = peer.out->written.load(std::memory_order_relaxed);
  uint64_t at = written % ringBytes;
  uint64_t room =
      ringBytes - (written - peer.out->taken.load(std::memory_order_acquire));
  room = std::min(room, ringBytes - at);
  if (room < sizeof(Fragment))
    return false;
  uint64_t bytes = std::min(
      {room - sizeof(Fragment), send.bytes - send.done, mostFragmentBytes});
  Fragment fragment = {send.tag, uint32_t(bytes), send.bytes, call.number,
                       call.history};
  std::memcpy(peer.out->ring() + at, &fragment, sizeof(fragment));
  std::memcpy(peer.out->ring() + at + sizeof(fragment), send.data + send.done,
              bytes);
  send.done += bytes;
  uint64_t padded =
      (bytes + fragmentAlignment - 1) / fragmentAlignment * fragmentAlignment;
  peer.out->written.store(written + sizeof(fragment) + padded,
                          std::memory_order_release);
  return true;
}

void SharedMessages::sendMore(Peer &peer, scclCompletion *ended,
                              unsigned &count) {
  while (!peer.sends.empty()) {
    if (!peer.hasBegun)
      startNext(peer);
    if (!peer.hasBegun || !write(peer))
      return;
    const Peer::Send &send = peer.sends.front();
    if (send.done < send.bytes)
      continue;
    ended[count++] = {int(send.number), 0, int(peer.rank), send.bytes};
    peer.sends.erase(peer.sends.begin());
    peer.hasBegun = false;
  }
}

void SharedMessages::takeArrived(Peer &peer, scclCompletion *ended,
                                 unsigned &count) {
  uint64_t written = peer.in->written.load(std::memory_order_acquire);
  uint64_t taken = peer.in->taken.load(std::memory_order_relaxed);
  while (taken < written) {
    Fragment fragment;
    const char *at = peer.in->ring() + taken % ringBytes;
    std::memcpy(&fragment, at, sizeof(fragment));
    if (fragment.history != call.history || fragment.call != call.number) {
      theStranger = peer.rank;
      strangerNumber = fragment.call;
      strangerHistory = fragment.history;
      return;
    }
    Peer::Receive &receive = peer.receives[fragment.tag];
    // What is longer than expected is reported, but not taken.
    if (receive.done < receive.bytes)
      std::memcpy(
          receive.data + receive.done, at + sizeof(fragment),
          std::min<uint64_t>(fragment.bytes, receive.bytes - receive.done));
    receive.done += fragment.bytes;
    uint64_t padded = (fragment.bytes + fragmentAlignment - 1) /
                      fragmentAlignment * fragmentAlignment;
    taken += sizeof(fragment) + padded;
    peer.in->taken.store(taken, std::memory_order_release);
    if (receive.done == fragment.messageBytes)
      ended[count++] = {int(receive.number), 0, int(peer.rank),
                        fragment.messageBytes};
  }
}

void SharedMessages::poll(scclCompletion *ended, unsigned &count) {
  for (Peer &peer : peers) {
    announce(peer);
    takeAnnounced(peer);
    sendMore(peer, ended, count);
    takeArrived(peer, ended, count);
  }
}
