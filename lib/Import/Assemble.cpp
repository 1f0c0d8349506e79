//===- Assemble.cpp - From readings to a machine --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinkGroups.h"

#include "sccl/Machine/Boxes.h"
#include "sccl/Machine/Units.h"
#include "sccl/Model/DisjointSets.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// One box
//===----------------------------------------------------------------------===//

/// The kind of edges between ranks on one GPU.
static constexpr const char *withinGpu = "on-chip";

namespace {
class BoxAssembler {
public:
  BoxAssembler(Machine &machine, const Reading &reading,
               const ImportOptions &options, unsigned box, unsigned numBoxes,
               bool isNetworked)
      : network(reading.numBoxes), machine(machine), reading(reading),
        options(options), box(box), numBoxes(numBoxes),
        isNetworked(isNetworked) {}
  std::optional<Error> run();
  /// The NICs that join each of the boxes to others, and their GB/s.
  std::vector<std::vector<NetworkPort>> network;

private:
  std::string named(StringRef stem, unsigned number, unsigned inReading) const {
    return vertexName(stem.str(), number, box + inReading, numBoxes);
  }
  std::string prefixed(StringRef name, unsigned inReading) const {
    return numBoxes > 1 ? std::to_string(box + inReading) + "." + name.str()
                        : name.str();
  }
  std::optional<Error> fail(const std::string &message) const {
    return Error{reading.path + ": " + message};
  }
  std::optional<Error> addHosts();
  std::optional<Error> addGpus();
  std::optional<Error> addSharedGpu(unsigned first);
  std::optional<Error> addRanksOfShared();
  std::optional<Error> addLinks();
  std::optional<Error> addSwitches(std::vector<unsigned> &chips);
  std::optional<Error> addNics();
  std::optional<Error> addAssumedNics(const Rational &gbps);
  std::optional<Error> addNic(const DeviceReading &nic, const Quantity &rate);
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
  unsigned box; ///< the first
  unsigned numBoxes;
  bool isNetworked; ///< NICs join boxes
  std::vector<unsigned> gpus, hosts;
  /// Of each GPU the vertex at which its links end: the GPU, or for several
  /// ranks on one GPU a switch.
  std::vector<unsigned> linkEnds;
};
} // namespace

Quantity BoxAssembler::notBelowNics(Quantity rate) const {
  if (!isNetworked || !StringRef(rate.source).starts_with("assumed"))
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
    Result<unsigned> added = machine.addVertex(
        {host.kind, prefixed(host.name, host.box), box + host.box});
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

/// A switch for a GPU that holds several ranks, within which they meet.
std::optional<Error> BoxAssembler::addSharedGpu(unsigned first) {
  const DeviceReading &gpu = reading.gpus[first];
  Result<unsigned> added = machine.addVertex(
      {VertexKind::Switch, named("device", gpu.number, gpu.box), box + gpu.box,
       gpu.busId});
  if (!added)
    return fail(added.error());
  for (unsigned i = 0; i < gpus.size(); ++i)
    if (i == first || reading.gpus[i].sharedWith == first)
      linkEnds[i] = *added;
  return join(*added, gpu);
}

/// GB/s between ranks on one GPU: a multiple of what its links carry, or its
/// slot, so that it neither bounds anything nor makes the numbers of a topology
/// large.
static Quantity rateWithinGpu(const Machine &machine, unsigned device) {
  constexpr int64_t least = 5000;
  Rational links = 0, slot = 0;
  for (unsigned number : machine.outEdges(device)) {
    const Edge &edge = machine.edges()[number];
    Rational &total = isHostKind(edge.kind) ? slot : links;
    if (edge.kind != withinGpu)
      total = sum(total, edge.bandwidth.value).value_or(total);
  }
  const Rational &unit = links > Rational(0) ? links : slot;
  Rational rate = unit > Rational(0) ? unit : Rational(least);
  auto factor =
      static_cast<int64_t>(std::ceil(double(least) / rate.toDouble()));
  if (factor > 1)
    rate = product(rate, factor).value_or(Rational(least));
  return {rate, "assumed: memory of one GPU is not to bound anything"};
}

std::optional<Error> BoxAssembler::addGpus() {
  std::vector<bool> isShared(reading.gpus.size());
  for (const DeviceReading &gpu : reading.gpus)
    if (gpu.sharedWith)
      isShared[*gpu.sharedWith] = true;
  for (unsigned i = 0; i < reading.gpus.size(); ++i) {
    const DeviceReading &gpu = reading.gpus[i];
    bool isAlone = !gpu.sharedWith && !isShared[i];
    Result<unsigned> added =
        machine.addVertex({VertexKind::Gpu, named("gpu", gpu.number, gpu.box),
                           box + gpu.box, isAlone ? gpu.busId : "", gpu.chip});
    if (!added)
      return fail(added.error());
    gpus.push_back(*added);
    linkEnds.push_back(*added);
    if (!isAlone)
      continue;
    if (std::optional<Error> error = join(*added, gpu))
      return error;
  }
  for (unsigned i = 0; i < reading.gpus.size(); ++i)
    if (isShared[i])
      if (std::optional<Error> error = addSharedGpu(i))
        return error;
  for (const LinkReading &link : reading.hostLinks)
    if (std::optional<Error> error =
            addPair(linkEnds[link.a], hosts[link.b], *link.bandwidth, c2cKind,
                    link.links.value_or(1)))
      return error;
  return std::nullopt;
}

/// Joins the ranks on one GPU to it, now that its links are known.
std::optional<Error> BoxAssembler::addRanksOfShared() {
  for (unsigned i = 0; i < gpus.size(); ++i) {
    if (linkEnds[i] == gpus[i])
      continue;
    Edge edge = {gpus[i], linkEnds[i], rateWithinGpu(machine, linkEnds[i]),
                 Quantity{0, "assumed: within one GPU"}, withinGpu};
    if (Result<unsigned> added = machine.addEdgePair(edge); !added)
      return fail(added.error());
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

std::optional<Error> BoxAssembler::addSwitches(std::vector<unsigned> &chips) {
  bool isNew = reading.linksPerGpu.value_or(0) >= 18;
  std::vector<std::set<unsigned>> boxesOf(reading.switches.size());
  for (const LinkReading &link : reading.switchLinks)
    boxesOf[link.b].insert(reading.gpus[link.a].box);
  for (unsigned i = 0; i < reading.switches.size(); ++i) {
    unsigned first = boxesOf[i].empty() ? 0 : *boxesOf[i].begin();
    bool isBetween = boxesOf[i].size() > 1;
    Vertex chip = {VertexKind::Switch, prefixed(reading.switches[i], first),
                   isBetween ? std::nullopt : std::optional(box + first)};
    // NVLink SHARP came with the switches of H100.
    chip.multicast = chip.reduces = isNew;
    Result<unsigned> added = machine.addVertex(chip);
    if (!added)
      return fail(added.error());
    chips.push_back(*added);
  }
  return std::nullopt;
}

std::optional<Error> BoxAssembler::addLinks() {
  std::vector<unsigned> chips;
  if (std::optional<Error> error = addSwitches(chips))
    return error;
  auto addAll = [&](const std::vector<LinkReading> &links,
                    const std::vector<unsigned> &ends) {
    for (const LinkReading &link : links) {
      std::string kind;
      Quantity bandwidth = bandwidthOf(link, kind);
      if (link.links == 0u)
        continue;
      if (std::optional<Error> error =
              addPair(linkEnds[link.a], ends[link.b], bandwidth, kind,
                      link.links.value_or(1)))
        return error;
    }
    return std::optional<Error>();
  };
  if (reading.pairs)
    if (std::optional<Error> error = addAll(*reading.pairs, linkEnds))
      return error;
  if (std::optional<Error> error = addAll(reading.switchLinks, chips))
    return error;
  return addRanksOfShared();
}

bool BoxAssembler::isUsed(const DeviceReading &nic) const {
  return options.nics.empty() || llvm::is_contained(options.nics, nic.name) ||
         llvm::is_contained(options.nics, nic.chip);
}

std::optional<Error> BoxAssembler::addNic(const DeviceReading &nic,
                                          const Quantity &rate) {
  std::vector<NetworkPort> &ports = network[nic.box];
  Result<unsigned> added = machine.addVertex(
      {VertexKind::Nic, named("nic", ports.size(), nic.box), box + nic.box,
       nic.busId, nic.chip.empty() ? nic.name : nic.chip});
  if (!added)
    return fail(added.error());
  ports.emplace_back(*added, rate);
  return join(*added, nic);
}

/// A NIC for each GPU, which the user has told of and the file has not.
std::optional<Error> BoxAssembler::addAssumedNics(const Rational &gbps) {
  Quantity rate = {quotient(gbps, 8).value_or(gbps),
                   "--nic-gbps, one for each GPU assumed"};
  for (unsigned i = 0; i < gpus.size(); ++i) {
    DeviceReading nic = {i, ""};
    nic.box = reading.gpus[i].box;
    if (std::optional<Error> error = addNic(nic, rate))
      return error;
    if (std::optional<Error> error = addPair(
            linkEnds[i], network[nic.box].back().first, rate, "PCIe", 1))
      return error;
  }
  return std::nullopt;
}

std::optional<Error> BoxAssembler::addNics() {
  if (!isNetworked)
    return std::nullopt;
  Rational fastest = 0;
  for (const DeviceReading &nic : reading.nics)
    if (nic.gbps && isUsed(nic) && nic.toHost)
      fastest = std::max(fastest, *nic.gbps);
  std::vector<const DeviceReading *> used;
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
    used.push_back(&nic);
    if (std::optional<Error> error =
            addNic(nic, {quotient(*gbps, 8).value_or(*gbps),
                         options.nicGbps ? "--nic-gbps" : nic.rateSource}))
      return error;
  }
  if (llvm::any_of(network, [](const auto &ports) { return !ports.empty(); })) {
    if (box == 0 && options.nics.empty())
      noteUnevenNics(machine, reading, used);
    return std::nullopt;
  }
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
  noteImplausible(machine);
  return machine;
}

static std::string stemOf(StringRef path) {
  StringRef name = path.rsplit('/').second;
  return (name.empty() ? path : name).split('.').first.str();
}

/// True if links join all boxes of a reading.
static bool areBoxesJoined(const Reading &reading) {
  DisjointSets joined(reading.numBoxes + reading.switches.size());
  for (const LinkReading &link : reading.switchLinks)
    joined.join(reading.gpus[link.a].box, reading.numBoxes + link.b);
  for (unsigned box = 1; box < reading.numBoxes; ++box)
    if (joined.first(box) != 0)
      return false;
  return true;
}

/// Adds all boxes, and their NICs to `network`.
static std::optional<Error>
addBoxes(Machine &machine, const std::vector<Reading> &readings,
         const ImportOptions &options,
         std::vector<std::vector<NetworkPort>> &network) {
  std::vector<const Reading *> parts(readings.size() > 1 ? 0 : options.boxes,
                                     &readings.front());
  if (parts.empty())
    for (const Reading &reading : readings)
      parts.push_back(&reading);
  unsigned numBoxes = 0;
  for (const Reading *reading : parts)
    numBoxes += reading->numBoxes;
  bool isNetworked = parts.size() > 1 || !areBoxesJoined(readings.front());
  unsigned box = 0;
  for (const Reading *reading : parts) {
    if (reading->cluster)
      return Error{reading->path + ": describes a whole machine, not one box "
                                   "of several"};
    BoxAssembler assembler(machine, *reading, options, box, numBoxes,
                           isNetworked);
    if (std::optional<Error> error = assembler.run())
      return error;
    box += reading->numBoxes;
    llvm::append_range(network, std::move(assembler.network));
  }
  if (!isNetworked)
    network.clear();
  return std::nullopt;
}

Result<Machine> sccl::assembleMachine(std::vector<Reading> readings,
                                      const ImportOptions &options) {
  Result<std::vector<Reading>> boxes = mergeReadings(std::move(readings));
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
  Machine machine(stemOf(boxes->front().path));
  std::vector<std::vector<NetworkPort>> network;
  if (std::optional<Error> error = addBoxes(machine, *boxes, options, network))
    return *error;
  for (const Reading &reading : *boxes)
    takeNotes(machine, reading, boxes->size() == 1);
  if (!network.empty())
    if (std::optional<Error> error =
            joinBoxes(machine, network, options.hasRails.value_or(true), "IB"))
      return *error;
  noteImplausible(machine);
  return machine;
}
