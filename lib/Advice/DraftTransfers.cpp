//===- DraftTransfers.cpp - Transfers of a program not yet made ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DraftTransfers.h"

#include "sccl/ABI/AverageWord.h"
#include "sccl/Model/OrderedSums.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace sccl;
using namespace sccl::advice;

namespace {
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
  size_t placeOf(unsigned rank, uint32_t chunk) const {
    return size_t(rank) * collective.numChunks() + chunk;
  }
  Held &held(unsigned rank, uint32_t chunk) {
    return states[placeOf(rank, chunk)];
  }

  void countSends();
  void enterInputs();
  void planStep(uint32_t step);
  void planSend(uint32_t step, const Send &send, uint32_t payload);
  void sumUp(size_t place, bool isLast);
  uint32_t payloadOf(uint32_t step, const Send &send);
  uint32_t add(DraftTransfer transfer);
  uint32_t addVersion(uint32_t step, unsigned rank, uint32_t chunk,
                      DraftTransfer transfer);
  /// The ranks that are in what `writer` has written, or in an input.
  uint32_t contributorsOf(uint32_t writer) const {
    return writer == none ? 1 : transfers[writer].contributors;
  }
  /// The least of them, where the input would be that of `rank`.
  uint32_t firstOf(uint32_t writer, unsigned rank) const {
    return writer == none ? rank : transfers[writer].first;
  }
  void findReaders();
  void dropUnread();
  void joinReductions();
  void fuseReductions();

  const Topology &topology;
  const Collective &collective;
  const Schedule &schedule;
  const bool throughScratch, eager, ll;
  std::vector<Held> states;
  std::vector<DraftTransfer> transfers;
  /// Who wrote the arrivals that ranks keep, by place and number.
  std::map<std::pair<size_t, unsigned>, uint32_t> kept;
  OrderedSums orderedSums;
  /// Who wrote what waits for the rest of its sum, by place.
  std::map<size_t, std::vector<uint32_t>> waiting;
  std::vector<DraftTransfer> deliveries; ///< of the present step
  /// Likewise, who wrote the sums that are sent, by what they are made of.
  std::map<std::tuple<size_t, SendPayload, uint32_t>, uint32_t> sums;
  std::vector<Send> sends;        ///< likewise
  std::vector<uint32_t> payloads; ///< likewise, who wrote them
  std::pair<Link, uint32_t> lastLink = {{0, 0}, none}; ///< and its channel
};
} // namespace

DraftTransfers::DraftTransfers(const Topology &topology,
                               const Implementation &implementation,
                               const LoweringOptions &options)
    : topology(topology), collective(implementation.collective),
      schedule(implementation.schedule),
      throughScratch(options.throughScratch || options.ll),
      eager(options.doubleBuffer), ll(options.ll),
      states(size_t(collective.numRanks()) * collective.numChunks()) {
  if (options.sumOrder == SumOrder::Same)
    orderedSums = OrderedSums(collective, schedule);
}

void DraftTransfers::countSends() {
  for (uint32_t step = 0; step < schedule.steps.size(); ++step)
    for (const Send &send : schedule.steps[step].sends) {
      if (send.action != SendAction::Keep)
        ++held(send.dst, send.chunk).arrivalsLeft;
      if (!send.carriesInputOnly())
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
  transfer.isScratch = !isLast || (throughScratch && (isByPeer || isSentOn)) ||
                       (eager && isByPeer && step == 0);
  state.writer = add(transfer);
  state.isThere = true;
  if (isLast && transfer.isScratch)
    deliveries.push_back({.channel = rank,
                          .step = step,
                          .reads = {state.writer},
                          .isLate = true});
  return state.writer;
}

void DraftTransfers::planSend(uint32_t step, const Send &send,
                              uint32_t payload) {
  Link link{send.src, send.dst};
  if (lastLink.second == none || !(lastLink.first == link))
    lastLink = {link,
                collective.numRanks() + *topology.findLink(send.src, send.dst)};
  DraftTransfer move{.channel = lastLink.second,
                     .step = step,
                     .reads = {payload},
                     .contributors = contributorsOf(payload),
                     .first = firstOf(payload, send.src)};
  Held &state = held(send.dst, send.chunk);
  bool lands = send.action == SendAction::Keep ||
               (send.action == SendAction::Reduce && state.isThere);
  if (lands)
    move.isScratch = true;
  uint32_t landed =
      lands ? add(move) : addVersion(step, send.dst, send.chunk, move);
  if (send.keep)
    kept[{placeOf(send.dst, send.chunk), send.keep}] = landed;
  if (!lands || send.action == SendAction::Keep)
    return;
  if (orderedSums.waits(send)) {
    size_t place = placeOf(send.dst, send.chunk);
    waiting[place].push_back(landed);
    if (state.arrivalsLeft == 1)
      sumUp(place, /*isLast=*/true);
    else
      --state.arrivalsLeft;
    return;
  }
  addVersion(
      step, send.dst, send.chunk,
      {.channel = send.dst,
       .step = step,
       .reads = {state.writer, landed},
       .reduces = true,
       .contributors = contributorsOf(state.writer) + contributorsOf(landed),
       .first =
           std::min(firstOf(state.writer, send.dst), transfers[landed].first)});
}

/// Sums up what has waited at `place`, as coll-lower-schedule has it: beside
/// them the value that is there, unless it is the first or there are but two.
void DraftTransfers::sumUp(size_t place, bool isLast) {
  auto rank = unsigned(place / collective.numChunks());
  auto chunk = uint32_t(place % collective.numChunks());
  auto terms = std::move(waiting.extract(place).mapped());
  uint32_t value = states[place].writer, step = transfers[terms.back()].step;
  auto first = [&](uint32_t term) { return firstOf(term, rank); };
  std::ranges::sort(terms, {}, first);
  auto position = std::ranges::upper_bound(terms, first(value), {}, first);
  if (position != terms.begin() && terms.size() > 1)
    terms.insert(position, add({.channel = rank,
                                .step = step,
                                .reads = {value},
                                .isScratch = true,
                                .contributors = contributorsOf(value),
                                .first = first(value)}));
  else
    terms.insert(terms.begin(), value);
  uint32_t sum = terms.front();
  for (uint32_t term : llvm::ArrayRef(terms).drop_front()) {
    DraftTransfer next{
        .channel = rank,
        .step = step,
        .reads = {sum, term},
        .reduces = true,
        .isScratch = true,
        .contributors = contributorsOf(sum) + contributorsOf(term),
        .first = std::min(firstOf(sum, rank), firstOf(term, rank))};
    sum = isLast && term == terms.back() ? addVersion(step, rank, chunk, next)
                                         : add(next);
  }
  states[place].writer = sum;
}

/// Who wrote what `send` carries; several arrivals are summed up before.
uint32_t DraftTransfers::payloadOf(uint32_t step, const Send &send) {
  size_t place = placeOf(send.src, send.chunk);
  if (send.payload == SendPayload::Current) {
    if (waiting.contains(place))
      sumUp(place, /*isLast=*/false);
    return states[place].writer;
  }
  auto [sum, isNew] = sums.try_emplace({place, send.payload, send.kept}, none);
  if (!isNew)
    return sum->second;
  bool isFirst = send.payload != SendPayload::Input;
  send.forEachKept([&](unsigned number) {
    uint32_t part = kept.at({place, number});
    sum->second = isFirst
                      ? part
                      : add({.channel = send.src,
                             .step = step - 1,
                             .reads = {sum->second, part},
                             .reduces = true,
                             .isScratch = true,
                             .contributors = contributorsOf(sum->second) +
                                             contributorsOf(part),
                             .first = std::min(firstOf(sum->second, send.src),
                                               firstOf(part, send.src))});
    isFirst = false;
  });
  return sum->second;
}

/// All payloads are looked up before any version changes.
void DraftTransfers::planStep(uint32_t step) {
  sends = schedule.steps[step].sends;
  std::ranges::sort(sends, {}, [](const Send &send) {
    return std::tuple(send.src, send.dst, send.chunk);
  });
  payloads.clear();
  sums.clear();
  for (const Send &send : sends)
    payloads.push_back(payloadOf(step, send));
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

/// Reductions of one step that go on with each other's results become one of
/// several terms, as coll-fuse-reductions has it.
void DraftTransfers::joinReductions() {
  for (uint32_t number = 0; number < transfers.size(); ++number) {
    DraftTransfer &first = transfers[number];
    if (!first.reduces || !first.isScratch || first.isDropped ||
        first.readers != 1)
      continue;
    DraftTransfer &next = transfers[first.reader];
    auto exponentOf = [&](const DraftTransfer &reduction) {
      return averageExponent(contributorsOf(reduction.reads[1]));
    };
    if (!next.reduces || next.channel != first.channel ||
        next.step != first.step || next.reads[0] != number ||
        exponentOf(next) != exponentOf(first))
      continue;
    first.isDropped = true;
    first.reads.append(next.reads.begin() + 1, next.reads.end());
    next.reads = std::move(first.reads);
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
  joinReductions();
  fuseReductions();
  return std::move(transfers);
}

std::vector<DraftTransfer>
advice::draftTransfers(const Topology &topology,
                       const Implementation &implementation,
                       const LoweringOptions &options) {
  return DraftTransfers(topology, implementation, options).make();
}
