//===- CombiningReplay.cpp - Whose contributions are where ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chunks do not influence each other, so a combining collective is replayed
// chunk by chunk: that needs one set of contributors per rank and one for each
// arrival that it keeps, not per rank and chunk.
//
//===----------------------------------------------------------------------===//

#include "Findings.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>

using namespace sccl;
using namespace sccl::checker;

namespace {
/// A set of ranks.
using RankBits = std::vector<uint64_t>;

/// The sends of each chunk in schedule order.
class SendsByChunk {
public:
  SendsByChunk(const Schedule &schedule, Position end, unsigned numChunks)
      : begins(numChunks + 1) {
    forEach(schedule, end,
            [&](Position, unsigned chunk) { ++begins[chunk + 1]; });
    for (unsigned chunk = 0; chunk < numChunks; ++chunk)
      begins[chunk + 1] += begins[chunk];
    positions.resize(begins[numChunks]);
    std::vector<size_t> fill = begins;
    forEach(schedule, end, [&](Position at, unsigned chunk) {
      positions[fill[chunk]++] = at;
    });
  }

  const Position *begin(unsigned chunk) const {
    return positions.data() + begins[chunk];
  }
  const Position *end(unsigned chunk) const { return begin(chunk + 1); }

private:
  template <typename Function>
  static void forEach(const Schedule &schedule, Position end, Function apply) {
    for (uint32_t step = 0; step < schedule.steps.size() && step <= end.step;
         ++step) {
      uint32_t count = sendsBefore(schedule, step, end);
      for (uint32_t i = 0; i < count; ++i)
        apply(Position{step, i}, schedule.steps[step].sends[i].chunk);
    }
  }

  std::vector<size_t> begins;
  std::vector<Position> positions;
};

/// Whose contributions each rank's value of one chunk holds. An empty set means
/// that the rank has no value yet.
class ContributionReplay {
public:
  explicit ContributionReplay(const Collective &collective)
      : collective(collective), numWords((collective.numRanks() + 63) / 64),
        states(collective.numRanks()), everyone(numWords), sum(numWords) {}

  /// Forgets the last chunk and sets up the next.
  void start(unsigned nextChunk);
  /// Checks one send of the step under way against the state before the step.
  std::optional<Finding> receive(const Send &send, Position at);
  /// Makes the values received in the step visible.
  void finishStep();
  /// The first rank below `end` whose value is not complete, and the violation.
  std::optional<Violation> missing(unsigned end, size_t numSteps);

private:
  struct State {
    unsigned chunk = ~0u; ///< of which the rest tells; none at first
    bool received = false, replaced = false;
    RankBits now, next;
    /// Arrivals apart from the value, by number; those of the step under way.
    std::map<unsigned, RankBits> kept, keptNext;
  };

  /// The state of `rank`, set up on first use: most chunks visit few ranks of a
  /// large topology.
  State &stateOf(unsigned rank);
  /// Makes `payload` point to what `send` carries.
  std::optional<Finding> findPayload(const Send &send, Position at,
                                     const RankBits *&payload);
  std::optional<Finding> addKept(const Send &send, Position at);
  /// Keeps `payload` apart from the value.
  std::optional<Finding> keep(const Send &send, Position at,
                              const RankBits &payload);
  /// Sends or reduces `payload` into the value.
  std::optional<Finding> change(const Send &send, Position at,
                                const RankBits &payload);

  const Collective &collective;
  size_t numWords;
  unsigned chunk = 0;
  std::vector<State> states;
  RankBits everyone; ///< all contributors of the chunk
  RankBits sum;      ///< scratch: of an input and what is kept
  std::vector<unsigned> receivers;
};
} // namespace

static void insertRank(RankBits &bits, unsigned rank) {
  bits[rank / 64] |= uint64_t(1) << (rank % 64);
}

static bool isEmpty(const RankBits &bits) {
  return std::ranges::none_of(bits, [](uint64_t word) { return word != 0; });
}

/// The first rank for which `combine` of the two sets' words has a bit.
template <typename Function>
static std::optional<unsigned> firstRank(const RankBits &a, const RankBits &b,
                                         Function combine) {
  for (size_t w = 0; w < a.size(); ++w)
    if (uint64_t word = combine(a[w], b[w]))
      return static_cast<unsigned>(w * 64) + std::countr_zero(word);
  return std::nullopt;
}

void ContributionReplay::start(unsigned nextChunk) {
  chunk = nextChunk;
  receivers.clear();
  std::fill(everyone.begin(), everyone.end(), 0);
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
    if (collective.pre().contains(rank, chunk))
      insertRank(everyone, rank);
}

ContributionReplay::State &ContributionReplay::stateOf(unsigned rank) {
  State &state = states[rank];
  if (state.chunk != chunk) {
    state.chunk = chunk;
    state.received = state.replaced = false;
    state.kept.clear();
    state.keptNext.clear();
    state.now.assign(numWords, 0);
    if (collective.pre().contains(rank, chunk))
      insertRank(state.now, rank);
  }
  return state;
}

std::optional<Finding>
ContributionReplay::findPayload(const Send &send, Position at,
                                const RankBits *&payload) {
  State &source = stateOf(send.src);
  if (send.payload == SendPayload::Current) {
    payload = &source.now;
    return isEmpty(source.now) ? std::optional(notHeld(at, send))
                               : std::nullopt;
  }
  std::fill(sum.begin(), sum.end(), 0);
  payload = &sum;
  if (send.payload == SendPayload::Input) {
    if (!collective.pre().contains(send.src, chunk))
      return notHeld(at, send);
    insertRank(sum, send.src);
  }
  return addKept(send, at);
}

/// Adds to `sum` what `send` carries of what its source has kept.
std::optional<Finding> ContributionReplay::addKept(const Send &send,
                                                   Position at) {
  State &source = stateOf(send.src);
  for (uint32_t left = send.kept; left != 0; left &= left - 1) {
    unsigned number = unsigned(std::countr_zero(left)) + 1;
    auto part = source.kept.find(number);
    if (part == source.kept.end())
      return notKept(at, send, number);
    if (std::optional<unsigned> twice =
            firstRank(sum, part->second, std::bit_and<uint64_t>()))
      return countedTwice(at, send, send.src, *twice);
    for (size_t w = 0; w < numWords; ++w)
      sum[w] |= part->second[w];
  }
  return std::nullopt;
}

std::optional<Finding> ContributionReplay::receive(const Send &send,
                                                   Position at) {
  const RankBits *payload = nullptr;
  if (std::optional<Finding> found = findPayload(send, at, payload))
    return found;
  if (send.action != SendAction::Keep)
    if (std::optional<Finding> found = change(send, at, *payload))
      return found;
  return send.keep ? keep(send, at, *payload) : std::nullopt;
}

std::optional<Finding> ContributionReplay::keep(const Send &send, Position at,
                                                const RankBits &payload) {
  State &target = stateOf(send.dst);
  if (!target.keptNext.try_emplace(send.keep, payload).second)
    return keptTwice(at, send);
  receivers.push_back(send.dst);
  return std::nullopt;
}

std::optional<Finding> ContributionReplay::change(const Send &send, Position at,
                                                  const RankBits &payload) {
  State &target = stateOf(send.dst);
  bool copies = send.action == SendAction::Copy;
  // Arrivals of one step have no order, so a copy tolerates no other.
  if (target.received && (copies || target.replaced))
    return receivedTwice(at, send);
  if (copies && payload == target.now)
    return alreadyHeld(at, send);
  if (!target.received) {
    target.received = true;
    target.replaced = copies;
    target.next = copies ? payload : target.now;
    receivers.push_back(send.dst);
    if (copies)
      return std::nullopt;
  }
  if (std::optional<unsigned> twice =
          firstRank(target.next, payload, std::bit_and<uint64_t>()))
    return countedTwice(at, send, send.dst, *twice);
  for (size_t w = 0; w < numWords; ++w)
    target.next[w] |= payload[w];
  return std::nullopt;
}

void ContributionReplay::finishStep() {
  for (unsigned rank : receivers) {
    State &state = states[rank];
    if (state.received)
      std::swap(state.now, state.next);
    state.received = state.replaced = false;
    for (auto &[number, part] : state.keptNext)
      state.kept[number] = std::move(part);
    state.keptNext.clear();
  }
  receivers.clear();
}

std::optional<Violation> ContributionReplay::missing(unsigned end,
                                                     size_t numSteps) {
  for (unsigned rank = 0; rank < end; ++rank) {
    if (!collective.post().contains(rank, chunk))
      continue;
    const RankBits &value = stateOf(rank).now;
    std::optional<unsigned> absent = firstRank(
        everyone, value, [](uint64_t all, uint64_t has) { return all & ~has; });
    if (!absent)
      continue;
    std::string what = isEmpty(value)
                           ? ""
                           : text("the contribution of rank ", *absent, " to ");
    return lacking(numSteps, rank, chunk, what);
  }
  return std::nullopt;
}

/// Replays the sends of one chunk before `end`.
static std::optional<Finding> replayChunk(ContributionReplay &replay,
                                          const Schedule &schedule,
                                          const SendsByChunk &sends,
                                          unsigned chunk, Position end) {
  replay.start(chunk);
  const Position *last = sends.end(chunk);
  for (const Position *at = sends.begin(chunk); at != last && *at < end; ++at) {
    const Send &send = schedule.steps[at->step].sends[at->send];
    if (std::optional<Finding> found = replay.receive(send, *at))
      return found;
    if (at + 1 == last || at[1].step != at->step)
      replay.finishStep();
  }
  return std::nullopt;
}

std::optional<Violation> checker::checkCombining(const Collective &collective,
                                                 const Schedule &schedule,
                                                 Position end,
                                                 std::optional<Finding> first) {
  SendsByChunk sends(schedule, end, collective.numChunks());
  ContributionReplay replay(collective);
  std::optional<Violation> missing;
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk) {
    // Only what is earlier than the violations of the chunks before counts.
    if (std::optional<Finding> found =
            replayChunk(replay, schedule, sends, chunk, end)) {
      end = found->at;
      first = std::move(found);
    }
    if (first)
      continue;
    // The lowest rank wins, then the lowest chunk, as without combining.
    unsigned ranks = missing ? *missing->rank : collective.numRanks();
    if (std::optional<Violation> found =
            replay.missing(ranks, schedule.steps.size()))
      missing = std::move(found);
  }
  return first ? std::optional<Violation>(first->violation) : missing;
}
