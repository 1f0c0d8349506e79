//===- NcclXml.cpp - Topologies that NCCL and RCCL dump -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// system > cpu > pci > ... > gpu with its nvlink or xgmi links, or nic > net.
// Files that clouds ship for their virtual machines have no gpu elements: GPUs
// are PCI devices of their class then, and nothing is known of their links.
//
//===----------------------------------------------------------------------===//

#include "Model/XmlRules.h"
#include "Readers.h"
#include "Xml.h"

#include "sccl/Machine/Units.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>
#include <set>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

std::optional<Error> XmlFile::parse(StringRef root) {
  pugi::xml_parse_result result =
      document.load_buffer(file.text.data(), file.text.size(), xmlParsing);
  if (!result)
    return errorAt(file.path, placeAt(file.text, size_t(result.offset)),
                   "no XML: " + StringRef(result.description()).lower());
  if (!document.document_element())
    return errorAt(file.path, {1, 1}, "no XML: no document element found");
  std::optional<Error> wrong;
  checkXmlRules(document, file.text, [&](size_t offset, std::string message) {
    if (!wrong)
      wrong = errorAt(file.path, placeAt(file.text, offset), message);
  });
  if (wrong)
    return wrong;
  if (document.document_element().name() == root)
    return std::nullopt;
  return errorAt(file.path, place(document.document_element()),
                 "expected an element <" + root + ">, got <" +
                     document.document_element().name() + ">");
}

namespace {
/// A PCI element, and what it is in.
struct Pci {
  pugi::xml_node node;
  std::optional<unsigned> host; ///< index in `Reading::hosts`
  unsigned depth = 0;
};

class NcclReader {
public:
  explicit NcclReader(const ImportFile &file)
      : xml(file), reading{file.path, ImportFormat::NcclXml, "", ""} {}
  Result<Reading> run();

private:
  std::optional<Error> walk();
  std::optional<Error> visit(const Pci &at, std::vector<Pci> &stack);
  std::optional<Error> addGpu(pugi::xml_node gpu, const Pci &pci);
  std::optional<Error> addPciDevice(const Pci &pci);
  std::optional<Error> addNet(pugi::xml_node net, const Pci &pci);
  std::optional<Error> takeBusId(pugi::xml_node pci);
  void sortGpus();
  std::optional<Error> addLinks();
  std::optional<Error> addLink(unsigned gpu, pugi::xml_node link);
  std::optional<Error> checkBothWays();
  void chooseDevices();
  void addExtras();
  void joinCpus();

  XmlFile xml;
  Reading reading;
  std::vector<pugi::xml_node> gpuNodes; ///< of reading.gpus
  std::vector<DeviceReading> pciGpus, pciNics;
  std::map<std::string, unsigned> gpuOfBusId, switchOfBusId;
  std::set<std::string> busIds;
  std::map<std::pair<unsigned, unsigned>, std::pair<unsigned, pugi::xml_node>>
      links; ///< of ordered pairs of GPUs
  unsigned numCpus = 0, numCpuLinks = 0;
  unsigned numAssumedSlots = 0;
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
  for (auto [rate, generation] : {std::pair(Rational(5, 2), "1"),
                                  {5, "2"},
                                  {8, "3"},
                                  {16, "4"},
                                  {32, "5"},
                                  {64, "6"}})
    if (*transfers == rate)
      kind += generation;
  auto bandwidth = product(*transfers, Rational(*width, 8));
  return {{bandwidth.value_or(16),
           ("link_speed " + digits + " GT/s x" + llvm::Twine(*width)).str()},
          kind};
}

static bool isGpuClass(StringRef pciClass) {
  return pciClass.starts_with("0x03") || pciClass.starts_with("0x12");
}

std::optional<Error> NcclReader::takeBusId(pugi::xml_node pci) {
  StringRef busId = pci.attribute("busid").value();
  if (busId.empty())
    return xml.error(pci, "a <pci> without busid");
  if (busIds.insert(normalizedBusId(busId)).second)
    return std::nullopt;
  return xml.error(pci, "bus id " + busId +
                            " is there twice; the file is of two hosts, or "
                            "damaged");
}

std::optional<Error> NcclReader::addGpu(pugi::xml_node gpu, const Pci &pci) {
  std::optional<unsigned> dev = wholeNumber(gpu.attribute("dev").value());
  if (!dev)
    return xml.error(gpu, "a <gpu> needs its number, dev=\"N\"");
  if (reading.gpus.size() >= maxGpusOfHost)
    return xml.error(gpu, "too many GPUs for one host");
  DeviceReading device = {*dev, "GPU" + std::to_string(*dev)};
  device.busId = normalizedBusId(pci.node.attribute("busid").value());
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
  auto [rate, kind] = slotRate(pci.node, device.lanes, numAssumedSlots);
  device.host = pci.host;
  device.toHost = rate;
  device.kindToHost = kind;
  reading.gpus.push_back(device);
  gpuNodes.push_back(gpu);
  return std::nullopt;
}

std::optional<Error> NcclReader::addNet(pugi::xml_node net, const Pci &pci) {
  if (reading.nics.size() >= 4 * maxGpusOfHost)
    return xml.error(net, "too many NICs for one host");
  auto index = unsigned(reading.nics.size());
  DeviceReading nic = {index, net.attribute("name").value()};
  if (nic.name.empty())
    nic.name = "net" + std::to_string(index);
  nic.chip = nic.name;
  if (std::optional<unsigned> speed =
          wholeNumber(net.attribute("speed").value());
      speed && *speed > 0)
    nic.gbps = Rational(*speed, 1000);
  nic.host = pci.host;
  if (StringRef(pci.node.name()) == "pci") {
    // Two ports of a card share its slot, which is wide enough for them.
    auto [rate, kind] = slotRate(pci.node, nic.lanes, numAssumedSlots);
    nic.toHost = rate;
    nic.kindToHost = kind;
  }
  reading.nics.push_back(nic);
  return std::nullopt;
}

/// A device of which only the slot is known.
std::optional<Error> NcclReader::addPciDevice(const Pci &pci) {
  StringRef pciClass = pci.node.attribute("class").value();
  bool isGpu = isGpuClass(pciClass), isNic = pciClass.starts_with("0x02");
  if (!isGpu && !isNic)
    return std::nullopt;
  std::vector<DeviceReading> &list = isGpu ? pciGpus : pciNics;
  if (list.size() >= 4 * maxGpusOfHost)
    return xml.error(pci.node, "too many devices for one host");
  DeviceReading device = {unsigned(list.size()), ""};
  device.name = (isGpu ? "GPU" : "NIC") + std::to_string(list.size());
  device.busId = normalizedBusId(pci.node.attribute("busid").value());
  auto [rate, kind] = slotRate(pci.node, device.lanes, numAssumedSlots);
  device.host = pci.host;
  device.toHost = rate;
  device.kindToHost = kind;
  list.push_back(device);
  if (isGpu && reading.vendor.empty())
    reading.vendor =
        pciClass.starts_with("0x12") ||
                StringRef(pci.node.attribute("vendor").value()) == "0x1002"
            ? "amd"
            : "nvidia";
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
  if (name == "cpu") {
    below.host = reading.hosts.size();
    std::string numa = at.node.attribute("numaid").value();
    reading.hosts.push_back({VertexKind::Bridge,
                             "cpu" + std::to_string(numCpus++) +
                                 (numa.empty() ? "" : "-numa" + numa),
                             std::nullopt});
  } else if (name == "pci") {
    if (std::optional<Error> error = takeBusId(at.node))
      return error;
    pugi::xml_node gpu = at.node.child("gpu");
    if (gpu) {
      if (std::optional<Error> error = addGpu(gpu, at))
        return error;
    }
    if (std::optional<Error> error = addPciDevice(at))
      return error;
    if (at.node.child("pci")) {
      unsigned lanes = 1;
      auto [rate, kind] = slotRate(at.node, lanes, numAssumedSlots);
      below.host = reading.hosts.size();
      reading.hosts.push_back(
          {VertexKind::Switch,
           std::string("pcie-") + at.node.attribute("busid").value(), at.host,
           rate, kind, lanes});
    }
  }
  for (pugi::xml_node child : at.node.children()) {
    StringRef kind = child.name();
    if (kind == "cpu" || kind == "pci" || kind == "nic")
      stack.push_back(
          {child, kind == "nic" ? at.host : below.host, at.depth + 1});
    if (kind == "nic")
      for (pugi::xml_node net : child.children("net"))
        if (std::optional<Error> error = addNet(net, at))
          return error;
  }
  return std::nullopt;
}

std::optional<Error> NcclReader::walk() {
  // Depth first, in the order of the file.
  std::vector<Pci> stack = {{xml.root(), std::nullopt}};
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

/// By number of the device, which links are said in.
void NcclReader::sortGpus() {
  std::vector<unsigned> order(reading.gpus.size());
  for (unsigned i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
    return reading.gpus[a].number < reading.gpus[b].number;
  });
  std::vector<DeviceReading> gpus;
  std::vector<pugi::xml_node> nodes;
  llvm::json::Array inFile;
  for (const DeviceReading &gpu : reading.gpus)
    inFile.push_back(gpu.number);
  if (!gpuNodes.empty())
    reading.extras["gpu_devs"] = std::move(inFile);
  for (unsigned i : order) {
    gpus.push_back(reading.gpus[i]);
    nodes.push_back(gpuNodes[i]);
  }
  reading.gpus = std::move(gpus);
  gpuNodes = std::move(nodes);
}

std::optional<Error> NcclReader::addLink(unsigned gpu, pugi::xml_node link) {
  StringRef name = link.name();
  if (name != "nvlink" && name != "xgmi")
    return std::nullopt;
  std::optional<unsigned> count = wholeNumber(link.attribute("count").value());
  if (!count || *count == 0 || *count > 64)
    return xml.error(link, "a <" + name +
                               "> needs its number of links, "
                               "count=\"N\", from 1 to 64");
  std::string target = normalizedBusId(link.attribute("target").value());
  StringRef targetClass = link.attribute("tclass").value();
  if (targetClass.starts_with("0x068001")) {
    ++numCpuLinks;
    return std::nullopt;
  }
  if (targetClass.starts_with("0x0680")) {
    auto [it, isNew] =
        switchOfBusId.try_emplace(target, unsigned(reading.switches.size()));
    if (isNew)
      reading.switches.push_back("nvswitch" +
                                 std::to_string(reading.switches.size()));
    reading.switchLinks.push_back({gpu, it->second, *count});
    return std::nullopt;
  }
  auto other = gpuOfBusId.find(target);
  if (other == gpuOfBusId.end()) {
    reading.warnings.push_back(reading.gpus[gpu].name + " has " +
                               std::to_string(*count) + " links to " + target +
                               ", which is not in the file (" +
                               xml.place(link).str() + "): left out");
    return std::nullopt;
  }
  if (other->second == gpu)
    return xml.error(link, "a link of a GPU to itself");
  auto [it, isNew] =
      links.try_emplace({gpu, other->second}, std::pair(*count, link));
  if (!isNew)
    it->second.first += *count;
  return std::nullopt;
}

std::optional<Error> NcclReader::checkBothWays() {
  for (const auto &[ends, said] : links) {
    auto back = links.find({ends.second, ends.first});
    unsigned backCount = back == links.end() ? 0 : back->second.first;
    if (backCount != said.first)
      return xml.error(
          said.second,
          reading.gpus[ends.first].name + " has " + llvm::Twine(said.first) +
              " links to " + reading.gpus[ends.second].name + ", which has " +
              llvm::Twine(backCount) + " back; dump the topology again");
    if (ends.first < ends.second)
      reading.pairs->push_back({ends.first, ends.second, said.first});
  }
  return std::nullopt;
}

std::optional<Error> NcclReader::addLinks() {
  if (reading.gpus.empty() || gpuNodes.empty())
    return std::nullopt;
  for (unsigned i = 0; i < reading.gpus.size(); ++i) {
    if (i > 0 && reading.gpus[i].number == reading.gpus[i - 1].number)
      return xml.error(gpuNodes[i], "a second GPU with dev=\"" +
                                        llvm::Twine(reading.gpus[i].number) +
                                        "\"");
    gpuOfBusId[reading.gpus[i].busId] = i;
  }
  reading.pairs.emplace();
  for (unsigned i = 0; i < reading.gpus.size(); ++i)
    for (pugi::xml_node link : gpuNodes[i].children())
      if (std::optional<Error> error = addLink(i, link))
        return error;
  reading.hasSwitch = !reading.switches.empty();
  std::vector<unsigned> perGpu(reading.gpus.size());
  for (const LinkReading &link : reading.switchLinks)
    perGpu[link.a] += *link.links;
  if (*reading.hasSwitch) {
    reading.linksPerGpu = *std::max_element(perGpu.begin(), perGpu.end());
    for (unsigned i = 0; i < perGpu.size(); ++i)
      if (perGpu[i] < *reading.linksPerGpu)
        reading.warnings.push_back(
            reading.gpus[i].name + " has " + std::to_string(perGpu[i]) +
            " links where others have " + std::to_string(*reading.linksPerGpu) +
            ": is it degraded?");
  }
  if (numCpuLinks)
    reading.warnings.push_back(std::to_string(numCpuLinks) +
                               " NVLinks lead to CPUs: not used");
  return checkBothWays();
}

/// Elements count if there are any, else PCI devices of their class.
void NcclReader::chooseDevices() {
  if (reading.gpus.empty()) {
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
  reading.numGpus = reading.gpus.size();
  reading.numNics = reading.nics.size();
}

void NcclReader::addExtras() {
  std::set<Rational> speeds;
  for (const DeviceReading &nic : reading.nics)
    if (nic.gbps)
      speeds.insert(*nic.gbps);
  llvm::json::Array array;
  for (const Rational &speed : speeds)
    array.push_back(int64_t(speed.toDouble() * 1000));
  if (!speeds.empty())
    reading.extras["net_speeds_mbps"] = std::move(array);
  reading.extras["numa_cpus"] = numCpus;
  if (!reading.switches.empty())
    reading.extras["switches"] = reading.switches.size();
}

/// CPUs are joined to each other by something that no file says.
void NcclReader::joinCpus() {
  std::optional<unsigned> first;
  for (unsigned i = 0; i < reading.hosts.size(); ++i) {
    HostReading &host = reading.hosts[i];
    if (host.kind != VertexKind::Bridge)
      continue;
    if (first) {
      host.parent = first;
      host.toParent = {32, "assumed: the file does not say how CPUs are "
                           "joined"};
      host.kindToParent = "host";
    }
    first = first ? first : i;
  }
}

Result<Reading> NcclReader::run() {
  if (std::optional<Error> error = xml.parse("system"))
    return *error;
  StringRef version = xml.root().attribute("version").value();
  reading.formatDetail =
      (version == "2" ? "rccl xml v" : "nccl topo xml v") + version.str();
  if (std::optional<Error> error = walk())
    return *error;
  sortGpus();
  chooseDevices();
  if (std::optional<Error> error = addLinks())
    return *error;
  if (numAssumedSlots)
    reading.assumptions.push_back(
        "PCIe 3 x16 for " + std::to_string(numAssumedSlots) +
        " slots that have no link_speed and link_width in the file");
  addExtras();
  joinCpus();
  return std::move(reading);
}

Result<Reading> import::readNcclXml(const ImportFile &file) {
  return NcclReader(file).run();
}
