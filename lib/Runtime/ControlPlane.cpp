//===- ControlPlane.cpp - What ranks tell each other outside of programs --===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ControlPlane.h"

#include "Runtime/Devices/Device.h"

#include <algorithm>
#include <bit>
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

/// Until all ranks are so close to launch `number` of this one that what it has
/// announced in its place is of no use to them.
bool ControlPlane::awaitSlowest(uint64_t number) {
  // Two more launches than there is need for: who reads looks at the last two.
  constexpr uint64_t most = 2 * (numAnnounced - 2);
  while (number > slowestState + most) {
    slowestState = number;
    for (unsigned rank = 0; rank < numRanks(); ++rank)
      slowestState =
          std::min(slowestState, state(rank).load(std::memory_order_acquire));
    if (abortWord().load(std::memory_order_relaxed) != 0)
      return false;
    if (number > slowestState + most)
      Patience::pause();
  }
  return true;
}

uint64_t ControlPlane::extend(uint64_t history, const Announcement &what) {
  // Odd factors lose nothing; what comes first is mixed most.
  history = (std::rotl(history, 23) ^ what.signature) * 0x9e3779b97f4a7c15u;
  return (history ^ what.count) * 0xd6e8feb86659fd93u;
}

bool ControlPlane::announce(const Announcement &what, bool &isNew) {
  history = extend(history, what);
  uint64_t number = state(own).load(std::memory_order_relaxed);
  if (!awaitSlowest(number))
    return false;
  Announced &words = announcedBy(own, number);
  words.number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  words.signature.store(what.signature, std::memory_order_relaxed);
  words.count.store(what.count, std::memory_order_relaxed);
  words.history.store(history, std::memory_order_relaxed);
  words.number.store(number, std::memory_order_release);
  isNew = what != lastCall || number <= 1;
  lastCall = what;
  return true;
}

/// Nothing if the rank is not that far, or is further.
std::optional<ControlPlane::Entry> ControlPlane::read(unsigned rank,
                                                      uint64_t number) const {
  const Announced &words = announcedBy(rank, number);
  if (words.number.load(std::memory_order_acquire) != number)
    return std::nullopt;
  Entry entry{{words.signature.load(std::memory_order_relaxed),
               words.count.load(std::memory_order_relaxed)},
              words.history.load(std::memory_order_relaxed)};
  std::atomic_thread_fence(std::memory_order_acquire);
  bool isWhole = words.number.load(std::memory_order_relaxed) == number;
  return isWhole ? std::optional(entry) : std::nullopt;
}

unsigned ControlPlane::compare(const Announcement &a, const Announcement &b) {
  uint64_t differ = a.signature ^ b.signature;
  if (differ && (a.signature == refused || b.signature == refused))
    return difference::Refused;
  unsigned result = 0;
  if (differ >> 32)
    result |= difference::Plan;
  if (differ & ControlPlane::sign(0, 0xff, 0))
    result |= difference::Type;
  if (differ & ControlPlane::sign(0, 0, 0xff))
    result |= difference::Reduction;
  if (a.count != b.count)
    result |= difference::Count;
  // What is executed follows from the rest, unless it was set.
  return result == 0 && differ != 0 ? difference::Plan : result;
}

AbortCause ControlPlane::compareLaunch(unsigned other, uint64_t number,
                                       bool &isKnown) const {
  std::optional<Entry> mine = read(own, number), theirs = read(other, number);
  isKnown = mine && theirs;
  if (!isKnown || mine->history == theirs->history)
    return {};
  AbortCause cause{scclErrorMismatch, other, own,
                   compare(mine->call, theirs->call)};
  if (cause.differences == 0)
    cause.differences = difference::Past;
  if (cause.differences & difference::Refused &&
      mine->call.signature == refused)
    std::swap(cause.culprit, cause.reporter);
  return cause;
}

bool ControlPlane::raiseOtherCalls(unsigned other) const {
  // Launches have odd numbers.
  uint64_t begun = std::min(state(own).load(std::memory_order_acquire),
                            state(other).load(std::memory_order_acquire));
  uint64_t number = (begun - 1) | 1;
  bool isKnown = false;
  AbortCause cause;
  // The last one may not be announced yet.
  for (unsigned i = 0; i < 2 && begun != 0 && !isKnown; ++i, number -= 2)
    cause = compareLaunch(other, number, isKnown);
  if (cause.code == scclSuccess)
    return false;
  // The first one that differs says most.
  for (AbortCause before = cause; before.code != scclSuccess; number -= 2) {
    cause = before;
    before = compareLaunch(other, number, isKnown);
  }
  raise(cause);
  return true;
}

bool ControlPlane::awaitSameCalls() const {
  uint64_t number = state(own).load(std::memory_order_relaxed);
  for (unsigned other = 0; other < numRanks(); ++other) {
    while (!read(other, number)) {
      if (abortWord().load(std::memory_order_relaxed) != 0 ||
          raiseOtherCalls(other))
        return false;
      Patience::pause();
    }
    if (raiseOtherCalls(other))
      return false;
  }
  return true;
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
