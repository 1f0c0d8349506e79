//===- LinkGroups.cpp - Links of pairs, or of a switch --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinkGroups.h"

#include "sccl/Model/DisjointSets.h"

#include <algorithm>
#include <map>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

std::string import::nameOfGpu(const Reading &reading, unsigned gpu) {
  const DeviceReading &device = reading.gpus[gpu];
  return reading.numBoxes == 1
             ? device.name
             : device.name + " of host " + std::to_string(device.box);
}

/// The sum of the links of each GPU in `links`, whose ends `a` are GPUs; their
/// ends `b` too if `areGpus`.
static std::vector<unsigned> linksPerGpu(const Reading &reading,
                                         const std::vector<LinkReading> &links,
                                         bool areGpus) {
  std::vector<unsigned> total(reading.gpus.size());
  for (const LinkReading &link : links) {
    total[link.a] += link.links.value_or(0);
    if (areGpus)
      total[link.b] += link.links.value_or(0);
  }
  return total;
}

static void addSwitch(Reading &reading, const std::vector<LinkReading> &pairs,
                      StringRef notation) {
  auto chip = unsigned(reading.switches.size());
  reading.switches.push_back("nvswitch" + std::to_string(chip));
  // A GPU whose numbers are smaller has lost links.
  std::map<unsigned, unsigned> linksOf;
  unsigned most = 0;
  for (const LinkReading &pair : pairs) {
    for (unsigned gpu : {pair.a, pair.b})
      linksOf[gpu] = std::max(linksOf[gpu], *pair.links);
    most = std::max(most, *pair.links);
  }
  for (auto [gpu, links] : linksOf)
    reading.switchLinks.push_back({gpu, chip, links});
  reading.assumptions.push_back(
      notation.str() + std::to_string(most) + " among " +
      std::to_string(linksOf.size()) + " GPUs is read as " +
      std::to_string(most) +
      " links from each to a switch: no GPU has links of its own to every "
      "other");
}

void import::addPairedLinks(Reading &reading,
                            const std::vector<LinkReading> &pairs,
                            StringRef notation) {
  DisjointSets linked(reading.gpus.size());
  for (const LinkReading &pair : pairs)
    linked.join(pair.b, pair.a);
  std::vector<unsigned> total = linksPerGpu(reading, pairs, true);
  std::map<size_t, std::vector<LinkReading>> groups;
  std::map<size_t, bool> isSwitched;
  for (const LinkReading &pair : pairs) {
    groups[linked.first(pair.a)].push_back(pair);
    // xGMI has no switches.
    for (unsigned gpu : {pair.a, pair.b})
      isSwitched[linked.first(pair.a)] |=
          reading.vendor != "amd" &&
          total[gpu] > maxLinksOf(reading.gpus[gpu].chip);
  }
  for (const auto &[leader, group] : groups)
    if (isSwitched[leader])
      addSwitch(reading, group, notation);
    else
      reading.pairs->insert(reading.pairs->end(), group.begin(), group.end());
}

/// True if some GPU has several switches and more links to them than its chip
/// has.
static bool areSwitchesOne(const Reading &reading) {
  std::map<unsigned, unsigned> numSwitches;
  for (const LinkReading &link : reading.switchLinks)
    ++numSwitches[link.a];
  std::vector<unsigned> total =
      linksPerGpu(reading, reading.switchLinks, false);
  for (unsigned gpu = 0; gpu < total.size(); ++gpu)
    if (numSwitches[gpu] > 1 && total[gpu] > maxLinksOf(reading.gpus[gpu].chip))
      return true;
  return false;
}

static void makeOneSwitch(Reading &reading, StringRef notation) {
  std::map<unsigned, unsigned> linksOf;
  for (const LinkReading &link : reading.switchLinks)
    linksOf[link.a] = std::max(linksOf[link.a], link.links.value_or(0));
  size_t before = reading.switches.size();
  reading.switches.resize(1);
  reading.switchLinks.clear();
  unsigned most = 0;
  for (auto [gpu, links] : linksOf) {
    reading.switchLinks.push_back({gpu, 0, links});
    most = std::max(most, links);
  }
  reading.assumptions.push_back(
      notation.str() + std::to_string(most) + " to each of " +
      std::to_string(before) + " switches is read as " + std::to_string(most) +
      " links from a GPU to all of them: no GPU has as many to each");
}

void import::finishSwitches(Reading &reading, StringRef notation) {
  reading.hasSwitch = !reading.switches.empty();
  if (reading.switches.empty())
    return;
  if (areSwitchesOne(reading))
    makeOneSwitch(reading, notation);
  std::vector<unsigned> total =
      linksPerGpu(reading, reading.switchLinks, false);
  unsigned most = *std::max_element(total.begin(), total.end());
  reading.linksPerGpu = most;
  const std::string &chip = reading.gpus.front().chip;
  if (isKnownChip(chip) && most > maxLinksOf(chip))
    reading.warnings.push_back(
        std::to_string(most) + " links of a GPU, where " + chip +
        " has at most " + std::to_string(maxLinksOf(chip)));
  for (unsigned gpu = 0; gpu < total.size(); ++gpu)
    if (total[gpu] < most && !reading.gpus[gpu].sharedWith)
      reading.warnings.push_back(nameOfGpu(reading, gpu) + " has " +
                                 std::to_string(total[gpu]) +
                                 " links where others have " +
                                 std::to_string(most) + ": is it degraded?");
}

void import::addHostLink(Reading &reading, const LinkReading &link) {
  DeviceReading &device = reading.gpus[link.a];
  if (device.host != link.b) {
    reading.hostLinks.push_back(link);
    return;
  }
  device.toHost = link.bandwidth;
  device.kindToHost = c2cKind;
  device.lanes = link.links.value_or(1);
}

void import::warnOfAccess(Reading &reading, unsigned numPairs) {
  if (numPairs)
    reading.warnings.push_back(
        std::to_string(numPairs) +
        (numPairs == 1 ? " pair has" : " pairs have") +
        " no peer access: a schedule would have to go through the host");
}

void import::joinNodes(Reading &reading) {
  std::map<unsigned, unsigned> firstOf;
  for (unsigned i = 0; i < reading.hosts.size(); ++i) {
    HostReading &host = reading.hosts[i];
    if (host.parent)
      continue;
    auto [first, isNew] = firstOf.try_emplace(host.box, i);
    if (isNew)
      continue;
    host.parent = first->second;
    host.toParent = {32, "assumed: the file does not say how CPUs are joined"};
    host.kindToParent = "host";
  }
}
