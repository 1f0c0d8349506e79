//===- ControlPlane.cpp - What ranks tell each other outside of programs --===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ControlPlane.h"

#include "Runtime/Devices/Device.h"

#include <algorithm>
#include <cstring>

using namespace sccl;

Status ControlPlane::create(unsigned rank, unsigned numRanks) {
  own = rank;
  parts.resize(numRanks);
  if (Status status = parts[rank].create(partBytes()); !status.ok())
    return status;
  // Nothing has begun.
  for (unsigned index = 0; index < numLanes; ++index)
    lane(rank, index).begun.store(UINT64_MAX);
  return {};
}

bool ControlPlane::await(const Word &word, uint64_t value) const {
  while (word.load(std::memory_order_acquire) < value) {
    if (abortWord().load(std::memory_order_relaxed) != 0)
      return false;
    Patience::pause();
  }
  return true;
}

void ControlPlane::announce(const Announcement &what) const {
  Announced &words = announcedBy(own);
  words.number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  words.signature.store(what.signature, std::memory_order_relaxed);
  words.segmentBytes.store(what.segmentBytes, std::memory_order_relaxed);
  words.number.store(state(own).load(std::memory_order_relaxed),
                     std::memory_order_release);
}

std::optional<ControlPlane::Announcement>
ControlPlane::announced(unsigned rank, uint64_t state) const {
  const Announced &words = announcedBy(rank);
  if (words.number.load(std::memory_order_acquire) != state)
    return std::nullopt;
  Announcement what{words.signature.load(std::memory_order_relaxed),
                    words.segmentBytes.load(std::memory_order_relaxed)};
  std::atomic_thread_fence(std::memory_order_acquire);
  bool isWhole = words.number.load(std::memory_order_relaxed) == state;
  return isWhole ? std::optional(what) : std::nullopt;
}

void ControlPlane::leaveNote(const std::string &text) const {
  Note &note = noteOf(own);
  uint64_t version = note.version.load();
  // Another thread that is writing goes on: one note is as good as the other.
  if (version % 2 != 0 ||
      !note.version.compare_exchange_strong(version, version + 1))
    return;
  uint64_t words[std::size(Note().text)] = {};
  std::memcpy(words, text.data(), std::min(text.size(), sizeof(words) - 1));
  for (size_t i = 0; i < std::size(words); ++i)
    note.text[i].store(words[i]);
  note.version.store(version + 2);
}

std::string ControlPlane::readNote(unsigned rank) const {
  const Note &note = noteOf(rank);
  uint64_t version = note.version.load();
  char text[sizeof(note.text)];
  for (size_t i = 0; i < std::size(note.text); ++i) {
    uint64_t word = note.text[i].load();
    std::memcpy(text + i * sizeof(word), &word, sizeof(word));
  }
  bool isWhole = version % 2 == 0 && note.version.load() == version;
  return isWhole ? std::string(text, strnlen(text, sizeof(text))) : "";
}

bool ControlPlane::exchange(const Call &call, Call *calls) {
  uint64_t number = exchanges().load(std::memory_order_relaxed) + 1;
  exchanges().store(number, std::memory_order_relaxed);
  for (unsigned peer = 0; peer < numRanks(); ++peer) {
    Mail &mail = box(peer, own, number);
    mail.call = call;
    mail.number.store(number, std::memory_order_release);
  }
  for (unsigned peer = 0; peer < numRanks(); ++peer) {
    Mail &mail = box(own, peer, number);
    if (!await(mail.number, number))
      return false;
    calls[peer] = mail.call;
  }
  return true;
}
