//===- Subject.cpp - What a report is about -------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Report/Subject.h"

#include "sccl/Model/SwitchLoads.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::report;

std::string report::describe(const Collective &collective) {
  std::string text = collective.name();
  if (isRooted(collective.kind()))
    text += " root " + std::to_string(collective.root());
  return text;
}

std::string report::describeSize(const Subject &subject) {
  const Schedule &schedule = subject.schedule;
  std::string text = "C = " + std::to_string(subject.collective.chunks()) +
                     ", S = " + std::to_string(schedule.steps.size()) +
                     ", R = " + std::to_string(schedule.rounds());
  if (schedule.isPipelined())
    text += ", P = " + std::to_string(schedule.period);
  return text;
}

std::vector<uint64_t> report::chunksOfLinks(const Topology &topology,
                                            const Schedule &schedule) {
  std::vector<uint64_t> chunks(topology.links().size());
  for (const Step &step : schedule.steps)
    for (const Send &send : step.sends)
      if (std::optional<unsigned> link = topology.findLink(send.src, send.dst))
        ++chunks[*link];
  return chunks;
}

std::vector<LimitLoad> report::loadsOf(const Subject &subject) {
  std::vector<uint64_t> chunks = limitLoads(subject.schedule, subject.topology);
  std::vector<LimitLoad> loads;
  const std::vector<BandwidthLimit> &limits = subject.topology.limits();
  for (unsigned number = 0; number < limits.size(); ++number) {
    LimitLoad load{number, chunks[number], 0};
    load.rounds = Rational(int64_t(load.chunks), limits[number].bandwidth);
    loads.push_back(load);
  }
  std::ranges::stable_sort(loads, std::ranges::greater(), &LimitLoad::rounds);
  return loads;
}

std::string report::nameOf(const Topology &topology,
                           const BandwidthLimit &limit) {
  const Link &link = topology.links()[limit.links.front()];
  std::string text = linkText(link.src, link.dst);
  if (limit.links.size() > 1)
    text += " and " + std::to_string(limit.links.size() - 1) + " more";
  return text;
}
