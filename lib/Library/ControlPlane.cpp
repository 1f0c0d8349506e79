//===- ControlPlane.cpp - What ranks tell each other outside of programs --===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ControlPlane.h"

#include "Device.h"

using namespace sccl;

Status ControlPlane::create(unsigned rank, unsigned numRanks) {
  own = rank;
  parts.resize(numRanks);
  return parts[rank].create((parcelLine() + 1) * lineBytes);
}

bool ControlPlane::await(const Word &word, uint64_t value) const {
  while (word.load(std::memory_order_acquire) < value) {
    if (abortWord().load(std::memory_order_relaxed) != 0)
      return false;
    Patience::pause();
  }
  return true;
}

bool ControlPlane::exchange(const Call &call, Call *calls) {
  ++exchanges;
  for (unsigned peer = 0; peer < numRanks(); ++peer) {
    Mail &mail = box(peer, own, exchanges);
    mail.call = call;
    mail.number.store(exchanges, std::memory_order_release);
  }
  for (unsigned peer = 0; peer < numRanks(); ++peer) {
    Mail &mail = box(own, peer, exchanges);
    if (!await(mail.number, exchanges))
      return false;
    calls[peer] = mail.call;
  }
  return true;
}
