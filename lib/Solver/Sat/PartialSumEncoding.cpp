//===- PartialSumEncoding.cpp - Several partial sums on a rank ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartialSumEncoding.h"

#include <algorithm>
#include <cassert>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Instances
//===----------------------------------------------------------------------===//

bool PartialSumEncoding::mayMatter(const Instance &instance) {
  const Collective &collective = instance.collective;
  if (!collective.combining() || instance.steps < 2 ||
      collective.numRanks() <= 2)
    return false;
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk)
    if (collective.pre().ranksOf(chunk).size() > 1 &&
        collective.post().ranksOf(chunk).size() > 1)
      return true;
  return false;
}

PartialSumEncoding::Form
PartialSumEncoding::completeForm(const Instance &instance) {
  uint64_t rounds = instance.rounds - instance.steps + 1, lanes = 1;
  // What no limit holds may carry as many as there are sums to tell apart.
  constexpr uint64_t most = 1 << 16;
  for (unsigned link = 0; link < instance.topology.links().size(); ++link)
    lanes = std::max(lanes,
                     std::min(most, instance.topology.capacity(link) * rounds));
  return {unsigned(std::min(lanes, most)), /*isWritable=*/false};
}

uint64_t PartialSumEncoding::numVariables(const Instance &instance,
                                          size_t groupOrder, Form form) {
  const Topology &topology = instance.topology;
  uint64_t ranks = topology.numRanks(), steps = instance.steps;
  uint64_t links = topology.links().size(), lanes = form.lanes;
  uint64_t hops = 0; // pairs of links that follow each other
  for (const Link &link : topology.links())
    hops += topology.inLinks(link.src).size();
  uint64_t chunks = instance.collective.numChunks();
  uint64_t searched = chunks / groupOrder + chunks % groupOrder;
  uint64_t uses =
      lanes * lanes * hops * steps * (steps - 1) / 2 + lanes * links * steps;
  return searched * (uses * (ranks + 1) + lanes * links * steps * (ranks + 2));
}

//===----------------------------------------------------------------------===//
// The formula
//===----------------------------------------------------------------------===//

void PartialSumEncoding::encodeOrbit(Orbit &orbit) {
  Chunk chunk;
  chunk.into.resize(topology.numRanks());
  for (unsigned step = 0; step < instance.steps; ++step) {
    Phase &phase = orbit.phases.emplace_back();
    phase.transfers.resize(form.lanes * topology.links().size());
    size_t first = chunk.messages.size();
    for (unsigned link = 0; link < topology.links().size(); ++link)
      encodeMessage(orbit, step, link, chunk, phase);
    for (size_t i = first; i < chunk.messages.size(); ++i)
      chunk.into[topology.links()[chunk.messages[i].link].dst].push_back(i);
  }
  chunk.results.resize(topology.numRanks());
  for (unsigned rank : instance.collective.post().ranksOf(orbit.chunk))
    encodeResult(orbit, rank, chunk);
  chunks.push_back(std::move(chunk));
}

/// What `rank` may add up of its input and the messages in `chunk`.
PartialSumEncoding::Sum PartialSumEncoding::chooseParts(const Orbit &orbit,
                                                        unsigned rank,
                                                        size_t numMessages,
                                                        const Chunk &chunk) {
  Sum sum;
  if (instance.collective.pre().contains(rank, orbit.chunk))
    sum.own = cnf.newVariable();
  for (size_t message : chunk.into[rank]) {
    if (message >= numMessages)
      break;
    sum.uses.push_back({message, cnf.newVariable()});
    cnf.clause({-sum.uses.back().literal, chunk.messages[message].sent});
  }
  return sum;
}

void PartialSumEncoding::encodeMessage(const Orbit &orbit, unsigned step,
                                       unsigned link, Chunk &chunk,
                                       Phase &phase) {
  unsigned source = topology.links()[link].src;
  if (chunk.into[source].empty() &&
      !instance.collective.pre().contains(source, orbit.chunk))
    return;
  int before = never; // the lane before
  for (unsigned lane = 0; lane < form.lanes; ++lane) {
    Message message{step, link, cnf.newVariable(),
                    chooseParts(orbit, source, chunk.messages.size(), chunk)};
    Literals some = {-message.sent};
    if (message.sum.own != never) {
      some.push_back(message.sum.own);
      cnf.clause({-message.sum.own, message.sent});
    }
    for (const Use &use : message.sum.uses) {
      some.push_back(use.literal);
      cnf.clause({-use.literal, message.sent});
    }
    cnf.clause(some);
    if (before != never)
      cnf.clause({-message.sent, before});
    before = message.sent;
    message.carried = unite(source, message.sum, chunk);
    phase.transfers[lane * topology.links().size() + link].current =
        message.sent;
    chunk.messages.push_back(std::move(message));
  }
}

void PartialSumEncoding::encodeResult(const Orbit &orbit, unsigned rank,
                                      Chunk &chunk) {
  Sum &sum = chunk.results[rank];
  sum = chooseParts(orbit, rank, chunk.messages.size(), chunk);
  Value value = unite(rank, sum, chunk);
  for (unsigned other : instance.collective.pre().ranksOf(orbit.chunk)) {
    if (value[other] == never)
      return cnf.never();
    cnf.clause({value[other]});
  }
  if (!form.isWritable || sum.own == never)
    return;
  auto stepOf = [&](const Use &use) {
    return chunk.messages[use.message].step;
  };
  for (size_t i = 0; i < sum.uses.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      if (stepOf(sum.uses[i]) != stepOf(sum.uses[j]))
        continue;
      Literals clause = {sum.own, -sum.uses[i].literal, -sum.uses[j].literal};
      for (const Use &use : sum.uses)
        if (stepOf(use) < stepOf(sum.uses[i]))
          clause.push_back(use.literal);
      cnf.clause(clause);
    }
}

/// The contributions in `sum`, which are disjoint.
PartialSumEncoding::Value
PartialSumEncoding::unite(unsigned rank, const Sum &sum, const Chunk &chunk) {
  Value value(topology.numRanks(), never);
  for (unsigned other = 0; other < value.size(); ++other) {
    Literals parts;
    if (other == rank && sum.own != never)
      parts.push_back(sum.own);
    for (const Use &use : sum.uses) {
      int carried = chunk.messages[use.message].carried[other];
      if (carried == never)
        continue;
      int part = cnf.newVariable();
      cnf.clause({-part, use.literal});
      cnf.clause({-part, carried});
      cnf.clause({part, -use.literal, -carried});
      parts.push_back(part);
    }
    if (parts.empty())
      continue;
    value[other] = parts.front();
    if (parts.size() == 1)
      continue;
    cnf.atMost(parts, 1);
    value[other] = cnf.newVariable();
    for (int part : parts)
      cnf.clause({-part, value[other]});
    parts.push_back(-value[other]);
    cnf.clause(parts);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

PartialSum PartialSumEncoding::chosen(const Sum &sum) const {
  PartialSum result{isTrue(sum.own), {}};
  for (const Use &use : sum.uses)
    if (isTrue(use.literal))
      result.parts.push_back(use.message);
  return result;
}

/// By message of `orbit` the send that it becomes, if a schedule can say it.
std::optional<std::vector<std::optional<Send>>>
PartialSumEncoding::write(const Orbit &orbit) const {
  const Chunk &chunk = chunks[size_t(&orbit - orbits.data())];
  std::vector<SumMessage> messages;
  for (const Message &message : chunk.messages) {
    const Link &link = topology.links()[message.link];
    messages.push_back(
        {message.step, orbit.chunk, link.src, link.dst, chosen(message.sum)});
  }
  std::vector<SumResult> results;
  for (unsigned rank : instance.collective.post().ranksOf(orbit.chunk))
    results.push_back({rank, orbit.chunk, chosen(chunk.results[rank])});
  return writePartialSums(instance.collective, messages, results);
}

bool PartialSumEncoding::isDecodable() const {
  return std::ranges::all_of(
      orbits, [&](const Orbit &orbit) { return write(orbit).has_value(); });
}

void PartialSumEncoding::decodeOrbit(const Orbit &orbit,
                                     std::vector<Step> &steps) const {
  const Chunk &chunk = chunks[size_t(&orbit - orbits.data())];
  std::optional<std::vector<std::optional<Send>>> sends = write(orbit);
  assert(sends && "asked for a schedule that cannot be written");
  for (size_t i = 0; i < chunk.messages.size(); ++i)
    if ((*sends)[i])
      addImages(orbit, chunk.messages[i].link, *(*sends)[i],
                steps[chunk.messages[i].step]);
}
