//===- SlowReplay.h - A schedule replayed with sets -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of ScheduleChecker.h in the plainest form, one send at a time and
// without regard for time or memory, to compare the checker with.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_CHECK_SLOWREPLAY_H
#define SCCL_TEST_CHECK_SLOWREPLAY_H

#include "sccl/Check/ScheduleChecker.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace sccl {

/// The ranks whose contributions each (rank, chunk, number) holds: the value
/// with number 0, and what is kept. Without combining, any non-empty set means
/// that the chunk is held.
using Holdings =
    std::map<std::tuple<unsigned, unsigned, unsigned>, std::set<unsigned>>;

/// The part of a violation that has only one right value.
struct Verdict {
  Violation::Rule rule;
  std::optional<unsigned> step;
  std::optional<size_t> send;
  bool operator==(const Verdict &) const = default;
};

/// What `send` carries; nothing if a contribution would be in it twice.
inline std::optional<std::set<unsigned>>
slowPayload(const Collective &c, const Send &send, const Holdings &before) {
  auto held = [&](unsigned number) {
    auto it = before.find({send.src, send.chunk, number});
    return it == before.end() ? std::set<unsigned>() : it->second;
  };
  if (send.payload == SendPayload::Current)
    return held(0);
  std::set<unsigned> sum;
  if (send.payload == SendPayload::Input) {
    if (!c.pre().contains(send.src, send.chunk))
      return sum;
    sum = {send.src};
  }
  for (unsigned number = 1; number <= Send::maxKept; ++number) {
    if (!(send.kept >> (number - 1) & 1))
      continue;
    std::set<unsigned> part = held(number);
    if (part.empty())
      return part;
    size_t apart = sum.size() + part.size();
    sum.merge(part);
    if (sum.size() < apart)
      return std::nullopt;
  }
  return sum;
}

/// The rule that `send` breaks after the `earlier` sends of its step, if any.
inline std::optional<Violation::Rule>
slowSend(const Collective &c, const Send &send, const Holdings &before,
         const std::vector<Send> &earlier) {
  std::optional<std::set<unsigned>> payload = slowPayload(c, send, before);
  if (!payload)
    return Violation::Rule::Contribution;
  if (payload->empty())
    return Violation::Rule::ChunkNotHeld;
  auto value = before.find({send.dst, send.chunk, 0});
  std::set<unsigned> present =
      value == before.end() ? std::set<unsigned>() : value->second;
  std::vector<Send> rivals;
  bool isKeptAgain = false;
  for (const Send &other : earlier)
    if (other.chunk == send.chunk && other.dst == send.dst) {
      if (other.action != SendAction::Keep)
        rivals.push_back(other);
      isKeptAgain |= send.keep != 0 && other.keep == send.keep;
    }
  std::optional<Violation::Rule> keeping;
  if (isKeptAgain)
    keeping = Violation::Rule::RedundantSend;
  auto isCopy = [](const Send &other) {
    return other.action == SendAction::Copy;
  };
  if (send.action == SendAction::Keep)
    return keeping;
  if (!rivals.empty() &&
      (isCopy(send) || std::any_of(rivals.begin(), rivals.end(), isCopy)))
    return Violation::Rule::RedundantSend;
  if (isCopy(send))
    return present == *payload || (!c.combining() && !present.empty())
               ? std::optional(Violation::Rule::RedundantSend)
               : keeping;
  for (const Send &other : rivals)
    present.merge(*slowPayload(c, other, before));
  for (unsigned rank : *payload)
    if (present.count(rank))
      return Violation::Rule::Contribution;
  return keeping;
}

inline bool exceedsLimit(const Topology &t, const Step &step) {
  for (const BandwidthLimit &limit : t.limits()) {
    size_t carried = 0;
    for (unsigned link : limit.links)
      for (const Send &send : step.sends)
        carried += Link{send.src, send.dst} == t.links()[link];
    if (carried > size_t(limit.bandwidth) * step.rounds)
      return true;
  }
  return false;
}

/// The first rule that `s` breaks and where.
inline std::optional<Verdict> slowCheck(const Topology &t, const Collective &c,
                                        const Schedule &s) {
  Holdings now;
  std::map<unsigned, std::set<unsigned>> everyone;
  for (unsigned rank = 0; rank < c.numRanks(); ++rank)
    for (unsigned chunk : c.pre().chunksOf(rank)) {
      now[{rank, chunk, 0}] = {rank};
      everyone[chunk].insert(rank);
    }
  for (unsigned step = 0; step < s.steps.size(); ++step) {
    if (s.steps[step].rounds == 0)
      return Verdict{Violation::Rule::ZeroRounds, step, std::nullopt};
    std::vector<Send> earlier;
    Holdings next = now;
    for (size_t i = 0; i < s.steps[step].sends.size(); ++i) {
      const Send &send = s.steps[step].sends[i];
      if (std::max(send.src, send.dst) >= t.numRanks() ||
          send.chunk >= c.numChunks() || send.src == send.dst)
        return Verdict{Violation::Rule::MalformedSend, step, i};
      if (!t.findLink(send.src, send.dst))
        return Verdict{Violation::Rule::AbsentLink, step, i};
      if (!c.combining() && send.action == SendAction::Reduce)
        return Verdict{Violation::Rule::WrongAction, step, i};
      if (std::optional<Violation::Rule> rule = slowSend(c, send, now, earlier))
        return Verdict{*rule, step, i};
      earlier.push_back(send);
      std::set<unsigned> payload = *slowPayload(c, send, now);
      if (send.keep != 0)
        next[{send.dst, send.chunk, send.keep}] = payload;
      if (send.action == SendAction::Copy)
        next[{send.dst, send.chunk, 0}] = payload;
      else if (send.action == SendAction::Reduce)
        next[{send.dst, send.chunk, 0}].merge(payload);
    }
    if (exceedsLimit(t, s.steps[step]))
      return Verdict{Violation::Rule::Bandwidth, step, std::nullopt};
    now = std::move(next);
  }
  for (unsigned rank = 0; rank < c.numRanks(); ++rank)
    for (unsigned chunk : c.post().chunksOf(rank)) {
      std::set<unsigned> has = now[{rank, chunk, 0}];
      if (c.combining() ? has != everyone[chunk] : has.empty())
        return Verdict{Violation::Rule::Postcondition,
                       s.steps.empty()
                           ? std::nullopt
                           : std::optional<unsigned>(s.steps.size() - 1),
                       std::nullopt};
    }
  return std::nullopt;
}

} // namespace sccl

#endif // SCCL_TEST_CHECK_SLOWREPLAY_H
