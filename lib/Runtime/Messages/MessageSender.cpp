//===- MessageSender.cpp - Sending no more than is of use -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageSender.h"

using namespace sccl;

MessageSender::~MessageSender() {
  if (!copies.isEmpty())
    copies.leak();
}

Status MessageSender::reserve(unsigned count, unsigned tags) {
  windows.resize(group.numRanks());
  copies.reserve(group.numRemote());
  peerOf.resize(copies.size());
  unsigned total = firstNumber() + count;
  covered.resize(std::max<size_t>(covered.size(), total));
  return group.reserve(total, tags);
}

Status MessageSender::send(unsigned number, const void *data, uint64_t bytes,
                           unsigned peer, unsigned tag, bool &isDone) {
  SendWindow &window = windows[peer];
  // In shared memory every message ends when it is taken.
  bool isRemote = !group.sharesMemory(peer), hasRoom = window.hasRoom();
  bool asks = !isRemote || !hasRoom || window.mustAsk(bytes);
  isDone = false;
  if (isRemote && asks && hasRoom)
    if (std::optional<unsigned> copy = copies.take(data, bytes)) {
      isDone = true;
      number = *copy;
      data = copies.dataOf(number);
      peerOf[number] = peer;
    }
  covered[number] = window.add(bytes, asks);
  return group.send(number, data, bytes, peer, tag, asks);
}

void MessageSender::end(unsigned number, unsigned peer) {
  if (covered[number] != 0)
    windows[peer].taken(covered[number]);
}

unsigned MessageSender::endOwn(unsigned number) {
  end(number, peerOf[number]);
  copies.release(number);
  return peerOf[number];
}

unsigned MessageSender::lateRank() const {
  unsigned peer = 0;
  while (peer < windows.size() && windows[peer].isEmpty())
    ++peer;
  return peer < windows.size() ? peer : group.rank();
}
