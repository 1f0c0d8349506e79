//===- Draft.cpp - What a program will send, before there is one ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DraftTransfers.h"

#include "sccl/Model/Spread.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

using namespace sccl;
using namespace sccl::advice;

using Kind = Action::Kind;

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

namespace {
/// Makes channels of transfers, with waits and signals.
class DraftFlags {
public:
  DraftFlags(const Topology &topology, const Timing &timing,
             const Schedule &schedule, const LoweringOptions &options,
             std::vector<DraftTransfer> transfers)
      : topology(topology), timing(timing), schedule(schedule),
        options(options), sumWidth(contractFor(options).sumWidth),
        transfers(std::move(transfers)),
        members(topology.numRanks() + topology.links().size()) {}
  Traffic make();

private:
  /// Neighbours of one step and depth in a channel.
  struct Group {
    uint32_t channel;
    uint32_t number;        ///< in its channel, from 1: what its flag shows
    bool isAwaited = false; ///< by another channel
    /// Other channels, ascending, and the numbers of their groups.
    std::vector<std::pair<uint32_t, uint32_t>> producers = {};
  };

  bool isLocal(uint32_t channel) const { return channel < topology.numRanks(); }
  unsigned linkOf(uint32_t channel) const {
    return isLocal(channel) ? Action::noLink : channel - topology.numRanks();
  }
  unsigned rankOf(uint32_t channel) const {
    return isLocal(channel) ? channel : topology.links()[linkOf(channel)].src;
  }
  void findDepth(DraftTransfer &transfer) const;
  void formGroups();
  void findProducers();
  void findHeard();
  uint32_t readyBefore(uint32_t channel) const;
  void findReadies();
  void addChannel(uint32_t channel);
  void addReadies(uint32_t channel);
  void addReady(uint32_t channel) { addWait(readyFlag(channel), 1); }
  void addGroups(uint32_t channel);
  size_t endOfWords(const std::vector<uint32_t> &own, size_t begin) const;
  void addWords(uint32_t channel);
  void addFinalWaits(unsigned rank);
  void add(Action action) { traffic.channels.back().actions.push_back(action); }
  void addWait(uint32_t flag, uint32_t value) {
    add({.kind = Kind::Wait, .flag = flag, .value = value});
  }
  double widthOf(const DraftTransfer &transfer) const {
    return transfer.isPartial ? sumWidth : 1;
  }
  bool readsScratch(const DraftTransfer &transfer) const {
    return std::ranges::any_of(transfer.reads, [&](uint32_t writer) {
      return writer != none && transfers[writer].isScratch;
    });
  }
  Action actionOf(uint32_t channel, const DraftTransfer &transfer,
                  size_t pieces) const {
    Action action{.kind = isLocal(channel) ? Kind::Copy : Kind::Push,
                  .link = linkOf(channel),
                  .bytes = double(pieces),
                  .pieces = options.ll ? 1 : unsigned(pieces)};
    action.setOperands(transfer.reads.size(),
                       options.ll && readsScratch(transfer),
                       options.ll && transfer.isScratch);
    if (sumWidth != 1) {
      double loaded = 0;
      for (uint32_t writer : transfer.reads)
        loaded += writer == none ? 1 : widthOf(transfers[writer]);
      action.setWidths(widthOf(transfer), loaded);
    }
    return action;
  }
  void addTransfer(uint32_t channel, const DraftTransfer &transfer,
                   size_t pieces) {
    add(actionOf(channel, transfer, pieces));
  }
  LocalWork localWork(unsigned rank) const;
  uint64_t channelsOf(unsigned rank) const;
  void spreadChannels();
  void chooseBlocks();

  uint32_t readyFlag(uint32_t channel) const {
    return uint32_t(members.size()) + channel;
  }
  uint32_t wordFlag(uint32_t transfer) const {
    return uint32_t(2 * members.size()) + transfer;
  }

  const Topology &topology;
  const Timing &timing;
  const Schedule &schedule;
  const LoweringOptions &options;
  const unsigned sumWidth; ///< see SumContract
  std::vector<DraftTransfer> transfers;
  std::vector<std::vector<uint32_t>> members; ///< transfers, by channel
  std::vector<LocalWork> works;               ///< by rank
  std::vector<unsigned> spreads;              ///< of local channels
  std::vector<Group> groups;                  ///< channel by channel
  std::vector<uint32_t> lastNumber;           ///< of groups, by channel
  /// By rank: by which step of a launch it has heard of each rank, or none.
  std::vector<std::vector<uint32_t>> heard;
  /// By channel: the transfer that comes after its ready, or none.
  std::vector<uint32_t> readies;
  Traffic traffic;
};
} // namespace

void DraftFlags::findDepth(DraftTransfer &transfer) const {
  for (uint32_t number : transfer.reads)
    if (number != none && transfers[number].step == transfer.step) {
      const DraftTransfer &writer = transfers[number];
      transfer.depth = std::max(
          transfer.depth, writer.depth + (writer.channel != transfer.channel));
    }
}

void DraftFlags::formGroups() {
  for (uint32_t number = 0; number < transfers.size(); ++number) {
    DraftTransfer &transfer = transfers[number];
    if (transfer.isDropped)
      continue;
    findDepth(transfer);
    members[transfer.channel].push_back(number);
  }
  // Of a step, copies come first, then reductions, then what delivers them.
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    std::ranges::stable_sort(members[rank], {}, [&](uint32_t number) {
      const DraftTransfer &transfer = transfers[number];
      return std::tuple(transfer.step, transfer.isLate, transfer.reduces);
    });
  lastNumber.resize(members.size());
  for (uint32_t channel = 0; channel < members.size(); ++channel) {
    const DraftTransfer *last = nullptr;
    for (uint32_t place = 0; place < members[channel].size(); ++place) {
      DraftTransfer &transfer = transfers[members[channel][place]];
      transfer.place = place;
      if (!last || last->step != transfer.step || last->depth != transfer.depth)
        groups.push_back({.channel = channel, .number = ++lastNumber[channel]});
      transfer.group = uint32_t(groups.size() - 1);
      last = &transfer;
    }
  }
}

/// The last group of a channel tells of those before it.
void DraftFlags::findProducers() {
  for (const DraftTransfer &transfer : transfers)
    for (uint32_t number : transfer.reads)
      if (number != none && !transfer.isDropped &&
          transfers[number].channel != transfer.channel) {
        const Group &producer = groups[transfers[number].group];
        groups[transfer.group].producers.push_back(
            {producer.channel, producer.number});
      }
  std::vector<uint32_t> first(members.size()); // group
  for (uint32_t i = uint32_t(groups.size()); i-- > 0;)
    first[groups[i].channel] = i;
  for (Group &group : groups) {
    auto &all = group.producers;
    std::ranges::sort(all);
    auto isToldByNext = [&](size_t i) {
      return i + 1 < all.size() && all[i + 1].first == all[i].first;
    };
    size_t kept = 0;
    for (size_t i = 0; i < all.size(); ++i)
      if (!isToldByNext(i))
        all[kept++] = all[i];
    all.resize(kept);
    for (auto [channel, number] : all)
      groups[first[channel] + number - 1].isAwaited = true;
  }
}

/// What a rank sends tells of all that it has heard of before.
void DraftFlags::findHeard() {
  heard.assign(topology.numRanks(),
               std::vector<uint32_t>(topology.numRanks(), none));
  for (unsigned rank = 0; rank < heard.size(); ++rank)
    heard[rank][rank] = 0;
  for (uint32_t step = 0; step < schedule.steps.size(); ++step)
    for (const Send &send : schedule.steps[step].sends)
      for (unsigned rank = 0; rank < heard.size(); ++rank)
        if (heard[send.src][rank] <= step)
          heard[send.dst][rank] = std::min(heard[send.dst][rank], step + 1);
}

/// The number in its channel of the transfer that waits for the peer's ready.
/// Two halves of scratch need it at the end at most, and not if the sender
/// hears of the receiver in another way in every launch; other memory needs
/// none once it has.
uint32_t DraftFlags::readyBefore(uint32_t channel) const {
  if (!options.ll && !options.doubleBuffer)
    return 0;
  auto [src, dst] = topology.links()[linkOf(channel)];
  const std::vector<uint32_t> &own = members[channel];
  auto direct = std::ranges::find_if(
      own, [&](uint32_t number) { return !transfers[number].isScratch; });
  if (direct == own.end())
    return heard[src][dst] == none ? uint32_t(own.size()) : none;
  const DraftTransfer &first = transfers[*direct];
  bool knows =
      heard[src][dst] <= first.step && !groups[first.group].producers.empty();
  return knows ? none : uint32_t(direct - own.begin());
}

void DraftFlags::findReadies() {
  readies.assign(members.size(), none);
  for (uint32_t channel = 0; channel < members.size(); ++channel)
    if (!isLocal(channel) && !members[channel].empty())
      readies[channel] = readyBefore(channel);
}

/// A local channel tells those that send to it.
void DraftFlags::addReadies(uint32_t channel) {
  for (unsigned link : topology.inLinks(channel)) {
    uint32_t other = topology.numRanks() + link;
    if (readies[other] == none)
      continue;
    unsigned back =
        topology.findLink(channel, topology.links()[link].src).value_or(link);
    add({.kind = Kind::Signal,
         .link = back,
         .flag = readyFlag(other),
         .value = 1});
  }
}

void DraftFlags::addGroups(uint32_t channel) {
  std::map<uint32_t, uint32_t> waited; // by channel
  size_t next = 0;
  const std::vector<uint32_t> &own = members[channel];
  size_t ready = readies[channel];
  auto mayAddReady = [&] {
    if (std::exchange(ready, next == ready ? none : ready) == next)
      addReady(channel);
  };
  while (next < own.size()) {
    uint32_t number = transfers[own[next]].group;
    const Group &group = groups[number];
    for (auto [producer, value] : group.producers)
      if (uint32_t &known = waited[producer]; known < value)
        addWait(producer, known = value);
    auto isOfGroup = [&](size_t i) {
      return i < own.size() && transfers[own[i]].group == number;
    };
    while (isOfGroup(next)) {
      mayAddReady();
      const DraftTransfer &first = transfers[own[next]];
      size_t begin = next++;
      while (isOfGroup(next) && next != ready &&
             transfers[own[next]].isPartial == first.isPartial &&
             transfers[own[next]].reads.size() == first.reads.size())
        ++next;
      addTransfer(channel, first, next - begin);
    }
    bool isLast = next == own.size() && !isLocal(channel);
    if (group.isAwaited || isLast)
      add({.kind = Kind::Signal,
           .link = linkOf(channel),
           .flag = channel,
           .value = group.number});
  }
  mayAddReady();
}

/// Past the transfers of LL words, from that at `begin` of `own` on, that
/// blocks execute side by side: see WordGroups.h.
size_t DraftFlags::endOfWords(const std::vector<uint32_t> &own,
                              size_t begin) const {
  auto hasWords = [&](const DraftTransfer &transfer) {
    return transfer.isScratch || readsScratch(transfer);
  };
  const DraftTransfer &first = transfers[own[begin]];
  size_t end = begin + 1;
  if (!hasWords(first))
    return end;
  // What a transfer reads is written before it.
  auto isOfGroup = [&](uint32_t number) {
    return number != none && transfers[number].channel == first.channel &&
           transfers[number].place >= begin;
  };
  while (end < own.size() && transfers[own[end]].step == first.step &&
         hasWords(transfers[own[end]]) &&
         std::ranges::none_of(transfers[own[end]].reads, isOfGroup))
    ++end;
  return end;
}

/// LL words tell of themselves. What is alike in a group is one transfer.
void DraftFlags::addWords(uint32_t channel) {
  const std::vector<uint32_t> &own = members[channel];
  for (size_t begin = 0, end; begin < own.size(); begin = end) {
    end = endOfWords(own, begin);
    size_t loads = 0;
    for (size_t i = begin; i < end; ++i)
      for (uint32_t writer : transfers[own[i]].reads) {
        ++loads;
        if (writer != none)
          add({.kind = Kind::Wait,
               .flag = wordFlag(writer),
               .value = 1,
               .isWords = true});
      }
    size_t first = traffic.channels.back().actions.size();
    for (size_t i = begin, next; i < end; i = next) {
      const DraftTransfer &transfer = transfers[own[i]];
      auto isAlike = [&](const DraftTransfer &other) {
        return other.reads.size() == transfer.reads.size() &&
               other.isScratch == transfer.isScratch;
      };
      for (next = i + 1; next < end && isAlike(transfers[own[next]]);)
        ++next;
      Action action = actionOf(channel, transfer, next - i);
      action.isBeside = i != begin;
      action.share = double((next - i) * transfer.reads.size()) / double(loads);
      add(action);
    }
    std::vector<Action> &actions = traffic.channels.back().actions;
    size_t blocks = size_t(traffic.blocks) * traffic.channels.back().spread;
    actions[first].accesses *=
        unsigned(llvm::divideCeil(actions.size() - first, blocks));
    for (size_t i = begin; i < end; ++i)
      if (transfers[own[i]].isScratch)
        add({.kind = Kind::Signal,
             .link = linkOf(channel),
             .flag = wordFlag(own[i]),
             .value = 1,
             .isWords = true});
  }
  if (readies[channel] != none)
    addReady(channel);
}

/// A rank ends when all has come that others send to it.
void DraftFlags::addFinalWaits(unsigned rank) {
  for (unsigned link : topology.inLinks(rank))
    if (uint32_t other = topology.numRanks() + link; !members[other].empty())
      addWait(other, lastNumber[other]);
}

void DraftFlags::addChannel(uint32_t channel) {
  traffic.channels.push_back(
      {rankOf(channel), {}, isLocal(channel) ? spreads[channel] : 1});
  if (isLocal(channel))
    addReadies(channel);
  if (options.ll)
    return addWords(channel);
  addGroups(channel);
  if (isLocal(channel))
    addFinalWaits(channel);
}

/// What `rank` does itself, beside its channels to others.
LocalWork DraftFlags::localWork(unsigned rank) const {
  auto accessesOf = [&](uint32_t channel) {
    uint64_t sum = 0;
    for (uint32_t number : members[channel])
      sum += transfers[number].reads.size() + 1;
    return sum;
  };
  LocalWork work{.own = accessesOf(rank)};
  work.handlesArrivals =
      std::ranges::any_of(members[rank], [&](uint32_t number) {
        return readsScratch(transfers[number]);
      });
  for (const auto *links : {&topology.outLinks(rank), &topology.inLinks(rank)})
    if (work.others.empty())
      for (unsigned link : *links)
        if (uint32_t channel = topology.numRanks() + link;
            !members[channel].empty())
          work.others.push_back(accessesOf(channel));
  return work;
}

/// That do something, and the one of the rank itself.
uint64_t DraftFlags::channelsOf(unsigned rank) const {
  return 1 + std::ranges::count_if(topology.outLinks(rank), [&](unsigned link) {
           return !members[topology.numRanks() + link].empty();
         });
}

/// As coll-spread-channels does.
void DraftFlags::spreadChannels() {
  unsigned given = options.blocksPerLink, budget = options.smBudget;
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
    works.push_back(localWork(rank));
    spreads.push_back(
        works.back().spread(spreadWithin(budget, given, channelsOf(rank))));
  }
  chooseBlocks();
  if (given != 0 || timing.sendRate == 0)
    return;
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    spreads[rank] = works[rank].widened(budget, traffic.blocks,
                                        channelsOf(rank), spreads[rank]);
}

void DraftFlags::chooseBlocks() {
  traffic.blocks = std::max(options.blocksPerLink, 1u);
  if (options.blocksPerLink != 0 || timing.sendRate == 0)
    return;
  std::vector<double> perBlock(topology.links().size());
  uint64_t most = 0;
  for (uint32_t channel = topology.numRanks(); channel < members.size();
       ++channel) {
    if (members[channel].empty())
      continue;
    double least = timing.sendRate;
    for (uint32_t number : members[channel])
      least = std::min(
          least, actionOf(channel, transfers[number], 1).blockRate(timing));
    perBlock[linkOf(channel)] += least;
  }
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    most = std::max(most, channelsOf(rank) - 1 + spreads[rank]);
  traffic.blocks =
      blocksToFill(topology, timing.rates, perBlock, most, options.smBudget);
}

Traffic DraftFlags::make() {
  formGroups();
  spreadChannels();
  if (options.ll || options.doubleBuffer)
    findHeard();
  if (!options.ll)
    findProducers();
  findReadies();
  traffic.numFlags =
      uint32_t(2 * members.size() + (options.ll ? transfers.size() : 0));
  for (uint32_t channel = 0; channel < members.size(); ++channel)
    if (isLocal(channel) || !members[channel].empty())
      addChannel(channel);
  return std::move(traffic);
}

Traffic advice::draftTraffic(const Topology &topology, const Timing &timing,
                             const Implementation &implementation,
                             const LoweringOptions &options) {
  std::vector<DraftTransfer> transfers =
      draftTransfers(topology, implementation, options);
  return DraftFlags(topology, timing, implementation.schedule, options,
                    std::move(transfers))
      .make();
}
