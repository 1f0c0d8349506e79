//===- SwitchLoads.cpp - What counts once in a switch ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/SwitchLoads.h"

#include <algorithm>
#include <map>

using namespace sccl;

/// The limits that contain all of `links`, ascending.
static std::vector<unsigned>
limitsOfAll(const std::vector<std::vector<unsigned>> &limitsOf,
            const std::vector<unsigned> &links) {
  std::vector<unsigned> common = limitsOf[links.front()];
  for (unsigned link : links) {
    std::vector<unsigned> rest;
    std::ranges::set_intersection(common, limitsOf[link],
                                  std::back_inserter(rest));
    common = std::move(rest);
  }
  return common;
}

SwitchLimits::SwitchLimits(const Topology &topology) : topology(topology) {
  if (topology.switches().empty())
    return;
  std::vector<std::vector<unsigned>> limitsOf(topology.links().size());
  for (unsigned i = 0; i < topology.limits().size(); ++i)
    for (unsigned link : topology.limits()[i].links)
      limitsOf[link].push_back(i);
  switchesOf.resize(topology.numRanks());
  for (const Switch &joined : topology.switches()) {
    for (unsigned rank : joined.ranks)
      switchesOf[rank].push_back(unsigned(outOf.size()));
    auto &outs = outOf.emplace_back(topology.numRanks());
    auto &ins = into.emplace_back(topology.numRanks());
    for (unsigned rank : joined.ranks) {
      std::vector<unsigned> away, here;
      for (unsigned other : joined.ranks)
        if (other != rank) {
          away.push_back(*topology.findLink(rank, other));
          here.push_back(*topology.findLink(other, rank));
        }
      outs[rank] = limitsOfAll(limitsOf, away);
      ins[rank] = limitsOfAll(limitsOf, here);
    }
  }
}

std::optional<unsigned>
SwitchLimits::firstWith(const Link &link, bool Switch::*capability) const {
  if (switchesOf.empty())
    return std::nullopt;
  for (unsigned number : switchesOf[link.src])
    if (topology.switches()[number].*capability &&
        std::ranges::binary_search(switchesOf[link.dst], number))
      return number;
  return std::nullopt;
}

std::optional<unsigned> SwitchLimits::multicasting(const Link &link) const {
  return firstWith(link, &Switch::multicast);
}

std::optional<unsigned> SwitchLimits::reducing(const Link &link) const {
  return firstWith(link, &Switch::reduces);
}

std::vector<std::vector<unsigned>>
SwitchLimits::countedOnce(unsigned limit) const {
  std::vector<std::vector<unsigned>> sets;
  std::map<std::pair<unsigned, unsigned>, size_t> numbers; // by switch and rank
  for (unsigned index : topology.limits()[limit].links) {
    const Link &link = topology.links()[index];
    std::optional<unsigned> number = multicasting(link);
    bool isCommon =
        number && std::ranges::binary_search(before(*number, link.src), limit);
    size_t set = sets.size();
    if (isCommon)
      set = numbers.try_emplace({*number, link.src}, set).first->second;
    if (set == sets.size())
      sets.emplace_back();
    sets[set].push_back(index);
  }
  return sets;
}

void sccl::multicast(Schedule &schedule, const Topology &topology) {
  if (topology.switches().empty())
    return;
  SwitchLimits limits(topology);
  for (Step &step : schedule.steps) {
    // By switch, rank and chunk.
    std::map<std::array<unsigned, 3>, std::vector<Send *>> together;
    for (Send &send : step.sends)
      if (auto number = limits.multicasting({send.src, send.dst}))
        together[{*number, send.src, send.chunk}].push_back(&send);
    for (auto &[key, sends] : together)
      for (Send *send : sends)
        if (sends.size() > 1)
          send->transport = SendTransport::Multicast;
  }
}

std::optional<unsigned> SwitchLoads::switchOf(const Send &send,
                                              const Link &link) const {
  switch (send.transport) {
  case SendTransport::Multicast:
    return limits.multicasting(link);
  case SendTransport::LoadReduce:
    // What overwrites is no part of a sum.
    return send.action == SendAction::Copy ? std::nullopt
                                           : limits.reducing(link);
  default:
    return std::nullopt;
  }
}

bool SwitchLoads::isFirstOf(const Send &send, unsigned number) {
  bool isMulticast = send.transport == SendTransport::Multicast;
  unsigned rank = isMulticast ? send.src : send.dst;
  Key key = {isMulticast, number, rank, send.chunk, 0, 0};
  if (isMulticast) {
    key[4] = uint32_t(send.payload);
    key[5] = send.kept;
  } else {
    key[4] = uint32_t(send.action);
    key[5] = send.keep;
  }
  return seen.insert(key).second;
}
