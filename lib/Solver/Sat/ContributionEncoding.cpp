//===- ContributionEncoding.cpp - Reductions as a CNF ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContributionEncoding.h"

#include "Solver/Constants.h"
#include "Solver/Pruning.h"

#include <algorithm>
#include <cassert>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Chunks and their images
//===----------------------------------------------------------------------===//

ContributionEncoding::ContributionEncoding(const Instance &instance,
                                           std::vector<Permutation> theGroup,
                                           ClauseSolver &solver)
    : instance(instance), topology(instance.topology), solver(solver),
      cnf(solver), group(std::move(theGroup)) {
  assert(group.size() == 1 || actsOn(instance.collective));
  for (const Permutation &element : group) {
    std::vector<unsigned> &images = linkImages.emplace_back();
    for (const Link &link : topology.links())
      images.push_back(
          *topology.findLink(element[link.src], element[link.dst]));
  }
  unsigned order = static_cast<unsigned>(group.size());
  unsigned numChunks = instance.collective.numChunks();
  unsigned numMoved = numChunks / order * order;
  for (unsigned chunk = 0; chunk < numChunks;) {
    unsigned size = chunk < numMoved ? order : 1;
    orbits.push_back({chunk, size, {}});
    chunk += size;
  }
}

bool ContributionEncoding::actsOn(const Collective &collective) {
  unsigned numChunks = collective.numChunks();
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
    if (collective.pre().count(rank) != numChunks ||
        collective.post().count(rank) != numChunks)
      return false;
  return collective.combining();
}

uint64_t ContributionEncoding::numVariables(const Instance &instance,
                                            size_t groupOrder) {
  uint64_t ranks = instance.topology.numRanks();
  uint64_t links = instance.topology.links().size();
  uint64_t chunks = instance.collective.numChunks();
  uint64_t searched = chunks / groupOrder + chunks % groupOrder;
  return searched * instance.steps * (links * (ranks + 2) + ranks * 2 * ranks);
}

//===----------------------------------------------------------------------===//
// Values and transfers
//===----------------------------------------------------------------------===//

void ContributionEncoding::encode(const std::function<bool()> &stop) {
  cnf.stopWhen(stop);
  for (Orbit &orbit : orbits) {
    if (stop())
      return;
    encodeOrbit(orbit);
  }
  encodeOrder();
  encodeCapacities(stop);
}

void ContributionEncoding::encodeOrbit(Orbit &orbit) {
  const Collective &collective = instance.collective;
  unsigned numRanks = topology.numRanks();
  std::vector<Value> values(numRanks, Value(numRanks, never));
  for (unsigned rank = 0; rank < numRanks; ++rank)
    if (collective.pre().contains(rank, orbit.chunk)) {
      values[rank][rank] = cnf.newVariable();
      cnf.clause({values[rank][rank]});
    }
  for (unsigned step = 1; step <= instance.steps; ++step) {
    Phase &phase = orbit.phases.emplace_back();
    for (const Link &link : topology.links())
      phase.transfers.push_back(
          encodeTransfer(orbit.chunk, link.src, values[link.src], step == 1));
    values = encodeArrivals(phase, values);
  }
  for (unsigned rank = 0; rank < numRanks; ++rank)
    for (unsigned other = 0; other < numRanks; ++other)
      if (collective.post().contains(rank, orbit.chunk) &&
          collective.pre().contains(other, orbit.chunk)) {
        if (values[rank][other] == never)
          cnf.never();
        else
          cnf.clause({values[rank][other]});
      }
}

/// What `source` may send of `chunk` when it has `value`.
ContributionEncoding::Transfer
ContributionEncoding::encodeTransfer(unsigned chunk, unsigned source,
                                     const Value &value, bool isFirstStep) {
  Transfer transfer;
  transfer.carried.assign(value.size(), never);
  Literals present;
  for (int literal : value)
    if (literal != never)
      present.push_back(literal);
  if (!present.empty()) {
    // Only a rank that has something can send it.
    transfer.current = cnf.newVariable();
    present.push_back(-transfer.current);
    cnf.clause(present);
  }
  // Before the first step, the value is the input.
  if (!isFirstStep && instance.collective.pre().contains(source, chunk)) {
    transfer.input = cnf.newVariable();
    if (transfer.current != never)
      cnf.clause({-transfer.input, -transfer.current});
  }
  for (unsigned rank = 0; rank < value.size(); ++rank)
    transfer.carried[rank] =
        encodeCarried(transfer, value[rank], /*isOwn=*/rank == source);
  return transfer;
}

/// A literal that is true if `transfer` carries the contribution of a rank,
/// given whether it is in the sender's value and whether it is the sender's
/// own.
int ContributionEncoding::encodeCarried(const Transfer &transfer, int isInValue,
                                        bool isOwn) {
  int input = isOwn ? transfer.input : never;
  if (isInValue == never)
    return input;
  int carried = cnf.newVariable();
  cnf.clause({carried, -transfer.current, -isInValue});
  if (input == never) {
    cnf.clause({-carried, transfer.current});
    cnf.clause({-carried, isInValue});
  } else {
    cnf.clause({carried, -input});
    cnf.clause({-carried, input, transfer.current});
    cnf.clause({-carried, input, isInValue});
  }
  return carried;
}

/// The values after the transfers of `phase`, and which of them are copies.
std::vector<ContributionEncoding::Value>
ContributionEncoding::encodeArrivals(Phase &phase,
                                     const std::vector<Value> &before) {
  std::vector<Value> after;
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
    Literals arriving;
    std::vector<const Value *> carried;
    for (unsigned link : topology.inLinks(rank)) {
      const Transfer &transfer = phase.transfers[link];
      carried.push_back(&transfer.carried);
      for (int send : {transfer.current, transfer.input})
        if (send != never)
          arriving.push_back(send);
    }
    phase.replaced.push_back(encodeReplacement(arriving));
    after.push_back(encodeSum(before[rank], phase.replaced.back(), carried));
  }
  return after;
}

/// A literal that says that what arrives replaces the value. Then exactly one
/// thing must arrive.
int ContributionEncoding::encodeReplacement(const Literals &arriving) {
  if (arriving.empty())
    return never;
  int replaced = cnf.newVariable();
  Literals some = arriving;
  some.push_back(-replaced);
  cnf.clause(some);
  for (size_t i = 0; i < arriving.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      cnf.clause({-replaced, -arriving[i], -arriving[j]});
  return replaced;
}

/// The disjoint union of what arrives and of `before`, unless it is replaced.
ContributionEncoding::Value
ContributionEncoding::encodeSum(const Value &before, int replaced,
                                const std::vector<const Value *> &carried) {
  Value sum(before.size(), never);
  for (size_t rank = 0; rank < before.size(); ++rank) {
    Literals parts;
    if (before[rank] != never && replaced == never)
      parts.push_back(before[rank]);
    if (before[rank] != never && replaced != never) {
      int kept = cnf.newVariable();
      cnf.clause({-kept, before[rank]});
      cnf.clause({-kept, -replaced});
      cnf.clause({kept, -before[rank], replaced});
      parts.push_back(kept);
    }
    for (const Value *value : carried)
      if ((*value)[rank] != never)
        parts.push_back((*value)[rank]);
    if (parts.empty())
      continue;
    cnf.atMost(parts, 1);
    sum[rank] = cnf.newVariable();
    for (int part : parts)
      cnf.clause({-part, sum[rank]});
    parts.push_back(-sum[rank]);
    cnf.clause(parts);
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Order of the chunks
//===----------------------------------------------------------------------===//

/// Chunks with the same pre- and postcondition can change places.
bool ContributionEncoding::areAlike(const Orbit &left,
                                    const Orbit &right) const {
  const Collective &collective = instance.collective;
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
    for (const RankChunkSet *set : {&collective.pre(), &collective.post()})
      if (set->contains(rank, left.chunk) != set->contains(rank, right.chunk))
        return false;
  return left.size == right.size;
}

/// The sends that tell alike chunks apart: a few are enough to break most ties.
Literals ContributionEncoding::sendsOf(const Orbit &orbit) const {
  Literals sends;
  for (const Phase &phase : orbit.phases)
    for (const Transfer &transfer : phase.transfers)
      if (transfer.current != never && sends.size() < tuned::mostCompared())
        sends.push_back(transfer.current);
  return sends;
}

void ContributionEncoding::encodeOrder() {
  for (size_t i = 1; i < orbits.size(); ++i)
    if (areAlike(orbits[i - 1], orbits[i]))
      encodeOrder(sendsOf(orbits[i - 1]), sendsOf(orbits[i]));
}

/// `left` is lexicographically not before `right`, with true before false.
void ContributionEncoding::encodeOrder(const Literals &left,
                                       const Literals &right) {
  int equalSoFar = never; // no literal: always true
  for (size_t i = 0; i < left.size(); ++i) {
    Literals guard;
    if (equalSoFar != never)
      guard.push_back(-equalSoFar);
    auto guarded = [&](std::initializer_list<int> literals) {
      Literals clause = guard;
      clause.insert(clause.end(), literals);
      cnf.clause(clause);
    };
    guarded({left[i], -right[i]});
    if (i + 1 == left.size())
      return;
    int next = cnf.newVariable();
    guarded({-left[i], -right[i], next});
    guarded({left[i], right[i], next});
    equalSoFar = next;
  }
}

//===----------------------------------------------------------------------===//
// Bandwidth
//===----------------------------------------------------------------------===//

void ContributionEncoding::addRoundVariables() {
  unsigned spare = instance.rounds - instance.steps;
  // More than all chunks over all links of a limit need are no help.
  uint64_t useful = 0;
  for (const BandwidthLimit &limit : topology.limits())
    useful = std::max(useful, uint64_t(instance.collective.numChunks()) *
                                  limit.links.size() / limit.bandwidth);
  useful = std::min<uint64_t>(useful, spare);
  Literals sum;
  for (unsigned step = 0; step < instance.steps; ++step) {
    Literals &bits = moreRounds.emplace_back();
    for (uint64_t i = 0; i < useful; ++i) {
      bits.push_back(cnf.newVariable());
      if (i > 0)
        cnf.clause({-bits[i], bits[i - 1]});
    }
    sum = step == 0 ? bits : cnf.addCounts(sum, bits, spare + 1);
  }
  if (sum.size() > spare)
    cnf.clause({-sum[spare]});
}

void ContributionEncoding::encodeCapacities(const std::function<bool()> &stop) {
  addRoundVariables();
  for (const BandwidthLimit &limit : topology.limits()) {
    if (!isRepresentative(limit))
      continue;
    for (unsigned step = 1; step <= instance.steps; ++step) {
      if (stop())
        return;
      limitLoad(loadOf(limit, step), limit.bandwidth, step);
    }
  }
}

/// True unless the limit of smaller links that the group maps to this one has
/// the same load.
bool ContributionEncoding::isRepresentative(const BandwidthLimit &limit) const {
  if (orbits.back().size != group.size())
    return true;
  for (const std::vector<unsigned> &images : linkImages) {
    std::vector<unsigned> image;
    for (unsigned link : limit.links)
      image.push_back(images[link]);
    std::sort(image.begin(), image.end());
    if (image < limit.links)
      return false;
  }
  return true;
}

/// The literals of all sends over the links of `limit`. An image of a chunk
/// goes over a link if the chunk goes over the link that is mapped to it.
Literals ContributionEncoding::loadOf(const BandwidthLimit &limit,
                                      unsigned step) const {
  Literals load;
  auto add = [&](const Transfer &transfer) {
    for (int send : {transfer.current, transfer.input})
      if (send != never)
        load.push_back(send);
  };
  for (const Orbit &orbit : orbits)
    for (unsigned link : limit.links)
      // All elements or the identity, so it is no matter which is the inverse.
      for (unsigned element = 0; element < orbit.size; ++element) {
        const std::vector<Transfer> &all = orbit.phases[step - 1].transfers;
        for (size_t i = linkImages[element][link]; i < all.size();
             i += topology.links().size())
          add(all[i]);
      }
  return load;
}

void ContributionEncoding::limitLoad(const Literals &load, unsigned bandwidth,
                                     unsigned step) {
  const Literals &bits = moreRounds[step - 1];
  if (bits.empty()) {
    cnf.atMost(load, bandwidth);
    return;
  }
  uint64_t most = uint64_t(bandwidth) * (bits.size() + 1);
  Literals sum = cnf.count(
      load, static_cast<unsigned>(std::min<uint64_t>(most + 1, load.size())));
  for (uint64_t m = 0; bandwidth * (m + 1) < sum.size(); ++m) {
    int overload = sum[bandwidth * (m + 1)];
    if (m < bits.size())
      cnf.clause({-overload, bits[m]});
    else
      cnf.clause({-overload});
  }
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

void ContributionEncoding::addImages(const Orbit &orbit, unsigned link,
                                     Send send, Step &step) const {
  for (unsigned element = 0; element < orbit.size; ++element) {
    const Link &image = topology.links()[linkImages[element][link]];
    send.chunk = orbit.chunk + element;
    send.src = image.src;
    send.dst = image.dst;
    step.sends.push_back(send);
  }
}

void ContributionEncoding::decodeOrbit(const Orbit &orbit,
                                       std::vector<Step> &steps) const {
  for (unsigned step = 0; step < instance.steps; ++step) {
    const Phase &phase = orbit.phases[step];
    for (unsigned link = 0; link < phase.transfers.size(); ++link) {
      const Transfer &transfer = phase.transfers[link];
      if (!isTrue(transfer.current) && !isTrue(transfer.input))
        continue;
      bool isCopy = isTrue(phase.replaced[topology.links()[link].dst]);
      bool isInput = isTrue(transfer.input);
      addImages(orbit, link,
                {0, 0, 0, isCopy ? SendAction::Copy : SendAction::Reduce,
                 isInput ? SendPayload::Input : SendPayload::Current},
                steps[step]);
    }
  }
}

Schedule ContributionEncoding::decode() const {
  Schedule schedule;
  schedule.steps.resize(instance.steps);
  unsigned spare = instance.rounds;
  for (const Orbit &orbit : orbits)
    decodeOrbit(orbit, schedule.steps);
  for (unsigned step = 0; step < instance.steps; ++step) {
    for (int bit : moreRounds[step])
      schedule.steps[step].rounds += solver.isTrue(bit);
    spare -= schedule.steps[step].rounds;
  }
  schedule.steps.back().rounds += spare;
  if (!schedule.keepsArrivals())
    dropUselessReductions(instance.collective, schedule);
  schedule.normalize();
  return schedule;
}
