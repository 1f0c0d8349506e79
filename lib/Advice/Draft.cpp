//===- Draft.cpp - What a program will send, before there is one ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Draft.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

using namespace sccl;
using namespace sccl::advice;

using Kind = Action::Kind;

/// Of transfers and groups.
static constexpr uint32_t none = ~0u;

namespace {
/// A transfer that some channel will execute, for one chunk.
struct DraftTransfer {
  uint32_t channel;
  uint32_t step;
  /// The transfers whose results it reads.
  std::array<uint32_t, 2> reads = {none, none};
  bool reduces = false;   ///< within a rank
  bool isScratch = false; ///< where the result goes
  bool isDropped = false;
  uint32_t depth = 0;     ///< channels that its data has passed in the step
  uint32_t group = none;  ///< of the transfers of its step and depth
  uint32_t readers = 0;   ///< how many read the result
  uint32_t reader = none; ///< the last of them
};

/// The transfers of a schedule, each after those whose results it reads. A
/// local channel has the number of its rank, one over a link that of the link
/// and the number of ranks.
class DraftTransfers {
public:
  DraftTransfers(const Topology &topology, const Implementation &implementation,
                 const LoweringOptions &options);
  std::vector<DraftTransfer> make();

private:
  /// A chunk at a rank.
  struct Held {
    uint32_t writer = none; ///< of the newest version, unless it is the input
    uint32_t arrivalsLeft = 0;
    uint32_t lastSent = 0; ///< step, if it is not the input that is sent
    bool isThere = false;
  };
  Held &held(unsigned rank, uint32_t chunk) {
    return states[size_t(rank) * collective.numChunks() + chunk];
  }

  void countSends();
  void enterInputs();
  void planStep(uint32_t step);
  void planSend(uint32_t step, const Send &send, uint32_t payload);
  uint32_t add(DraftTransfer transfer);
  uint32_t addVersion(uint32_t step, unsigned rank, uint32_t chunk,
                      DraftTransfer transfer);
  void findReaders();
  void dropUnread();
  void fuseReductions();

  const Topology &topology;
  const Collective &collective;
  const Schedule &schedule;
  const bool throughScratch, ll;
  std::vector<Held> states;
  std::vector<DraftTransfer> transfers;
  std::vector<DraftTransfer> deliveries; ///< of the present step
  std::vector<Send> sends;               ///< likewise
  std::vector<uint32_t> payloads;        ///< likewise, who wrote them
  std::pair<Link, uint32_t> lastLink = {{0, 0}, none}; ///< and its channel
};
} // namespace

DraftTransfers::DraftTransfers(const Topology &topology,
                               const Implementation &implementation,
                               const LoweringOptions &options)
    : topology(topology), collective(implementation.collective),
      schedule(implementation.schedule),
      throughScratch(options.throughScratch || options.ll), ll(options.ll),
      states(size_t(collective.numRanks()) * collective.numChunks()) {}

void DraftTransfers::countSends() {
  for (uint32_t step = 0; step < schedule.steps.size(); ++step)
    for (const Send &send : schedule.steps[step].sends) {
      ++held(send.dst, send.chunk).arrivalsLeft;
      if (send.payload != SendPayload::Input)
        held(send.src, send.chunk).lastSent = step;
    }
}

/// What no arrival replaces is copied to the output.
void DraftTransfers::enterInputs() {
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
    for (unsigned chunk : collective.pre().chunksOf(rank)) {
      Held &state = held(rank, chunk);
      state.isThere = true;
      if (state.arrivalsLeft == 0 && collective.post().contains(rank, chunk))
        add({.channel = rank, .step = 0});
    }
}

uint32_t DraftTransfers::add(DraftTransfer transfer) {
  transfers.push_back(transfer);
  return uint32_t(transfers.size() - 1);
}

/// Adds what makes the next version of a chunk. What a peer writes, and what
/// has to be sent on as LL words, goes through scratch.
uint32_t DraftTransfers::addVersion(uint32_t step, unsigned rank,
                                    uint32_t chunk, DraftTransfer transfer) {
  Held &state = held(rank, chunk);
  bool isLast =
      --state.arrivalsLeft == 0 && collective.post().contains(rank, chunk);
  bool isByPeer = !transfer.reduces, isSentOn = ll && state.lastSent > step;
  transfer.isScratch = !isLast || (throughScratch && (isByPeer || isSentOn));
  state.writer = add(transfer);
  state.isThere = true;
  if (isLast && transfer.isScratch)
    deliveries.push_back({rank, step, {state.writer, none}});
  return state.writer;
}

void DraftTransfers::planSend(uint32_t step, const Send &send,
                              uint32_t payload) {
  Link link{send.src, send.dst};
  if (lastLink.second == none || !(lastLink.first == link))
    lastLink = {link,
                collective.numRanks() + *topology.findLink(send.src, send.dst)};
  DraftTransfer move{
      .channel = lastLink.second, .step = step, .reads = {payload, none}};
  Held &state = held(send.dst, send.chunk);
  if (send.action != SendAction::Reduce || !state.isThere) {
    addVersion(step, send.dst, send.chunk, move);
    return;
  }
  move.isScratch = true;
  uint32_t landed = add(move);
  addVersion(step, send.dst, send.chunk,
             {.channel = send.dst,
              .step = step,
              .reads = {state.writer, landed},
              .reduces = true});
}

/// All payloads are looked up before any version changes.
void DraftTransfers::planStep(uint32_t step) {
  sends = schedule.steps[step].sends;
  std::ranges::sort(sends, {}, [](const Send &send) {
    return std::tuple(send.src, send.dst, send.chunk);
  });
  payloads.clear();
  for (const Send &send : sends)
    payloads.push_back(send.payload == SendPayload::Input
                           ? none
                           : held(send.src, send.chunk).writer);
  for (size_t i = 0; i < sends.size(); ++i)
    planSend(step, sends[i], payloads[i]);
  for (const DraftTransfer &delivery : deliveries)
    add(delivery);
  deliveries.clear();
}

void DraftTransfers::findReaders() {
  for (uint32_t number = 0; number < transfers.size(); ++number)
    for (uint32_t writer : transfers[number].reads)
      if (writer != none) {
        ++transfers[writer].readers;
        transfers[writer].reader = number;
      }
}

/// Nobody would wait for LL words that nobody reads.
void DraftTransfers::dropUnread() {
  for (size_t number = transfers.size(); number-- > 0;) {
    DraftTransfer &transfer = transfers[number];
    if (!transfer.isScratch || transfer.readers > 0)
      continue;
    transfer.isDropped = true;
    for (uint32_t writer : transfer.reads)
      if (writer != none)
        --transfers[writer].readers;
  }
}

/// A reduction that only one later send reads becomes a part of it.
void DraftTransfers::fuseReductions() {
  for (DraftTransfer &transfer : transfers) {
    if (!transfer.reduces || !transfer.isScratch || transfer.isDropped ||
        transfer.readers != 1)
      continue;
    DraftTransfer &reader = transfers[transfer.reader];
    if (reader.channel < collective.numRanks() || reader.isDropped ||
        reader.step <= transfer.step)
      continue;
    reader.reads = transfer.reads;
    transfer.isDropped = true;
  }
}

std::vector<DraftTransfer> DraftTransfers::make() {
  countSends();
  enterInputs();
  for (uint32_t step = 0; step < schedule.steps.size(); ++step)
    planStep(step);
  findReaders();
  if (ll)
    dropUnread();
  fuseReductions();
  return std::move(transfers);
}

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

namespace {
/// Makes channels of transfers, with waits and signals.
class DraftFlags {
public:
  DraftFlags(const Topology &topology, const Schedule &schedule,
             const LoweringOptions &options,
             std::vector<DraftTransfer> transfers)
      : topology(topology), schedule(schedule), options(options),
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
  bool needsReady(uint32_t channel) const;
  void addChannel(uint32_t channel);
  void addReadies(uint32_t channel);
  void addGroups(uint32_t channel);
  void addWords(uint32_t channel);
  void addFinalWaits(unsigned rank);
  void add(Action action) { traffic.channels.back().actions.push_back(action); }
  void addWait(uint32_t flag, uint32_t value) {
    add({.kind = Kind::Wait, .flag = flag, .value = value});
  }
  void addTransfer(uint32_t channel, double bytes) {
    bool isCopy = isLocal(channel);
    add({.kind = isCopy ? Kind::Copy : Kind::Push,
         .link = linkOf(channel),
         .bytes = bytes});
  }

  uint32_t readyFlag(uint32_t channel) const {
    return uint32_t(members.size()) + channel;
  }
  uint32_t wordFlag(uint32_t transfer) const {
    return uint32_t(2 * members.size()) + transfer;
  }

  const Topology &topology;
  const Schedule &schedule;
  const LoweringOptions &options;
  std::vector<DraftTransfer> transfers;
  std::vector<std::vector<uint32_t>> members; ///< transfers, by channel
  std::vector<Group> groups;                  ///< channel by channel
  std::vector<uint32_t> lastNumber;           ///< of groups, by channel
  /// By rank: of which ranks it hears in every launch.
  std::vector<std::vector<bool>> heard;
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
  lastNumber.resize(members.size());
  for (uint32_t channel = 0; channel < members.size(); ++channel) {
    const DraftTransfer *last = nullptr;
    for (uint32_t number : members[channel]) {
      DraftTransfer &transfer = transfers[number];
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
  heard.assign(topology.numRanks(), std::vector<bool>(topology.numRanks()));
  for (unsigned rank = 0; rank < heard.size(); ++rank)
    heard[rank][rank] = true;
  for (const Step &step : schedule.steps)
    for (const Send &send : step.sends)
      for (unsigned rank = 0; rank < heard.size(); ++rank)
        if (heard[send.src][rank])
          heard[send.dst][rank] = true;
}

/// Two halves of scratch need no handshake if the sender hears of the receiver
/// in another way in every launch.
bool DraftFlags::needsReady(uint32_t channel) const {
  if (!options.ll && !(options.doubleBuffer && options.throughScratch))
    return true;
  auto [src, dst] = topology.links()[linkOf(channel)];
  return !heard[src][dst];
}

/// A local channel tells those that send to it.
void DraftFlags::addReadies(uint32_t channel) {
  if (!isLocal(channel)) {
    if (needsReady(channel))
      addWait(readyFlag(channel), 1);
    return;
  }
  for (unsigned link : topology.inLinks(channel)) {
    uint32_t other = topology.numRanks() + link;
    if (members[other].empty() || !needsReady(other))
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
  while (next < own.size()) {
    uint32_t number = transfers[own[next]].group;
    const Group &group = groups[number];
    double bytes = 0;
    for (; next < own.size() && transfers[own[next]].group == number; ++next)
      ++bytes;
    for (auto [producer, value] : group.producers)
      if (uint32_t &known = waited[producer]; known < value)
        addWait(producer, known = value);
    addTransfer(channel, bytes);
    bool isLast = next == own.size() && !isLocal(channel);
    if (group.isAwaited || isLast)
      add({.kind = Kind::Signal,
           .link = linkOf(channel),
           .flag = channel,
           .value = group.number});
  }
}

/// LL words tell of themselves.
void DraftFlags::addWords(uint32_t channel) {
  for (uint32_t number : members[channel]) {
    const DraftTransfer &transfer = transfers[number];
    for (uint32_t writer : transfer.reads)
      if (writer != none)
        addWait(wordFlag(writer), 1);
    addTransfer(channel, transfer.isScratch ? 2 : 1);
    if (transfer.isScratch)
      add({.kind = Kind::Signal,
           .link = linkOf(channel),
           .flag = wordFlag(number),
           .value = 1});
  }
}

/// A rank ends when all has come that others send to it.
void DraftFlags::addFinalWaits(unsigned rank) {
  for (unsigned link : topology.inLinks(rank))
    if (uint32_t other = topology.numRanks() + link; !members[other].empty())
      addWait(other, lastNumber[other]);
}

void DraftFlags::addChannel(uint32_t channel) {
  traffic.channels.push_back({rankOf(channel), {}});
  addReadies(channel);
  if (options.ll)
    return addWords(channel);
  addGroups(channel);
  if (isLocal(channel))
    addFinalWaits(channel);
}

Traffic DraftFlags::make() {
  formGroups();
  if (options.ll || options.doubleBuffer)
    findHeard();
  if (!options.ll)
    findProducers();
  traffic.numFlags =
      uint32_t(2 * members.size() + (options.ll ? transfers.size() : 0));
  for (uint32_t channel = 0; channel < members.size(); ++channel)
    if (isLocal(channel) || !members[channel].empty())
      addChannel(channel);
  return std::move(traffic);
}

Traffic advice::draftTraffic(const Topology &topology,
                             const Implementation &implementation,
                             const LoweringOptions &options) {
  std::vector<DraftTransfer> transfers =
      DraftTransfers(topology, implementation, options).make();
  return DraftFlags(topology, implementation.schedule, options,
                    std::move(transfers))
      .make();
}
