//===- SatEncoding.cpp - Schedules as a CNF -------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arrivals are unique and relays pass on what they get. Any schedule can be
// cleaned to obey both, so these two restrictions lose no answer.
//
//===----------------------------------------------------------------------===//

#include "SatEncoding.h"

#include "Solver/Pruning.h"

#include <algorithm>
#include <map>

using namespace sccl;

void SatEncoding::encode(const std::function<bool()> &stop) {
  cnf.stopWhen(stop);
  if (!windows.reachable()) {
    cnf.never();
    return;
  }
  loads.assign(instance.steps, std::vector<Literals>(topology.links().size()));
  for (unsigned chunk = 0; chunk < instance.collective.numChunks(); ++chunk) {
    if (stop())
      return;
    if (quotient.isRepresentativeChunk(chunk))
      if (const ChunkClass *kind = windows.classOf(chunk))
        encodeChunk(chunk, *kind);
  }
  if (useSlots)
    encodeSlots();
  encodeCapacities(stop);
}

//===----------------------------------------------------------------------===//
// One chunk
//===----------------------------------------------------------------------===//

void SatEncoding::encodeChunk(unsigned chunk, const ChunkClass &kind) {
  addPlaces(kind);
  for (Place &place : places)
    addTravels(chunk, place);
  for (const Place &place : places)
    constrainPlace(place, kind.numDestinations == 1);
}

void SatEncoding::addPlaces(const ChunkClass &kind) {
  std::fill(placeAt.begin(), placeAt.end(), isUseless);
  for (unsigned source : kind.sources)
    placeAt[source] = isSource;
  places.clear();
  for (const Window &window : kind.windows) {
    placeAt[window.rank] = static_cast<int>(places.size());
    Place &place = places.emplace_back(Place{window, {}, {}, {}});
    for (unsigned step = window.first; step <= window.last; ++step)
      place.arrived.push_back(cnf.newVariable());
    place.incoming.resize(place.arrived.size());
  }
}

void SatEncoding::addTravels(unsigned chunk, Place &place) {
  for (unsigned link : topology.inLinks(place.window.rank)) {
    int index = placeAt[topology.links()[link].src];
    if (index == isUseless)
      continue;
    Place *from = index == isSource ? nullptr : &places[index];
    // Not before place.window.first: a link spans at most one hop.
    unsigned first = from ? from->window.first + 1 : 1;
    for (unsigned step = first; step <= place.window.last; ++step)
      addTravel(chunk, link, step, place, from);
  }
}

/// `from` is null for a source, which always holds the chunk.
void SatEncoding::addTravel(unsigned chunk, unsigned link, unsigned step,
                            Place &place, Place *from) {
  int travel = cnf.newVariable();
  unsigned offset = step - place.window.first;
  if (from) {
    unsigned known = std::min(step - 1, from->window.last);
    cnf.clause({-travel, from->arrived[known - from->window.first]});
    from->outgoing.push_back(travel);
  }
  cnf.clause({-travel, place.arrived[offset]});
  if (offset > 0)
    cnf.clause({-travel, -place.arrived[offset - 1]});
  place.incoming[offset].push_back(travel);
  loads[step - 1][link].push_back(travel);
  travels.push_back({chunk, link, step, travel});
}

void SatEncoding::constrainPlace(const Place &place, bool unicast) {
  for (size_t i = 0; i < place.arrived.size(); ++i) {
    Literals causes = place.incoming[i];
    if (i > 0) {
      cnf.clause({-place.arrived[i - 1], place.arrived[i]});
      causes.push_back(place.arrived[i - 1]);
    }
    causes.push_back(-place.arrived[i]);
    cnf.clause(causes);
    cnf.atMost(place.incoming[i], 1);
  }
  if (place.window.wanted) {
    cnf.clause({place.arrived.back()});
    return;
  }
  // What the windows cannot say: nobody fetches a chunk for nothing.
  Literals uses = place.outgoing;
  uses.push_back(-place.arrived.back());
  cnf.clause(uses);
  if (unicast)
    cnf.atMost(place.outgoing, 1);
}

//===----------------------------------------------------------------------===//
// Order of departure
//===----------------------------------------------------------------------===//

bool SatEncoding::hasSlots(const Instance &instance,
                           const WindowPlan &windows) {
  const ChunkClass *only = nullptr;
  for (unsigned chunk = 0; chunk < instance.collective.numChunks(); ++chunk) {
    const ChunkClass *kind = windows.classOf(chunk);
    if (kind && only && kind != only)
      return false;
    only = kind ? kind : only;
  }
  return only && only->sources.size() == 1;
}

/// The sends for which the links out of `source` have room in `step`.
void SatEncoding::addSlotsOfStep(
    unsigned source, unsigned step,
    const std::vector<std::vector<unsigned>> &limitsOf,
    std::vector<Slot> &slots) const {
  uint64_t rounds = fixedRounds.empty() ? 1 : fixedRounds[step - 1];
  std::vector<uint64_t> room;
  for (const BandwidthLimit &limit : topology.limits())
    room.push_back(limit.bandwidth * rounds);
  for (unsigned link : topology.outLinks(source)) {
    uint64_t free = instance.collective.numChunks();
    for (unsigned limit : limitsOf[link])
      free = std::min(free, room[limit]);
    for (unsigned limit : limitsOf[link])
      room[limit] -= free;
    // No slot where the windows leave no variable, as on the way to a rank from
    // which there is no way on.
    if (!loads[step - 1][link].empty())
      slots.insert(slots.end(), free, {link, step});
  }
}

std::vector<SatEncoding::Slot> SatEncoding::listSlots(unsigned source,
                                                      size_t count) const {
  std::vector<std::vector<unsigned>> limitsOf(topology.links().size());
  for (unsigned limit = 0; limit < topology.limits().size(); ++limit)
    for (unsigned link : topology.limits()[limit].links)
      limitsOf[link].push_back(limit);
  std::vector<Slot> slots;
  for (unsigned step = 1; step <= instance.steps && slots.size() < count;
       ++step)
    addSlotsOfStep(source, step, limitsOf, slots);
  if (slots.size() > count)
    slots.resize(count);
  return slots;
}

/// Chunk number i leaves in slot i and not before. Later departures are free.
void SatEncoding::encodeSlots() {
  std::vector<unsigned> chunks; // ascending, as `travels` is by chunk
  for (const Travel &travel : travels)
    if (chunks.empty() || chunks.back() != travel.chunk)
      chunks.push_back(travel.chunk);
  if (chunks.empty())
    return;
  unsigned source = windows.classOf(chunks.front())->sources.front();
  std::vector<Slot> slots = listSlots(source, chunks.size());
  size_t position = 0;
  for (const Travel &travel : travels) {
    while (chunks[position] != travel.chunk)
      ++position;
    if (position >= slots.size())
      return; // the rest may leave as they like
    const Slot &slot = slots[position];
    if (topology.links()[travel.link].src != source)
      continue;
    if (travel.step < slot.step)
      cnf.clause({-travel.variable});
    else if (travel.step == slot.step && travel.link == slot.link)
      cnf.clause({travel.variable});
  }
}

//===----------------------------------------------------------------------===//
// Rounds and bandwidth
//===----------------------------------------------------------------------===//

/// The most rounds beyond the first that any step could use. More are no help,
/// and must not cost variables.
unsigned SatEncoding::usefulSpareRounds() const {
  uint64_t most = 0;
  for (const BandwidthLimit &limit : topology.limits())
    for (const std::vector<Literals> &load : loads) {
      uint64_t sends = 0;
      for (unsigned link : limit.links)
        for (unsigned element = 0; element < quotient.order(); ++element)
          sends += load[quotient.linkImage(element, link)].size();
      most = std::max(most, sends / limit.bandwidth);
    }
  return static_cast<unsigned>(std::min<uint64_t>(most, spareRounds()));
}

void SatEncoding::addRoundVariables() {
  unsigned useful = usefulSpareRounds();
  Literals sum;
  for (unsigned step = 0; step < instance.steps; ++step) {
    Literals &bits = moreRounds.emplace_back();
    for (unsigned i = 0; i < useful; ++i) {
      bits.push_back(cnf.newVariable());
      if (i > 0)
        cnf.clause({-bits[i], bits[i - 1]});
    }
    sum = step == 0 ? bits : cnf.addCounts(sum, bits, spareRounds() + 1);
  }
  if (sum.size() > spareRounds())
    cnf.clause({-sum[spareRounds()]});
}

/// The variables of all sends of all chunks over the links of `limit`: a send
/// of an image over a link is the send of its representative over a link that
/// the group maps there.
Literals SatEncoding::loadOf(const BandwidthLimit &limit, unsigned step) const {
  Literals load;
  for (unsigned link : limit.links)
    for (unsigned element = 0; element < quotient.order(); ++element) {
      // All elements, so it is no matter which of them is the inverse.
      const Literals &part = loads[step - 1][quotient.linkImage(element, link)];
      load.insert(load.end(), part.begin(), part.end());
    }
  return load;
}

/// The same where switches copy, which no group does: a variable for all sends
/// of a chunk that are one in the limit.
Literals SatEncoding::loadWithSwitches(unsigned limit, unsigned step) {
  std::map<unsigned, size_t> setOf; // by link
  std::vector<std::vector<unsigned>> sets = switches.countedOnce(limit);
  for (size_t number = 0; number < sets.size(); ++number)
    for (unsigned link : sets[number])
      setOf[link] = number;
  std::map<std::pair<unsigned, size_t>, Literals> parts; // by chunk and set
  for (const Travel &travel : travels)
    if (auto set = setOf.find(travel.link);
        travel.step == step && set != setOf.end())
      parts[{travel.chunk, set->second}].push_back(travel.variable);
  Literals load;
  for (const auto &[key, sends] : parts) {
    load.push_back(sends.size() == 1 ? sends.front() : cnf.newVariable());
    for (int send : sends)
      if (send != load.back())
        cnf.clause({-send, load.back()});
  }
  return load;
}

void SatEncoding::limitLoad(const Literals &load, unsigned bandwidth,
                            unsigned step) {
  if (!fixedRounds.empty()) {
    uint64_t bound = uint64_t(bandwidth) * fixedRounds[step - 1];
    if (bound < load.size())
      cnf.atMost(load, static_cast<unsigned>(bound));
    return;
  }
  const Literals &bits = moreRounds[step - 1];
  uint64_t most = uint64_t(bandwidth) * (bits.size() + 1);
  Literals sum = cnf.count(
      load, static_cast<unsigned>(std::min<uint64_t>(most + 1, load.size())));
  for (uint64_t m = 0; uint64_t(bandwidth) * (m + 1) < sum.size(); ++m) {
    int overload = sum[uint64_t(bandwidth) * (m + 1)];
    if (m < bits.size())
      cnf.clause({-overload, bits[m]});
    else
      cnf.clause({-overload});
  }
}

void SatEncoding::encodeCapacities(const std::function<bool()> &stop) {
  if (fixedRounds.empty())
    addRoundVariables();
  for (unsigned index : quotient.representativeLimits())
    for (unsigned step = 1; step <= instance.steps; ++step) {
      if (stop())
        return;
      const BandwidthLimit &limit = topology.limits()[index];
      limitLoad(topology.switches().empty() ? loadOf(limit, step)
                                            : loadWithSwitches(index, step),
                limit.bandwidth, step);
    }
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

Schedule SatEncoding::decode() const {
  Schedule schedule;
  schedule.steps.resize(instance.steps);
  for (const Travel &travel : travels) {
    if (!solver.isTrue(travel.variable))
      continue;
    for (unsigned element = 0; element < quotient.order(); ++element) {
      const Link &link =
          topology.links()[quotient.linkImage(element, travel.link)];
      schedule.steps[travel.step - 1].sends.push_back(
          {quotient.chunkImage(element, travel.chunk), link.src, link.dst});
    }
  }
  unsigned spare = instance.rounds;
  for (unsigned step = 0; step < instance.steps; ++step) {
    unsigned &rounds = schedule.steps[step].rounds;
    rounds = fixedRounds.empty() ? 1 : fixedRounds[step];
    if (fixedRounds.empty())
      for (int bit : moreRounds[step])
        rounds += solver.isTrue(bit);
    spare -= rounds;
  }
  schedule.steps.back().rounds += spare;
  dropUselessSends(instance.collective, schedule);
  multicast(schedule, topology);
  schedule.normalize();
  return schedule;
}
