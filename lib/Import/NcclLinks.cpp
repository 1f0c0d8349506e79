//===- NcclLinks.cpp - Links in NCCL's topologies -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The target of a link is a bus id: of a GPU of the same host, of a switch, or
// one that no device has, which NCCL writes where a machine hides its switches.
// That one is the same for all hosts of a file: NCCL writes several hosts only
// of one NVLink domain.
//
//===----------------------------------------------------------------------===//

#include "LinkGroups.h"
#include "NcclXml.h"

#include "sccl/Machine/Units.h"

#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

namespace {
struct Target {
  unsigned count;
  std::string pciClass;
  pugi::xml_node link;
};

class LinkReader {
public:
  LinkReader(const XmlFile &xml, const std::vector<NcclGpu> &gpus,
             Reading &reading)
      : xml(xml), gpus(gpus), reading(reading) {}
  std::optional<Error> run();

private:
  using Targets = std::map<std::string, Target>;
  std::optional<Error> readTargets(const NcclGpu &gpu, Targets &targets) const;
  std::optional<Error> readDevice(unsigned first);
  std::optional<Error> addTarget(unsigned gpu, const std::string &target,
                                 const Target &said);
  std::optional<Error> addC2c(unsigned gpu);
  std::optional<Error> pairUp(std::vector<LinkReading> &pairs) const;
  std::string nameOf(unsigned gpu) const { return nameOfGpu(reading, gpu); }

  const XmlFile &xml;
  const std::vector<NcclGpu> &gpus;
  Reading &reading;
  std::map<std::pair<unsigned, std::string>, unsigned> gpuOfBusId;
  std::map<std::pair<unsigned, std::string>, unsigned> switchOfBusId;
  std::map<std::pair<unsigned, unsigned>, Target> links; ///< of ordered pairs
  unsigned numCpuLinks = 0;
  bool isDomain = false; ///< links join several hosts
};
} // namespace

/// What one <gpu> says, by target.
std::optional<Error> LinkReader::readTargets(const NcclGpu &gpu,
                                             Targets &targets) const {
  for (pugi::xml_node link : gpu.node.children()) {
    StringRef name = link.name();
    if (name != "nvlink" && name != "xgmi")
      continue;
    std::optional<unsigned> count =
        wholeNumber(link.attribute("count").value());
    if (!count || *count == 0 || *count > 64)
      return xml.error(link, "a <" + name +
                                 "> needs its number of links, "
                                 "count=\"N\", from 1 to 64");
    std::string target = normalizedBusId(link.attribute("target").value());
    auto [it, isNew] = targets.try_emplace(
        target, Target{*count, link.attribute("tclass").value(), link});
    if (!isNew)
      it->second.count += *count;
  }
  return std::nullopt;
}

std::optional<Error> LinkReader::addTarget(unsigned gpu,
                                           const std::string &target,
                                           const Target &said) {
  unsigned box = reading.gpus[gpu].box;
  // What the target is decides, not the class that the file gives it.
  if (auto other = gpuOfBusId.find({box, target}); other != gpuOfBusId.end()) {
    if (other->second != gpu)
      links.emplace(std::pair(gpu, other->second), said);
    else if (llvm::none_of(reading.gpus, [&](const DeviceReading &rank) {
               return rank.sharedWith == gpu;
             }))
      return xml.error(said.link, "a link of a GPU to itself");
    return std::nullopt;
  }
  StringRef pciClass = said.pciClass;
  if (pciClass.starts_with("0x068001")) {
    ++numCpuLinks;
    return std::nullopt;
  }
  if (pciClass.starts_with("0x0680")) {
    bool isHidden = StringRef(target).starts_with("ffff");
    isDomain |= isHidden && reading.numBoxes > 1;
    auto [it, isNew] = switchOfBusId.try_emplace(
        {isHidden ? 0 : box, target}, unsigned(reading.switches.size()));
    if (isNew)
      reading.switches.push_back("nvswitch" +
                                 std::to_string(reading.switches.size()));
    reading.switchLinks.push_back({gpu, it->second, said.count});
    return std::nullopt;
  }
  reading.warnings.push_back(nameOf(gpu) + " has " +
                             std::to_string(said.count) + " links to " +
                             target + ", which is not in the file (" +
                             xml.place(said.link).str() + "): left out");
  return std::nullopt;
}

/// <c2c bw="44712" count="5"/>: MB/s of a link to the CPU, and how many.
std::optional<Error> LinkReader::addC2c(unsigned gpu) {
  pugi::xml_node c2c = gpus[gpu].node.child("c2c");
  if (!c2c || !gpus[gpu].cpu)
    return std::nullopt;
  std::optional<unsigned> megabytes = wholeNumber(c2c.attribute("bw").value());
  std::optional<unsigned> count = wholeNumber(c2c.attribute("count").value());
  if (!megabytes || !count || *megabytes == 0 || *count == 0 || *count > 64 ||
      *megabytes > 1000000)
    return xml.error(c2c, "a <c2c> needs the MB/s of a link and their number, "
                          "bw=\"N\" from 1 to 1000000 and count=\"N\" from 1 "
                          "to 64");
  Quantity rate = {Rational(int64_t(*megabytes) * *count, 1000),
                   "c2c in the file"};
  addHostLink(reading, {gpu, *gpus[gpu].cpu, *count, rate});
  return std::nullopt;
}

/// The links of a GPU. If several ranks are on it each of them has all.
std::optional<Error> LinkReader::readDevice(unsigned first) {
  Targets targets;
  bool areAlike = true;
  for (unsigned i = first; i < gpus.size(); ++i) {
    if (i != first && reading.gpus[i].sharedWith != first)
      continue;
    Targets ofRank;
    if (std::optional<Error> error = readTargets(gpus[i], ofRank))
      return error;
    for (const auto &[target, said] : ofRank) {
      auto [it, isNew] = targets.try_emplace(target, said);
      areAlike &= (i == first || !isNew) && it->second.count == said.count;
      it->second.count = std::max(it->second.count, said.count);
    }
  }
  if (!areAlike)
    reading.assumptions.push_back("ranks on the GPU at " +
                                  gpus[first].device.busId +
                                  " have different links in the file: all of "
                                  "them are taken to be for each rank");
  for (const auto &[target, said] : targets)
    if (std::optional<Error> error = addTarget(first, target, said))
      return error;
  return addC2c(first);
}

/// Pairs, of which both GPUs say the same; behind a switch, where a number is
/// of all links of a GPU, the one that has fewer has lost some.
std::optional<Error> LinkReader::pairUp(std::vector<LinkReading> &pairs) const {
  std::vector<unsigned> total(gpus.size());
  for (const auto &[ends, said] : links)
    total[ends.first] += said.count;
  auto isSwitched = [&](unsigned gpu) {
    return reading.vendor != "amd" &&
           total[gpu] > maxLinksOf(gpus[gpu].device.chip);
  };
  for (const auto &[ends, said] : links) {
    auto back = links.find({ends.second, ends.first});
    unsigned backCount = back == links.end() ? 0 : back->second.count;
    if (backCount != said.count && !isSwitched(ends.first) &&
        !isSwitched(ends.second))
      return xml.error(said.link, nameOf(ends.first) + " has " +
                                      llvm::Twine(said.count) + " links to " +
                                      nameOf(ends.second) + ", which has " +
                                      llvm::Twine(backCount) +
                                      " back; dump the topology again");
    if (ends.first < ends.second && backCount > 0)
      pairs.push_back(
          {ends.first, ends.second, std::min(said.count, backCount)});
  }
  return std::nullopt;
}

std::optional<Error> LinkReader::run() {
  for (unsigned i = 0; i < gpus.size(); ++i)
    if (!reading.gpus[i].sharedWith)
      gpuOfBusId[{gpus[i].device.box, gpus[i].device.busId}] = i;
  for (unsigned i = 0; i < gpus.size(); ++i)
    if (!reading.gpus[i].sharedWith)
      if (std::optional<Error> error = readDevice(i))
        return error;
  std::vector<LinkReading> pairs;
  if (std::optional<Error> error = pairUp(pairs))
    return error;
  reading.pairs.emplace();
  addPairedLinks(reading, pairs, "count=");
  if (isDomain)
    reading.assumptions.push_back(
        std::to_string(reading.numBoxes) +
        " hosts are one NVLink domain: NCCL writes several into one file only "
        "then");
  finishSwitches(reading, "count=");
  if (numCpuLinks)
    reading.warnings.push_back(std::to_string(numCpuLinks) +
                               " NVLinks lead to CPUs: not used");
  return std::nullopt;
}

std::optional<Error> import::readNcclLinks(const XmlFile &xml,
                                           const std::vector<NcclGpu> &gpus,
                                           Reading &reading) {
  return LinkReader(xml, gpus, reading).run();
}
