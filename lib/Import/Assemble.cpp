//===- Assemble.cpp - From readings to a machine --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Readers.h"

#include "sccl/Machine/Boxes.h"
#include "sccl/Machine/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>
#include <set>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// What belongs to what
//===----------------------------------------------------------------------===//

/// Takes what nvlink -s says of a box into its reading.
static std::optional<Error> applyStatus(Reading &box, const Reading &status) {
  if (status.gpus.size() != box.gpus.size())
    return Error{status.path + ": " + std::to_string(status.gpus.size()) +
                 " GPUs, where " + box.path + " has " +
                 std::to_string(box.gpus.size()) +
                 "; are they of the same host?"};
  box.status = status.status;
  std::vector<unsigned> linksOf(box.gpus.size());
  for (const LinkReading &link : box.switchLinks)
    linksOf[link.a] += link.links.value_or(0);
  for (const LinkReading &link : box.pairs.value_or(std::vector<LinkReading>()))
    for (unsigned gpu : {link.a, link.b})
      linksOf[gpu] += link.links.value_or(0);
  for (unsigned i = 0; i < box.gpus.size(); ++i) {
    const LinkStatusReading &gpu = status.status[i];
    if (box.gpus[i].chip.empty())
      box.gpus[i].chip = gpu.gpu;
    if (gpu.active != linksOf[i])
      box.warnings.push_back(
          box.gpus[i].name + ": " + std::to_string(gpu.active) +
          " links are active, " + std::to_string(linksOf[i]) + " are in " +
          box.path + "; the active ones count at a switch");
    if (gpu.inactive)
      box.warnings.push_back(box.gpus[i].name + ": " +
                             std::to_string(gpu.inactive) +
                             " links are inactive: not counted");
  }
  for (LinkReading &link : box.switchLinks)
    if (linksOf[link.a] == link.links)
      link.links = status.status[link.a].active;
  return std::nullopt;
}

/// Status readings go into the box before them, or the first one.
static Result<std::vector<Reading>> mergeStatus(std::vector<Reading> readings) {
  std::vector<Reading> boxes;
  std::vector<std::pair<size_t, Reading>> statuses;
  for (Reading &reading : readings)
    if (reading.format == ImportFormat::NvlinkStatus ||
        reading.format == ImportFormat::NvidiaSmiXml)
      statuses.emplace_back(boxes.empty() ? 0 : boxes.size() - 1,
                            std::move(reading));
    else
      boxes.push_back(std::move(reading));
  for (auto &[box, status] : statuses) {
    if (boxes.empty())
      return Error{status.path + ": " + status.noMachine};
    bool hasLinks = status.format == ImportFormat::NvlinkStatus;
    if (std::optional<Error> error =
            (hasLinks ? applyStatus : applyInventory)(boxes[box], status))
      return *error;
  }
  return boxes;
}

//===----------------------------------------------------------------------===//
// One box
//===----------------------------------------------------------------------===//

namespace {
class BoxAssembler {
public:
  BoxAssembler(Machine &machine, const Reading &reading,
               const ImportOptions &options, unsigned box, unsigned numBoxes)
      : machine(machine), reading(reading), options(options), box(box),
        numBoxes(numBoxes) {}
  std::optional<Error> run();
  /// The NICs that join this box to others, and their rates in GB/s.
  std::vector<std::pair<unsigned, Quantity>> network;

private:
  std::string named(StringRef stem, unsigned number) const {
    return vertexName(stem.str(), number, box, numBoxes);
  }
  std::string prefixed(StringRef name) const {
    return numBoxes > 1 ? std::to_string(box) + "." + name.str() : name.str();
  }
  std::optional<Error> fail(const std::string &message) const {
    return Error{reading.path + ": " + message};
  }
  std::optional<Error> addHosts();
  std::optional<Error> addGpus();
  std::optional<Error> addLinks();
  std::optional<Error> addNics();
  std::optional<Error> addAssumedNics(const Rational &gbps);
  std::optional<Error> addNic(const DeviceReading &nic, unsigned index,
                              const Quantity &rate);
  std::optional<Error> join(unsigned vertex, const DeviceReading &device);
  Quantity bandwidthOf(const LinkReading &link, std::string &kind) const;
  std::optional<Error> addPair(unsigned a, unsigned b, Quantity bandwidth,
                               std::string kind, unsigned lanes);
  bool isUsed(const DeviceReading &nic) const;
  /// An assumed rate of PCIe is raised to that of the NICs: it must not decide
  /// what a machine can do.
  Quantity notBelowNics(Quantity rate) const;

  Machine &machine;
  const Reading &reading;
  const ImportOptions &options;
  unsigned box, numBoxes;
  std::vector<unsigned> gpus, hosts;
};
} // namespace

Quantity BoxAssembler::notBelowNics(Quantity rate) const {
  if (numBoxes == 1 || !StringRef(rate.source).starts_with("assumed"))
    return rate;
  std::optional<Rational> fastest = options.nicGbps;
  for (const DeviceReading &nic : reading.nics)
    if (!options.nicGbps && nic.gbps && (!fastest || *fastest < *nic.gbps))
      fastest = nic.gbps;
  auto gigabytes = fastest ? quotient(*fastest, 8) : std::nullopt;
  if (!gigabytes || *gigabytes <= rate.value)
    return rate;
  return {*gigabytes, "assumed: no narrower than the NICs"};
}

std::optional<Error> BoxAssembler::addPair(unsigned a, unsigned b,
                                           Quantity bandwidth, std::string kind,
                                           unsigned lanes) {
  Result<unsigned> added = machine.addEdgePair(
      {a, b, std::move(bandwidth), std::nullopt, std::move(kind), lanes});
  return added ? std::nullopt : fail(added.error());
}

std::optional<Error> BoxAssembler::addHosts() {
  for (const HostReading &host : reading.hosts) {
    Result<unsigned> added =
        machine.addVertex({host.kind, prefixed(host.name), box});
    if (!added)
      return fail(added.error());
    hosts.push_back(*added);
    if (!host.parent)
      continue;
    if (std::optional<Error> error =
            addPair(hosts[*host.parent], *added, notBelowNics(host.toParent),
                    host.kindToParent, host.lanes))
      return error;
  }
  return std::nullopt;
}

std::optional<Error> BoxAssembler::join(unsigned vertex,
                                        const DeviceReading &device) {
  if (!device.host || !device.toHost)
    return std::nullopt;
  return addPair(vertex, hosts[*device.host], notBelowNics(*device.toHost),
                 device.kindToHost, device.lanes);
}

std::optional<Error> BoxAssembler::addGpus() {
  for (const DeviceReading &gpu : reading.gpus) {
    Result<unsigned> added = machine.addVertex(
        {VertexKind::Gpu, named("gpu", gpu.number), box, gpu.busId, gpu.chip});
    if (!added)
      return fail(added.error());
    gpus.push_back(*added);
    if (std::optional<Error> error = join(*added, gpu))
      return error;
  }
  return std::nullopt;
}

/// What the file has, else the rate of the user, of nvlink -s or of the chip.
Quantity BoxAssembler::bandwidthOf(const LinkReading &link,
                                   std::string &kind) const {
  const DeviceReading &gpu = reading.gpus[link.a];
  LinkRate rate = linkRateOf(reading.vendor, gpu.chip);
  kind = rate.kind;
  if (link.bandwidth && !options.linkRate)
    return *link.bandwidth;
  Quantity perLink = rate.bandwidth;
  if (link.a < reading.status.size() && reading.status[link.a].perLink)
    perLink = {*reading.status[link.a].perLink, "nvlink -s"};
  if (options.linkRate)
    perLink = {*options.linkRate, "--link-rate"};
  unsigned links = link.links.value_or(1);
  return {product(perLink.value, int64_t(links)).value_or(perLink.value),
          perLink.source + (link.links ? "" : ", one link assumed")};
}

std::optional<Error> BoxAssembler::addLinks() {
  std::vector<unsigned> chips;
  bool isNew = reading.linksPerGpu.value_or(0) >= 18;
  for (const std::string &name : reading.switches) {
    Vertex chip = {VertexKind::Switch, prefixed(name), box};
    // NVLink SHARP came with the switches of H100.
    chip.multicast = chip.reduces = isNew;
    Result<unsigned> added = machine.addVertex(chip);
    if (!added)
      return fail(added.error());
    chips.push_back(*added);
  }
  auto addAll = [&](const std::vector<LinkReading> &links,
                    const std::vector<unsigned> &ends) {
    for (const LinkReading &link : links) {
      std::string kind;
      Quantity bandwidth = bandwidthOf(link, kind);
      if (link.links == 0u)
        continue;
      if (std::optional<Error> error =
              addPair(gpus[link.a], ends[link.b], bandwidth, kind,
                      link.links.value_or(1)))
        return error;
    }
    return std::optional<Error>();
  };
  if (reading.pairs)
    if (std::optional<Error> error = addAll(*reading.pairs, gpus))
      return error;
  return addAll(reading.switchLinks, chips);
}

bool BoxAssembler::isUsed(const DeviceReading &nic) const {
  return options.nics.empty() || llvm::is_contained(options.nics, nic.name) ||
         llvm::is_contained(options.nics, nic.chip);
}

std::optional<Error> BoxAssembler::addNic(const DeviceReading &nic,
                                          unsigned index,
                                          const Quantity &rate) {
  Result<unsigned> added =
      machine.addVertex({VertexKind::Nic, named("nic", index), box, nic.busId,
                         nic.chip.empty() ? nic.name : nic.chip});
  if (!added)
    return fail(added.error());
  network.emplace_back(*added, rate);
  return join(*added, nic);
}

/// A NIC for each GPU, which the user has told of and the file has not.
std::optional<Error> BoxAssembler::addAssumedNics(const Rational &gbps) {
  Quantity rate = {quotient(gbps, 8).value_or(gbps),
                   "--nic-gbps, one for each GPU assumed"};
  for (unsigned i = 0; i < gpus.size(); ++i) {
    DeviceReading nic = {i, ""};
    if (std::optional<Error> error = addNic(nic, i, rate))
      return error;
    if (std::optional<Error> error =
            addPair(gpus[i], network.back().first, rate, "PCIe", 1))
      return error;
  }
  return std::nullopt;
}

std::optional<Error> BoxAssembler::addNics() {
  if (numBoxes == 1)
    return std::nullopt;
  Rational fastest = 0;
  for (const DeviceReading &nic : reading.nics)
    if (nic.gbps && isUsed(nic) && nic.toHost)
      fastest = std::max(fastest, *nic.gbps);
  for (const DeviceReading &nic : reading.nics) {
    if (!isUsed(nic))
      continue;
    std::optional<Rational> gbps = options.nicGbps ? options.nicGbps : nic.gbps;
    if (!gbps)
      return fail("the rate of " + nic.name +
                  " is not in the file; give --nic-gbps=GIGABITS");
    // Devices without a slot are virtual, and slow ones are for managing.
    bool isSlow = !options.nicGbps && options.nics.empty() &&
                  sum(*gbps, *gbps).value_or(0) < fastest;
    if (!nic.toHost || isSlow) {
      if (box == 0)
        machine.addNote(nic.name + " is left out: " +
                        (!nic.toHost ? "it is in no PCIe slot"
                                     : decimalText(*gbps) +
                                           " Gb/s, where others have " +
                                           decimalText(fastest)));
      continue;
    }
    if (std::optional<Error> error =
            addNic(nic, network.size(),
                   {quotient(*gbps, 8).value_or(*gbps),
                    options.nicGbps ? "--nic-gbps" : "speed in the file"}))
      return error;
  }
  if (!network.empty())
    return std::nullopt;
  if (!options.nics.empty())
    return fail("no NIC is named " + llvm::join(options.nics, ", "));
  if (options.nicGbps)
    return addAssumedNics(*options.nicGbps);
  return fail("no NICs are in the file, so boxes cannot be joined; give "
              "--nic-gbps=GIGABITS for one NIC per GPU");
}

std::optional<Error> BoxAssembler::run() {
  for (auto step : {&BoxAssembler::addHosts, &BoxAssembler::addGpus,
                    &BoxAssembler::addLinks, &BoxAssembler::addNics})
    if (std::optional<Error> error = (this->*step)())
      return error;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Boxes together
//===----------------------------------------------------------------------===//

static void takeNotes(Machine &machine, const Reading &reading, bool isOnly) {
  std::string where = isOnly ? "" : reading.path + ": ";
  for (const std::string &text : reading.warnings)
    machine.addNote("warning: " + where + text);
  for (const std::string &text : reading.assumptions)
    machine.addNote("assumed: " + where + text);
}

static Result<Machine> useCluster(Reading reading,
                                  const ImportOptions &options) {
  if (options.boxes > 1)
    return Error{reading.path + ": describes a whole machine, which --boxes "
                                "does not repeat"};
  Machine machine = std::move(*reading.cluster);
  takeNotes(machine, reading, true);
  return machine;
}

static std::string stemOf(StringRef path) {
  StringRef name = path.rsplit('/').second;
  return (name.empty() ? path : name).split('.').first.str();
}

Result<Machine> sccl::assembleMachine(std::vector<Reading> readings,
                                      const ImportOptions &options) {
  Result<std::vector<Reading>> boxes = mergeStatus(std::move(readings));
  if (!boxes)
    return Error{boxes.error()};
  if (boxes->empty())
    return Error{"no file was given"};
  for (const Reading &reading : *boxes)
    if (!reading.noMachine.empty())
      return Error{reading.path + ": " + reading.noMachine};
  if (boxes->size() == 1 && boxes->front().cluster)
    return useCluster(std::move(boxes->front()), options);
  if (boxes->size() > 1 && options.boxes > 1)
    return Error{"--boxes=" + std::to_string(options.boxes) +
                 " repeats one box, and there are " +
                 std::to_string(boxes->size()) + " files"};
  auto numBoxes = boxes->size() > 1 ? unsigned(boxes->size()) : options.boxes;
  Machine machine(stemOf(boxes->front().path));
  std::vector<std::vector<std::pair<unsigned, Quantity>>> network;
  for (unsigned box = 0; box < numBoxes; ++box) {
    const Reading &reading = (*boxes)[boxes->size() > 1 ? box : 0];
    if (reading.cluster)
      return Error{reading.path + ": describes a whole machine, not one box "
                                  "of several"};
    BoxAssembler assembler(machine, reading, options, box, numBoxes);
    if (std::optional<Error> error = assembler.run())
      return *error;
    network.push_back(std::move(assembler.network));
  }
  for (const Reading &reading : *boxes)
    takeNotes(machine, reading, boxes->size() == 1);
  if (numBoxes > 1)
    if (std::optional<Error> error =
            joinBoxes(machine, network, options.hasRails.value_or(true), "IB"))
      return *error;
  return machine;
}
