//===- NcclXml.cpp - Topologies that NCCL and RCCL dump -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// system > cpu > pci > ... > gpu with its nvlink or xgmi links, or nic > net.
// CPUs of several hosts, which an NVLink domain joins, differ in host_hash; bus
// ids are those of a host. Files that clouds ship for their virtual machines
// have no gpu elements: GPUs are PCI devices of their class then, and nothing
// is known of their links.
//
//===----------------------------------------------------------------------===//

#include "NcclXml.h"
#include "LinkGroups.h"
#include "PciTree.h"

#include "sccl/Machine/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>
#include <set>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

namespace {
/// An element, and what it is in.
struct Pci {
  pugi::xml_node node;
  std::optional<unsigned> host = {}; ///< index in `Reading::hosts`
  std::optional<unsigned> cpu = {};  ///< likewise
  unsigned box = 0, depth = 0;
};

/// A PCIe bridge in one of the places where the file has it.
struct Bridge {
  std::optional<unsigned> parent;
  unsigned host; ///< index in `Reading::hosts`
};

class NcclReader {
public:
  explicit NcclReader(const ImportFile &file)
      : xml(file), reading{file.path, ImportFormat::NcclXml, "", ""},
        nets(reading) {}
  Result<Reading> run();

private:
  std::optional<Error> walk();
  std::optional<Error> visit(const Pci &at, std::vector<Pci> &stack);
  void enterCpu(Pci &below);
  std::optional<Error> enterPci(const Pci &at, Pci &below);
  std::optional<Error> addGpus(const Pci &pci);
  std::optional<Error> addGpu(pugi::xml_node gpu, const Pci &pci);
  std::optional<Error> addPciDevice(const Pci &pci);
  std::optional<Error> addNets(pugi::xml_node nic, const Pci &pci);
  std::optional<Error> takeBusId(const Pci &pci);
  void enterBridge(const Pci &at, Pci &below);
  void fillSlot(DeviceReading &device, const Pci &pci);
  void sortBoxes();
  void chooseDevices();
  void useNetsWithoutSlot();
  void addExtras();

  XmlFile xml;
  Reading reading;
  NcclNets nets;
  std::vector<NcclGpu> gpus; ///< in the order of the file
  std::vector<DeviceReading> pciGpus, pciNics;
  std::map<std::string, unsigned> boxOfHash;
  std::set<std::pair<unsigned, std::string>> busIds; ///< of devices, with boxes
  std::map<std::pair<unsigned, std::string>, std::vector<Bridge>> bridges;
  std::map<unsigned, unsigned> numCpusOfBox;
  unsigned numCpus = 0, numAssumedSlots = 0;
};
} // namespace

/// "16.0 GT/s PCIe" and 16 lanes: 32 GB/s, before encoding.
static std::pair<Quantity, std::string>
slotRate(pugi::xml_node pci, unsigned &lanes, unsigned &numAssumed) {
  StringRef speed = pci.attribute("link_speed").value();
  StringRef digits =
      speed.take_while([](char c) { return llvm::isDigit(c) || c == '.'; });
  Result<Rational> transfers = parseDecimal(digits.str());
  std::optional<unsigned> width =
      wholeNumber(pci.attribute("link_width").value());
  if (!transfers || *transfers <= Rational(0) || !width || *width == 0 ||
      *width > 64) {
    ++numAssumed;
    lanes = 16;
    return {{16, "assumed: PCIe 3 x16, as NCCL does where there is no rate"},
            "PCIe3"};
  }
  lanes = *width;
  std::string kind = "PCIe";
  for (auto [index, generation] : llvm::enumerate(pciGenerations()))
    if (*transfers == generation.transfers)
      kind += std::to_string(index + 1);
  auto bandwidth = product(*transfers, Rational(*width, 8));
  return {{bandwidth.value_or(16),
           ("link_speed " + digits + " GT/s x" + llvm::Twine(*width)).str()},
          kind};
}

static bool isGpuClass(StringRef pciClass) {
  return pciClass.starts_with("0x03") || pciClass.starts_with("0x12");
}

static bool isNicClass(StringRef pciClass) {
  return pciClass.starts_with("0x02");
}

/// Each device is in one slot. A card that is listed below every CPU is one:
/// its nets tell.
std::optional<Error> NcclReader::takeBusId(const Pci &pci) {
  StringRef busId = pci.node.attribute("busid").value();
  if (pci.node.child("nic") ||
      busIds.insert({pci.box, normalizedBusId(busId)}).second)
    return std::nullopt;
  return xml.error(pci.node,
                   "bus id " + busId +
                       " is given twice; the file is of two hosts with the "
                       "same host_hash, or damaged");
}

void NcclReader::fillSlot(DeviceReading &device, const Pci &pci) {
  auto [rate, kind] = slotRate(pci.node, device.lanes, numAssumedSlots);
  device.host = pci.host;
  device.toHost = rate;
  device.kindToHost = kind;
  device.box = pci.box;
  device.busId = normalizedBusId(pci.node.attribute("busid").value());
}

std::optional<Error> NcclReader::addGpu(pugi::xml_node gpu, const Pci &pci) {
  std::optional<unsigned> dev = wholeNumber(gpu.attribute("dev").value());
  if (!dev)
    return xml.error(gpu, "a <gpu> needs its number, dev=\"N\"");
  if (gpus.size() >= maxGpusOfHost)
    return xml.error(gpu, "too many GPUs for one host");
  DeviceReading device = {*dev, ""};
  StringRef gcn = gpu.attribute("gcn").value();
  StringRef sm = gpu.attribute("sm").value();
  if (!gcn.empty()) {
    // RCCL wrote 910 for MI200 before it wrote gfx90a.
    device.chip = gcn == "910"             ? "gfx90a"
                  : gcn.starts_with("gfx") ? gcn.str()
                                           : ("gfx" + gcn).str();
    reading.vendor = "amd";
  } else if (!sm.empty()) {
    device.chip = ("sm_" + sm).str();
  }
  fillSlot(device, pci);
  gpus.push_back({device, gpu, wholeNumber(gpu.attribute("rank").value()),
                  pci.cpu, unsigned(pci.node.offset_debug())});
  return std::nullopt;
}

/// Several where ranks share a GPU: MIG, MPS, or its dies.
std::optional<Error> NcclReader::addGpus(const Pci &pci) {
  for (pugi::xml_node gpu : pci.node.children("gpu"))
    if (std::optional<Error> error = addGpu(gpu, pci))
      return error;
  return std::nullopt;
}

std::optional<Error> NcclReader::addNets(pugi::xml_node nic, const Pci &pci) {
  for (pugi::xml_node net : nic.children("net")) {
    if (reading.nics.size() >= 4 * maxGpusOfHost)
      return xml.error(net, "too many NICs for one host");
    DeviceReading device = {0, net.attribute("name").value()};
    device.host = pci.host;
    device.box = pci.box;
    if (StringRef(pci.node.name()) == "pci")
      fillSlot(device, pci);
    nets.add(net, device);
  }
  return std::nullopt;
}

/// A device of which only the slot is known.
std::optional<Error> NcclReader::addPciDevice(const Pci &pci) {
  StringRef pciClass = pci.node.attribute("class").value();
  bool isGpu = isGpuClass(pciClass);
  if (!isGpu && !isNicClass(pciClass))
    return std::nullopt;
  std::vector<DeviceReading> &list = isGpu ? pciGpus : pciNics;
  if (list.size() >= 4 * maxGpusOfHost)
    return xml.error(pci.node, "too many devices for one host");
  DeviceReading device = {unsigned(list.size()), ""};
  device.name = (isGpu ? "GPU" : "NIC") + std::to_string(list.size());
  fillSlot(device, pci);
  list.push_back(device);
  if (isGpu && reading.vendor.empty())
    reading.vendor =
        pciClass.starts_with("0x12") ||
                StringRef(pci.node.attribute("vendor").value()) == "0x1002"
            ? "amd"
            : "nvidia";
  return std::nullopt;
}

void NcclReader::enterCpu(Pci &below) {
  std::string hash = below.node.attribute("host_hash").value();
  below.box =
      boxOfHash.try_emplace(hash, unsigned(boxOfHash.size())).first->second;
  below.host = below.cpu = reading.hosts.size();
  std::string numa = below.node.attribute("numaid").value();
  HostReading cpu = {VertexKind::Bridge,
                     "cpu" + std::to_string(numCpusOfBox[below.box]++) +
                         (numa.empty() ? "" : "-numa" + numa),
                     std::nullopt};
  cpu.box = below.box;
  reading.hosts.push_back(cpu);
  ++numCpus;
}

/// A bridge that is given twice in one place is one bridge; in another place it
/// is another one, as virtual machines repeat made-up bus ids.
void NcclReader::enterBridge(const Pci &at, Pci &below) {
  StringRef busId = at.node.attribute("busid").value();
  std::vector<Bridge> &known = bridges[{at.box, normalizedBusId(busId)}];
  auto same = llvm::find_if(
      known, [&](const Bridge &bridge) { return bridge.parent == at.host; });
  if (same != known.end()) {
    reading.assumptions.push_back(
        "bridge " + busId.str() +
        " is given several times in one place: it is one bridge");
    below.host = same->host;
    return;
  }
  std::string name = ("pcie-" + busId).str();
  if (!known.empty()) {
    name += "-" + std::to_string(known.size() + 1);
    reading.assumptions.push_back(
        "bridge " + busId.str() +
        " is given in several places: there is one in each");
  }
  below.host = reading.hosts.size();
  known.push_back({at.host, *below.host});
  HostReading bridge = {VertexKind::Switch, name, at.host};
  auto [rate, kind] = slotRate(at.node, bridge.lanes, numAssumedSlots);
  bridge.toParent = rate;
  bridge.kindToParent = kind;
  bridge.box = at.box;
  reading.hosts.push_back(bridge);
}

std::optional<Error> NcclReader::enterPci(const Pci &at, Pci &below) {
  if (StringRef(at.node.attribute("busid").value()).empty())
    return xml.error(at.node, "a <pci> without busid");
  StringRef pciClass = at.node.attribute("class").value();
  if (at.node.child("gpu") || isGpuClass(pciClass) || isNicClass(pciClass))
    if (std::optional<Error> error = takeBusId(at))
      return error;
  if (std::optional<Error> error = addGpus(at))
    return error;
  if (std::optional<Error> error = addPciDevice(at))
    return error;
  if (at.node.child("pci"))
    enterBridge(at, below);
  return std::nullopt;
}

std::optional<Error> NcclReader::visit(const Pci &at, std::vector<Pci> &stack) {
  StringRef name = at.node.name();
  Pci below = at;
  constexpr unsigned maxDepth = 32;
  if (at.depth > maxDepth)
    return xml.error(at.node, "nested deeper than " + llvm::Twine(maxDepth) +
                                  " levels, which no PCI tree is");
  if (reading.hosts.size() > 4 * maxGpusOfHost)
    return xml.error(at.node, "too many PCI bridges for one host");
  if (name == "cpu")
    enterCpu(below);
  else if (name == "pci")
    if (std::optional<Error> error = enterPci(at, below))
      return error;
  for (pugi::xml_node child : at.node.children()) {
    StringRef kind = child.name();
    if (kind == "nic") {
      Pci parent = name == "cpu" ? below : at;
      if (std::optional<Error> error = addNets(child, parent))
        return error;
      stack.push_back({child, parent.host, below.cpu, below.box, at.depth + 1});
    } else if (kind == "cpu" || kind == "pci") {
      stack.push_back({child, below.host, below.cpu, below.box, at.depth + 1});
    }
  }
  return std::nullopt;
}

std::optional<Error> NcclReader::walk() {
  // Depth first, in the order of the file.
  std::vector<Pci> stack = {{xml.root()}};
  while (!stack.empty()) {
    Pci at = stack.back();
    stack.pop_back();
    std::vector<Pci> children;
    if (std::optional<Error> error = visit(at, children))
      return error;
    stack.insert(stack.end(), children.rbegin(), children.rend());
  }
  return std::nullopt;
}

/// Hosts are numbered by their least ranks, or as the file has them.
void NcclReader::sortBoxes() {
  reading.numBoxes = std::max<unsigned>(1, boxOfHash.size());
  std::vector<unsigned> leastRank(reading.numBoxes, ~0u);
  for (const NcclGpu &gpu : gpus)
    leastRank[gpu.device.box] =
        std::min(leastRank[gpu.device.box], gpu.rank.value_or(~0u));
  std::vector<unsigned> order(reading.numBoxes), newNumber(reading.numBoxes);
  for (unsigned box = 0; box < order.size(); ++box)
    order[box] = box;
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    return leastRank[a] < leastRank[b];
  });
  for (unsigned i = 0; i < order.size(); ++i)
    newNumber[order[i]] = i;
  for (NcclGpu &gpu : gpus)
    gpu.device.box = newNumber[gpu.device.box];
  for (auto *list : {&reading.nics, &pciGpus, &pciNics})
    for (DeviceReading &device : *list)
      device.box = newNumber[device.box];
  for (HostReading &host : reading.hosts)
    host.box = newNumber[host.box];
}

/// Where no net is in a slot, as in a container, those below CPUs are what
/// there is; beside others they are virtual.
void NcclReader::useNetsWithoutSlot() {
  if (reading.nics.empty() ||
      llvm::any_of(reading.nics, [](const auto &nic) { return nic.toHost; }))
    return;
  for (DeviceReading &nic : reading.nics)
    if (nic.host)
      nic.toHost = {16, "assumed: the file does not say in which slot"};
  reading.assumptions.push_back(
      "no net of the file is in a PCIe slot: NICs are taken to be at the first "
      "CPU that the file has them below");
}

/// Elements count if there are any, else PCI devices of their class.
void NcclReader::chooseDevices() {
  if (gpus.empty()) {
    reading.gpus = pciGpus;
    if (!pciGpus.empty())
      reading.warnings.push_back(
          "the file has no <gpu> elements, so it does not say how GPUs are "
          "linked, only their PCIe slots; give nvidia-smi topo -m instead, or "
          "a dump by NCCL (NCCL_TOPO_DUMP_FILE)");
    reading.extras["gpus_from"] = "PCI class";
  } else if (reading.vendor.empty()) {
    reading.vendor = "nvidia";
  }
  if (reading.nics.empty())
    reading.nics = pciNics;
  useNetsWithoutSlot();
  reading.numGpus = reading.gpus.size();
  reading.numNics = reading.nics.size();
  shareSlots(reading);
}

void NcclReader::addExtras() {
  std::set<Rational> speeds;
  for (const DeviceReading &nic : reading.nics)
    if (nic.gbps)
      speeds.insert(*nic.gbps);
  llvm::json::Array array, devs;
  for (const Rational &speed : speeds)
    array.push_back(int64_t(speed.toDouble() * 1000));
  if (!speeds.empty())
    reading.extras["net_speeds_mbps"] = std::move(array);
  for (const NcclGpu &gpu : gpus)
    devs.push_back(gpu.device.number);
  if (!gpus.empty())
    reading.extras["gpu_devs"] = std::move(devs);
  reading.extras["numa_cpus"] = numCpus;
  if (reading.numBoxes > 1)
    reading.extras["hosts"] = reading.numBoxes;
  if (!reading.switches.empty())
    reading.extras["switches"] = reading.switches.size();
}

Result<Reading> NcclReader::run() {
  if (std::optional<Error> error = xml.parse("system"))
    return *error;
  StringRef version = xml.root().attribute("version").value();
  reading.formatDetail =
      (version == "2" ? "rccl xml v" : "nccl topo xml v") + version.str();
  if (std::optional<Error> error = walk())
    return *error;
  nets.finish();
  sortBoxes();
  std::vector<NcclGpu> sorted = numberGpus(gpus, reading);
  chooseDevices();
  if (!gpus.empty())
    if (std::optional<Error> error = readNcclLinks(xml, sorted, reading))
      return *error;
  if (numAssumedSlots)
    reading.assumptions.push_back(
        "PCIe 3 x16 for " + std::to_string(numAssumedSlots) +
        " slots that have no link_speed and link_width in the file");
  addExtras();
  joinNodes(reading);
  return std::move(reading);
}

Result<Reading> import::readNcclXml(const ImportFile &file) {
  return NcclReader(file).run();
}
