//===- ScheduleChecker.cpp - Independent check of a schedule --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two passes. The first looks at sends and limits alone: numbers, links,
// bandwidth. The second replays who holds what, up to where the first pass
// stopped, so that the earlier of the two violations wins. Chunks do not
// influence each other, so a combining collective is replayed chunk by chunk:
// that needs one set of contributors per rank, not per rank and chunk.
//
//===----------------------------------------------------------------------===//

#include "sccl/Checker/ScheduleChecker.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <sstream>

using namespace sccl;

namespace {
using Rule = Violation::Rule;

/// A place in a schedule: before send number `send` of step `step`. In 32 bits,
/// because there may be one for every send; more sends do not fit in memory.
struct Position {
  uint32_t step, send;
  auto operator<=>(const Position &) const = default;
};

/// A violation and the place up to which the schedule is in order.
struct Finding {
  Position at;
  Violation violation;
};
} // namespace

/// The parts of a message in a row.
template <typename... Parts> static std::string text(const Parts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

/// A violation of which only the fields that apply are given.
static Violation makeViolation(Rule rule, std::string message,
                               std::optional<unsigned> step,
                               std::optional<unsigned> rank = {},
                               std::optional<unsigned> chunk = {},
                               std::optional<Link> link = {},
                               std::optional<size_t> send = {}) {
  return Violation{rule, std::move(message), step, rank, chunk, link, send};
}

/// A violation by one well-formed send, seen at `rank`.
static Finding sendFinding(Rule rule, Position at, const Send &send,
                           std::optional<unsigned> rank, std::string message) {
  return Finding{at,
                 makeViolation(rule, std::move(message), at.step, rank,
                               send.chunk, Link{send.src, send.dst}, at.send)};
}

//===----------------------------------------------------------------------===//
// Sends and limits
//===----------------------------------------------------------------------===//

namespace {
/// Finds links by their ranks. Sorted rows per source, because the hash table
/// of `Topology` misses the cache on every send of a large schedule.
class LinkTable {
public:
  explicit LinkTable(const Topology &topology) : rows(topology.numRanks()) {
    for (unsigned i = 0; i < topology.links().size(); ++i)
      rows[topology.links()[i].src].push_back({topology.links()[i].dst, i});
    for (auto &row : rows)
      std::sort(row.begin(), row.end());
  }

  std::optional<unsigned> find(unsigned src, unsigned dst) const {
    auto it = std::lower_bound(rows[src].begin(), rows[src].end(),
                               std::pair(dst, 0u));
    if (it == rows[src].end() || it->first != dst)
      return std::nullopt;
    return it->second;
  }

private:
  /// Per source the destinations, ascending, with the number of the link.
  std::vector<std::vector<std::pair<unsigned, unsigned>>> rows;
};

/// Counts the chunks of one step. Remembers which links and limits are in use,
/// so that a step costs its own sends and not the size of the topology.
class BandwidthMeter {
public:
  explicit BandwidthMeter(const Topology &topology)
      : topology(topology), limitsOf(topology.links().size()),
        linkLoad(topology.links().size()), limitLoad(topology.limits().size()) {
    for (unsigned i = 0; i < topology.limits().size(); ++i)
      for (unsigned link : topology.limits()[i].links)
        limitsOf[link].push_back(i);
  }

  void count(unsigned link) {
    if (linkLoad[link]++ == 0)
      usedLinks.push_back(link);
  }

  /// The first limit that the step exceeds with the chunks it carries, if any.
  /// Forgets the step.
  using Excess = std::pair<unsigned, uint64_t>;
  std::optional<Excess> finishStep(unsigned rounds) {
    for (unsigned link : usedLinks) {
      for (unsigned limit : limitsOf[link]) {
        if (limitLoad[limit] == 0)
          usedLimits.push_back(limit);
        limitLoad[limit] += linkLoad[link];
      }
      linkLoad[link] = 0;
    }
    std::optional<Excess> first;
    for (unsigned limit : usedLimits) {
      uint64_t most = uint64_t(topology.limits()[limit].bandwidth) * rounds;
      if (limitLoad[limit] > most && (!first || limit < first->first))
        first = Excess{limit, limitLoad[limit]};
      limitLoad[limit] = 0;
    }
    usedLinks.clear();
    usedLimits.clear();
    return first;
  }

private:
  const Topology &topology;
  std::vector<std::vector<unsigned>> limitsOf;
  std::vector<uint64_t> linkLoad, limitLoad;
  std::vector<unsigned> usedLinks, usedLimits;
};

/// The first pass.
class StructurePass {
public:
  StructurePass(const Topology &topology, const Collective &collective)
      : topology(topology), collective(collective), links(topology),
        meter(topology) {}

  std::optional<Finding> run(const Schedule &schedule) {
    for (uint32_t step = 0; step < schedule.steps.size(); ++step)
      if (std::optional<Finding> found = checkStep(schedule.steps[step], step))
        return found;
    return std::nullopt;
  }

private:
  std::optional<Finding> checkStep(const Step &step, uint32_t index);
  std::optional<Finding> checkNumbers(const Send &send, Position at) const;
  Finding excess(const Step &step, Position at,
                 BandwidthMeter::Excess found) const;

  const Topology &topology;
  const Collective &collective;
  LinkTable links;
  BandwidthMeter meter;
};
} // namespace

std::optional<Finding> StructurePass::checkNumbers(const Send &send,
                                                   Position at) const {
  auto malformed = [at](std::optional<unsigned> rank,
                        std::optional<unsigned> chunk, std::string message) {
    return Finding{at, makeViolation(Rule::MalformedSend, std::move(message),
                                     at.step, rank, chunk, {}, at.send)};
  };
  for (unsigned rank : {send.src, send.dst})
    if (rank >= topology.numRanks())
      return malformed(rank, std::nullopt,
                       text("rank ", rank, " in step ", at.step,
                            " is out of range for ", topology.numRanks(),
                            " ranks"));
  if (send.chunk >= collective.numChunks())
    return malformed(std::nullopt, send.chunk,
                     text("chunk ", send.chunk, " in step ", at.step,
                          " is out of range for ", collective.numChunks(),
                          " chunks"));
  if (send.src == send.dst)
    return malformed(send.src, send.chunk,
                     text("rank ", send.src, " sends chunk ", send.chunk,
                          " to itself in step ", at.step));
  return std::nullopt;
}

std::optional<Finding> StructurePass::checkStep(const Step &step,
                                                uint32_t index) {
  if (step.rounds == 0)
    return Finding{
        {index, 0},
        makeViolation(Rule::ZeroRounds,
                      text("step ", index, " has 0 rounds, the least is 1"),
                      index)};
  for (uint32_t i = 0; i < step.sends.size(); ++i) {
    const Send &send = step.sends[i];
    Position at{index, i};
    if (std::optional<Finding> found = checkNumbers(send, at))
      return found;
    std::optional<unsigned> link = links.find(send.src, send.dst);
    if (!link)
      return sendFinding(Rule::AbsentLink, at, send, std::nullopt,
                         text("step ", index, " uses link ", send.src, " -> ",
                              send.dst, ", which topology '", topology.name(),
                              "' does not have"));
    if (send.action == SendAction::Reduce && !collective.combining())
      return sendFinding(Rule::WrongAction, at, send, send.dst,
                         text("step ", index, " reduces chunk ", send.chunk,
                              " into rank ", send.dst, ", but collective '",
                              collective.name(), "' does not combine"));
    meter.count(*link);
  }
  Position end{index, static_cast<uint32_t>(step.sends.size())};
  if (std::optional<BandwidthMeter::Excess> found =
          meter.finishStep(step.rounds))
    return excess(step, end, *found);
  return std::nullopt;
}

Finding StructurePass::excess(const Step &step, Position at,
                              BandwidthMeter::Excess found) const {
  auto [index, load] = found;
  const BandwidthLimit &limit = topology.limits()[index];
  std::optional<Link> link;
  std::string subject =
      text("the ", limit.links.size(), " links of limit ", index, " carry ");
  if (limit.links.size() == 1) {
    link = topology.links()[limit.links.front()];
    subject = text("link ", link->src, " -> ", link->dst, " carries ");
  }
  std::string message =
      text(subject, load, " chunks in step ", at.step, ", the limit is ",
           uint64_t(limit.bandwidth) * step.rounds, " (bandwidth ",
           limit.bandwidth, ", rounds ", step.rounds, ")");
  return Finding{at, makeViolation(Rule::Bandwidth, std::move(message), at.step,
                                   {}, {}, link)};
}

static Finding notHeld(Position at, const Send &send) {
  bool input = send.payload == SendPayload::Input;
  return sendFinding(
      Rule::ChunkNotHeld, at, send, send.src,
      text("rank ", send.src,
           (input ? " has no input for chunk " : " does not hold chunk "),
           send.chunk, (input ? " to send in step " : " before step "),
           at.step));
}

static Finding alreadyHeld(Position at, const Send &send) {
  return sendFinding(Rule::RedundantSend, at, send, send.dst,
                     text("rank ", send.dst, " already holds chunk ",
                          send.chunk, " before step ", at.step));
}

static Finding receivedTwice(Position at, const Send &send) {
  return sendFinding(Rule::RedundantSend, at, send, send.dst,
                     text("rank ", send.dst, " receives chunk ", send.chunk,
                          " twice in step ", at.step));
}

static Finding countedTwice(Position at, const Send &send,
                            unsigned contributor) {
  return sendFinding(
      Rule::Contribution, at, send, send.dst,
      text("rank ", send.dst, " would count the contribution of rank ",
           contributor, " to chunk ", send.chunk, " twice in step ", at.step));
}

/// The violation that `rank` ends without `what` it must have of `chunk`.
static Violation lacking(size_t numSteps, unsigned rank, unsigned chunk,
                         const std::string &what) {
  std::optional<unsigned> last;
  if (numSteps != 0)
    last = numSteps - 1;
  return makeViolation(Rule::Postcondition,
                       text("rank ", rank, " lacks ", what, "chunk ", chunk,
                            " after ", last ? text("step ", *last) : "0 steps"),
                       last, rank, chunk);
}

//===----------------------------------------------------------------------===//
// Replay without combining
//===----------------------------------------------------------------------===//

/// How many sends of `step` lie before `end`.
static uint32_t sendsBefore(const Schedule &schedule, uint32_t step,
                            Position end) {
  return step < end.step
             ? static_cast<uint32_t>(schedule.steps[step].sends.size())
             : end.send;
}

/// Replays the sends before `end`; `held` becomes what each rank then holds.
static std::optional<Finding> replayCopies(const Collective &collective,
                                           const Schedule &schedule,
                                           Position end, RankChunkSet &held) {
  // What is held with the arrivals of the step under way.
  RankChunkSet next = held;
  for (uint32_t step = 0; step < schedule.steps.size() && step <= end.step;
       ++step) {
    const std::vector<Send> &sends = schedule.steps[step].sends;
    uint32_t count = sendsBefore(schedule, step, end);
    for (uint32_t i = 0; i < count; ++i) {
      const Send &send = sends[i];
      const RankChunkSet &source =
          send.payload == SendPayload::Input ? collective.pre() : held;
      if (!source.contains(send.src, send.chunk))
        return notHeld({step, i}, send);
      if (held.contains(send.dst, send.chunk))
        return alreadyHeld({step, i}, send);
      if (next.contains(send.dst, send.chunk))
        return receivedTwice({step, i}, send);
      next.insert(send.dst, send.chunk);
    }
    for (uint32_t i = 0; i < count; ++i)
      held.insert(sends[i].dst, sends[i].chunk);
  }
  return std::nullopt;
}

static std::optional<Violation> checkCopying(const Collective &collective,
                                             const Schedule &schedule,
                                             Position end,
                                             std::optional<Finding> known) {
  RankChunkSet held = collective.pre();
  if (std::optional<Finding> found =
          replayCopies(collective, schedule, end, held))
    return found->violation;
  if (known)
    return known->violation;
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
    for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk)
      if (collective.post().contains(rank, chunk) &&
          !held.contains(rank, chunk))
        return lacking(schedule.steps.size(), rank, chunk, "");
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Replay with combining
//===----------------------------------------------------------------------===//

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
        states(collective.numRanks()), everyone(numWords), own(numWords) {}

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
  };

  /// The state of `rank`, set up on first use: most chunks visit few ranks of a
  /// large topology.
  State &stateOf(unsigned rank);
  /// What `send` carries; empty if its source does not have it.
  const RankBits *payloadOf(const Send &send);

  const Collective &collective;
  size_t numWords;
  unsigned chunk = 0;
  std::vector<State> states;
  RankBits everyone; ///< all contributors of the chunk
  RankBits own;      ///< scratch: the contribution of one rank
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
    state.now.assign(numWords, 0);
    if (collective.pre().contains(rank, chunk))
      insertRank(state.now, rank);
  }
  return state;
}

const RankBits *ContributionReplay::payloadOf(const Send &send) {
  if (send.payload == SendPayload::Current) {
    const RankBits &value = stateOf(send.src).now;
    return isEmpty(value) ? nullptr : &value;
  }
  if (!collective.pre().contains(send.src, chunk))
    return nullptr;
  std::fill(own.begin(), own.end(), 0);
  insertRank(own, send.src);
  return &own;
}

std::optional<Finding> ContributionReplay::receive(const Send &send,
                                                   Position at) {
  const RankBits *payload = payloadOf(send);
  if (!payload)
    return notHeld(at, send);
  State &target = stateOf(send.dst);
  bool copies = send.action == SendAction::Copy;
  // Arrivals of one step have no order, so a copy tolerates no other.
  if (target.received && (copies || target.replaced))
    return receivedTwice(at, send);
  if (copies && *payload == target.now)
    return alreadyHeld(at, send);
  if (!target.received) {
    target.received = true;
    target.replaced = copies;
    target.next = copies ? *payload : target.now;
    receivers.push_back(send.dst);
    if (copies)
      return std::nullopt;
  }
  if (std::optional<unsigned> twice =
          firstRank(target.next, *payload, std::bit_and<uint64_t>()))
    return countedTwice(at, send, *twice);
  for (size_t w = 0; w < numWords; ++w)
    target.next[w] |= (*payload)[w];
  return std::nullopt;
}

void ContributionReplay::finishStep() {
  for (unsigned rank : receivers) {
    State &state = states[rank];
    std::swap(state.now, state.next);
    state.received = state.replaced = false;
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

static std::optional<Violation> checkCombining(const Collective &collective,
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

std::optional<Violation> sccl::checkSchedule(const Topology &topology,
                                             const Collective &collective,
                                             const Schedule &schedule) {
  // No rank means the same in both, so no send can be well-formed.
  if (topology.numRanks() != collective.numRanks())
    return makeViolation(Rule::MalformedSend,
                         text("topology '", topology.name(), "' has ",
                              topology.numRanks(), " ranks, but collective '",
                              collective.name(), "' has ",
                              collective.numRanks()),
                         std::nullopt);
  std::optional<Finding> structural =
      StructurePass(topology, collective).run(schedule);
  Position end{static_cast<uint32_t>(schedule.steps.size()), 0};
  if (structural)
    end = structural->at;
  return collective.combining()
             ? checkCombining(collective, schedule, end, std::move(structural))
             : checkCopying(collective, schedule, end, std::move(structural));
}
