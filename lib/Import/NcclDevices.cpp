//===- NcclDevices.cpp - Ranks, NICs and slots of NCCL's topologies -------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinkGroups.h"
#include "NcclXml.h"

#include "sccl/Machine/Units.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <set>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

/// Numbers the ranks of one box anew if one number is there several times.
static void renumberBox(llvm::MutableArrayRef<NcclGpu> box, Reading &reading) {
  std::set<unsigned> numbers, ranks;
  for (const NcclGpu &gpu : box) {
    numbers.insert(gpu.device.number);
    if (gpu.rank)
      ranks.insert(*gpu.rank);
  }
  if (numbers.size() == box.size())
    return;
  bool hasRanks = ranks.size() == box.size();
  if (hasRanks)
    llvm::sort(box, [](const NcclGpu &a, const NcclGpu &b) {
      return *a.rank < *b.rank;
    });
  for (unsigned i = 0; i < box.size(); ++i)
    box[i].device.number = i;
  reading.assumptions.push_back(
      std::string("several <gpu> have the same dev: they are numbered in the "
                  "order of ") +
      (hasRanks ? "their ranks" : "dev and of the file"));
}

/// Says which ranks are on one GPU.
void import::noteShared(Reading &reading) {
  std::map<unsigned, std::string> ranksOf;
  for (unsigned i = 0; i < reading.gpus.size(); ++i)
    if (reading.gpus[i].sharedWith)
      ranksOf[*reading.gpus[i].sharedWith] += ", " + nameOfGpu(reading, i);
  for (const auto &[first, others] : ranksOf)
    reading.assumptions.push_back(
        nameOfGpu(reading, first) + others + " are ranks on the one GPU at " +
        reading.gpus[first].busId + ": they share its links and its slot");
}

std::vector<NcclGpu> import::numberGpus(std::vector<NcclGpu> gpus,
                                        Reading &reading) {
  llvm::stable_sort(gpus, [](const NcclGpu &a, const NcclGpu &b) {
    return std::pair(a.device.box, a.device.number) <
           std::pair(b.device.box, b.device.number);
  });
  for (size_t begin = 0, end = 0; begin < gpus.size(); begin = end) {
    while (end < gpus.size() && gpus[end].device.box == gpus[begin].device.box)
      ++end;
    renumberBox(llvm::MutableArrayRef(gpus).slice(begin, end - begin), reading);
  }
  std::map<unsigned, unsigned> firstOfSlot;
  for (unsigned i = 0; i < gpus.size(); ++i) {
    DeviceReading &device = gpus[i].device;
    device.name = "GPU" + std::to_string(device.number);
    auto [first, isNew] = firstOfSlot.try_emplace(gpus[i].slot, i);
    if (!isNew)
      device.sharedWith = first->second;
    reading.gpus.push_back(device);
  }
  noteShared(reading);
  return gpus;
}

//===----------------------------------------------------------------------===//
// NICs
//===----------------------------------------------------------------------===//

/// Gb/s of a `speed`, which NCCL writes in Mbit/s. Where that would be more
/// than any NIC has it is in a smaller unit, which `unit` says, if some kind of
/// NIC has that rate; else nothing.
static std::optional<Rational> rateOfNet(StringRef speed, std::string &unit) {
  uint64_t number;
  if (speed.getAsInteger(10, number) || number == 0 ||
      number > uint64_t(1) << 62)
    return std::nullopt;
  for (auto [name, perGigabit] : {std::pair("Mbit/s", 1000ll),
                                  {"kbit/s", 1000000ll},
                                  {"bit/s", 1000000000ll}}) {
    Rational rate(int64_t(number), perGigabit);
    if (rate > Rational(maxNicGbps))
      continue;
    unit = name;
    constexpr int usualRates[] = {1,   10,  25,  40,  50,   56,
                                  100, 200, 400, 800, 1600, 3200};
    bool isUsual = llvm::any_of(
        usualRates, [&](int usual) { return rate == Rational(usual); });
    return perGigabit == 1000 || isUsual ? std::optional(rate) : std::nullopt;
  }
  return std::nullopt;
}

void NcclNets::add(pugi::xml_node net, DeviceReading nic) {
  auto index = unsigned(reading.nics.size());
  std::vector<std::string> identity = {std::to_string(nic.box)};
  for (const char *attribute : {"name", "dev", "port", "guid"})
    identity.push_back(net.attribute(attribute).value());
  bool hasIdentity = !identity[1].empty() || !identity[2].empty();
  auto [it, isNew] = known.try_emplace(identity, index);
  if (!isNew && hasIdentity) {
    ++numRepeated;
    DeviceReading &first = reading.nics[it->second];
    if (first.toHost || !nic.toHost)
      return;
    // The place that says more: the one in a slot.
    first.host = nic.host;
    first.toHost = nic.toHost;
    first.kindToHost = nic.kindToHost;
    first.lanes = nic.lanes;
    first.busId = nic.busId;
    return;
  }
  nic.number = index;
  if (nic.name.empty())
    nic.name = "net" + std::to_string(index);
  nic.chip = nic.name;
  StringRef speed = net.attribute("speed").value();
  std::string unit;
  nic.gbps = rateOfNet(speed, unit);
  std::string said = nic.name + " (speed=\"" + speed.str() + "\")";
  if (nic.gbps && unit != "Mbit/s") {
    nic.rateSource = "assumed: speed in the file is in " + unit;
    inSmallUnits.push_back(said);
  } else if (!nic.gbps && speed.size() > 6) {
    impossible.push_back(said);
  }
  reading.nics.push_back(nic);
}

void NcclNets::finish() {
  if (numRepeated)
    reading.assumptions.push_back(
        std::to_string(numRepeated) +
        " nets are given again, with the same name, dev, port and guid: each "
        "is one NIC");
  if (!inSmallUnits.empty())
    reading.warnings.push_back(
        llvm::join(inSmallUnits, ", ") +
        ": no NIC is as fast in Mbit/s, which NCCL writes; read in kbit/s or "
        "bit/s (give --nic-gbps if that is wrong)");
  if (!impossible.empty())
    reading.warnings.push_back(llvm::join(impossible, ", ") +
                               ": no NIC has that speed; not read");
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

/// "0000:1c:00" of "0000:1c:00.1".
static std::string cardOf(const DeviceReading &device) {
  return StringRef(device.busId).rsplit('.').first.str();
}

void import::shareSlots(Reading &reading) {
  std::map<std::tuple<unsigned, unsigned, std::string>,
           std::vector<DeviceReading *>>
      cards;
  for (auto *list : {&reading.gpus, &reading.nics})
    for (DeviceReading &device : *list)
      if (!device.sharedWith && device.host && !device.busId.empty())
        cards[{device.box, *device.host, cardOf(device)}].push_back(&device);
  for (auto &[place, devices] : cards) {
    if (devices.size() < 2)
      continue;
    const DeviceReading &widest =
        **llvm::max_element(devices, [](const auto *a, const auto *b) {
          return a->toHost->value < b->toHost->value;
        });
    HostReading slot = {VertexKind::Switch, "slot-" + std::get<2>(place),
                        *widest.host,       *widest.toHost,
                        widest.kindToHost,  widest.lanes};
    slot.box = widest.box;
    std::set<std::string> functions;
    for (DeviceReading *device : devices) {
      device->host = reading.hosts.size();
      // Ports have no bus ids of their own.
      if (!functions.insert(device->busId).second)
        device->busId.clear();
    }
    reading.hosts.push_back(slot);
  }
}
