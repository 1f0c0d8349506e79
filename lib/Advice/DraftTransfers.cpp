//===- DraftTransfers.cpp - Transfers of a program not yet made ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DraftTransfers.h"

#include "sccl/ABI/AverageWord.h"
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
  DraftTransfer sumOf(uint32_t step, unsigned rank, uint32_t chunk, uint32_t a,
                      uint32_t b) const;
  uint32_t payloadOf(uint32_t step, const Send &send);
  uint32_t add(DraftTransfer transfer);
  uint32_t addVersion(uint32_t step, unsigned rank, uint32_t chunk,
                      DraftTransfer transfer);
  /// The ranks that are in what `writer` has written, or in an input.
  uint32_t contributorsOf(uint32_t writer) const {
    return writer == none ? 1 : transfers[writer].contributors;
  }
  bool isPartial(uint32_t writer) const {
    return writer != none && transfers[writer].isPartial;
  }
  /// Which they are, where the input would be that of `rank`.
  SumPart partOf(uint32_t writer, unsigned rank, uint32_t chunk) const {
    return writer == none ? orderedSums.inputOf(rank, chunk)
                          : transfers[writer].part;
  }
  std::vector<SumPart> partsOf(const std::vector<uint32_t> &writers,
                               unsigned rank, uint32_t chunk) const {
    std::vector<SumPart> parts;
    for (uint32_t writer : writers)
      parts.push_back(partOf(writer, rank, chunk));
    return parts;
  }
  void findReaders();
  void dropUnread();
  void joinReductions();
  void fuseReductions();

  const Topology &topology;
  const Collective &collective;
  const Schedule &schedule;
  const bool throughScratch, eager, ll;
  std::vector<uint32_t> numContributors; ///< by chunk
  std::vector<Held> states;
  std::vector<DraftTransfer> transfers;
  /// Who wrote the arrivals that ranks keep, by place and number.
  std::map<std::pair<size_t, unsigned>, uint32_t> kept;
  const SumContract contract;
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
      numContributors(collective.numChunks()),
      states(size_t(collective.numRanks()) * collective.numChunks()),
      contract(contractFor(options)),
      orderedSums(collective, schedule, contract.order, contract.addsInputs()) {
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
      ++numContributors[chunk];
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
                     .isPartial = isPartial(payload),
                     .contributors = contributorsOf(payload),
                     .part = partOf(payload, send.src, send.chunk)};
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
  addVersion(step, send.dst, send.chunk,
             sumOf(step, send.dst, send.chunk, state.writer, landed));
}

/// The reduction of what two have written.
DraftTransfer DraftTransfers::sumOf(uint32_t step, unsigned rank,
                                    uint32_t chunk, uint32_t a,
                                    uint32_t b) const {
  uint32_t contributors = contributorsOf(a) + contributorsOf(b);
  return {.channel = rank,
          .step = step,
          .reads = {a, b},
          .reduces = true,
          .isScratch = true,
          .isPartial = contributors < numContributors[chunk],
          .contributors = contributors,
          .part = orderedSums.sumOf(chunk, partOf(a, rank, chunk),
                                    partOf(b, rank, chunk))};
}

/// Sums up what has waited at `place`, as coll-lower-schedule has it: beside
/// them the value that is there, unless it is the first or there are but two.
void DraftTransfers::sumUp(size_t place, bool isLast) {
  auto rank = unsigned(place / collective.numChunks());
  auto chunk = uint32_t(place % collective.numChunks());
  auto parts = std::move(waiting.extract(place).mapped());
  auto own = uint32_t(parts.size());
  uint32_t step = transfers[parts.back()].step;
  parts.push_back(states[place].writer);
  std::vector<SumChain> chains =
      orderedSums.chainsOf(chunk, partsOf(parts, rank, chunk));
  for (const SumChain &chain : chains) {
    std::vector<uint32_t> terms = chain.terms;
    auto at = std::ranges::find(terms, own);
    if (at != terms.end() && terms.size() == 2)
      std::iter_swap(at, terms.begin());
    else if (at != terms.end() && at != terms.begin())
      parts[own] = add({.channel = rank,
                        .step = step,
                        .reads = {parts[own]},
                        .isScratch = true,
                        .isPartial = isPartial(parts[own]),
                        .contributors = contributorsOf(parts[own]),
                        .part = partOf(parts[own], rank, chunk)});
    uint32_t sum = parts[terms.front()];
    for (uint32_t term : llvm::ArrayRef(terms).drop_front()) {
      DraftTransfer next = sumOf(step, rank, chunk, sum, parts[term]);
      bool isResult =
          isLast && &chain == &chains.back() && term == terms.back();
      sum = isResult ? addVersion(step, rank, chunk, next) : add(next);
    }
    parts.push_back(sum);
  }
  states[place].writer = parts.back();
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
  std::vector<uint32_t> parts;
  if (send.payload == SendPayload::Input)
    parts.push_back(none);
  send.forEachKept([&](unsigned number) {
    parts.push_back(kept.at({place, number}));
  });
  for (const SumChain &chain : orderedSums.chainsOfKept(
           send.chunk, partsOf(parts, send.src, send.chunk))) {
    uint32_t total = parts[chain.terms.front()];
    for (uint32_t term : llvm::ArrayRef(chain.terms).drop_front())
      total = add(sumOf(step - 1, send.src, send.chunk, total, parts[term]));
    parts.push_back(total);
  }
  return sum->second = parts.back();
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
      return contract.isUnweighted()
                 ? 0
                 : averageExponent(contributorsOf(reduction.reads[1]));
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
  if (!contract.isOneByOne())
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
