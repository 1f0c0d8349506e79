//===- ScheduleChecker.cpp - Independent check of a schedule --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two passes. The first looks at sends and limits alone: numbers, links,
// bandwidth. The second replays who holds what, up to where the first pass
// stopped, so that the earlier of the two violations wins. That of combining
// collectives is in CombiningReplay.cpp.
//
//===----------------------------------------------------------------------===//

#include "Findings.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/SwitchLoads.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::checker;

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

/// Counts the chunks of one step, or of a period. Remembers which links and
/// limits are in use, so that a step costs its own sends and not the size of
/// the topology.
class BandwidthMeter {
public:
  explicit BandwidthMeter(const Topology &topology)
      : topology(topology), switches(topology),
        limitsOf(topology.links().size()), linkLoad(topology.links().size()),
        limitLoad(topology.limits().size()) {
    for (unsigned i = 0; i < topology.limits().size(); ++i)
      for (unsigned link : topology.limits()[i].links)
        limitsOf[link].push_back(i);
  }

  /// What a switch copies or reduces counts once; false if none does what
  /// `send` asks for.
  bool count(const Send &send, unsigned link) {
    if (isInNetwork(send.transport)) {
      switches.count(send, topology.links()[link], limitsOf[link],
                     [this](unsigned limit) { addTo(limit, 1); });
      return switches.serves(send, topology.links()[link]);
    }
    if (linkLoad[link]++ == 0)
      usedLinks.push_back(link);
    return true;
  }
  /// What is sent from here on is not of one step with what was sent before.
  void separate() { switches.finishStep(); }

  /// The first limit that the step exceeds with the chunks it carries, if any.
  /// Forgets the step.
  using Excess = std::pair<unsigned, uint64_t>;
  std::optional<Excess> finishStep(unsigned rounds) {
    separate();
    for (unsigned link : usedLinks) {
      for (unsigned limit : limitsOf[link])
        addTo(limit, linkLoad[link]);
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
  void addTo(unsigned limit, uint64_t chunks) {
    if (limitLoad[limit] == 0)
      usedLimits.push_back(limit);
    limitLoad[limit] += chunks;
  }

  const Topology &topology;
  SwitchLoads switches;
  std::vector<std::vector<unsigned>> limitsOf;
  std::vector<uint64_t> linkLoad, limitLoad;
  std::vector<unsigned> usedLinks, usedLimits;
};

/// The first pass.
class StructurePass {
public:
  StructurePass(const Topology &topology, const Collective &collective)
      : topology(topology), collective(collective), links(topology),
        meter(topology), periodMeter(topology) {}

  std::optional<Finding> run(const Schedule &schedule) {
    for (uint32_t step = 0; step < schedule.steps.size(); ++step)
      if (std::optional<Finding> found = checkStep(schedule.steps[step], step))
        return found;
    return checkPeriod(schedule);
  }

private:
  std::optional<Finding> checkStep(const Step &step, uint32_t index);
  std::optional<Finding> checkPeriod(const Schedule &schedule);
  std::optional<Finding> checkNumbers(const Send &send, Position at) const;
  std::optional<Finding> checkAction(const Send &send, Position at) const;
  /// "link 0 -> 1 carries 3 chunks", with the link if it is one.
  std::string describe(BandwidthMeter::Excess found,
                       std::optional<Link> &link) const;
  Finding excess(const Step &step, Position at,
                 BandwidthMeter::Excess found) const;

  const Topology &topology;
  const Collective &collective;
  LinkTable links;
  BandwidthMeter meter, periodMeter;
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

/// What only combining collectives have a use for.
std::optional<Finding> StructurePass::checkAction(const Send &send,
                                                  Position at) const {
  bool keeps = send.keep != 0 || send.kept != 0 ||
               send.action == SendAction::Keep ||
               send.payload == SendPayload::Kept;
  if (keeps && !collective.combining())
    return sendFinding(Rule::WrongAction, at, send, send.dst,
                       text("step ", at.step, " keeps chunk ", send.chunk,
                            " apart at rank ", send.keep ? send.dst : send.src,
                            ", but collective '", collective.name(),
                            "' does not combine"));
  if (send.action == SendAction::Reduce && !collective.combining())
    return sendFinding(Rule::WrongAction, at, send, send.dst,
                       text("step ", at.step, " reduces chunk ", send.chunk,
                            " into rank ", send.dst, ", but collective '",
                            collective.name(), "' does not combine"));
  bool isWellFormed = send.keep <= Send::maxKept &&
                      (send.action != SendAction::Keep || send.keep != 0) &&
                      (send.payload == SendPayload::Kept) <= (send.kept != 0) &&
                      (send.payload != SendPayload::Current || send.kept == 0);
  if (!isWellFormed)
    return sendFinding(Rule::MalformedSend, at, send, send.dst,
                       text("a send of chunk ", send.chunk, " in step ",
                            at.step, " names no arrival that is kept"));
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
    if (std::optional<Finding> found = checkAction(send, at))
      return found;
    if (!meter.count(send, *link))
      return sendFinding(
          Rule::AbsentLink, at, send, std::nullopt,
          text("step ", index, " sends chunk ", send.chunk, " over link ",
               send.src, " -> ", send.dst, " by way of a switch that ",
               send.transport == SendTransport::Multicast ? "multicasts"
                                                          : "reduces",
               ", but topology '", topology.name(), "' has none there"));
  }
  Position end{index, static_cast<uint32_t>(step.sends.size())};
  if (std::optional<BandwidthMeter::Excess> found =
          meter.finishStep(step.rounds))
    return excess(step, end, *found);
  return std::nullopt;
}

/// All steps together. The first pass over them found every link.
std::optional<Finding> StructurePass::checkPeriod(const Schedule &schedule) {
  if (!schedule.isPipelined())
    return std::nullopt;
  for (const Step &step : schedule.steps) {
    for (const Send &send : step.sends)
      periodMeter.count(send, *links.find(send.src, send.dst));
    periodMeter.separate();
  }
  std::optional<BandwidthMeter::Excess> found =
      periodMeter.finishStep(schedule.period);
  if (!found)
    return std::nullopt;
  std::optional<Link> link;
  std::string subject = describe(*found, link);
  unsigned bandwidth = topology.limits()[found->first].bandwidth;
  std::string message =
      text(subject, " in all steps together, the limit is ",
           uint64_t(bandwidth) * schedule.period, " (bandwidth ", bandwidth,
           ", period ", schedule.period, ")");
  return Finding{
      {static_cast<uint32_t>(schedule.steps.size()), 0},
      makeViolation(Rule::Bandwidth, std::move(message), {}, {}, {}, link)};
}

std::string StructurePass::describe(BandwidthMeter::Excess found,
                                    std::optional<Link> &link) const {
  auto [index, load] = found;
  const BandwidthLimit &limit = topology.limits()[index];
  if (limit.links.size() > 1)
    return text("the ", limit.links.size(), " links of limit ", index,
                " carry ", load, " chunks");
  link = topology.links()[limit.links.front()];
  return text("link ", link->src, " -> ", link->dst, " carries ", load,
              " chunks");
}

Finding StructurePass::excess(const Step &step, Position at,
                              BandwidthMeter::Excess found) const {
  std::optional<Link> link;
  std::string subject = describe(found, link);
  unsigned bandwidth = topology.limits()[found.first].bandwidth;
  std::string message = text(subject, " in step ", at.step, ", the limit is ",
                             uint64_t(bandwidth) * step.rounds, " (bandwidth ",
                             bandwidth, ", rounds ", step.rounds, ")");
  return Finding{at, makeViolation(Rule::Bandwidth, std::move(message), at.step,
                                   {}, {}, link)};
}

//===----------------------------------------------------------------------===//
// Replay without combining
//===----------------------------------------------------------------------===//

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
