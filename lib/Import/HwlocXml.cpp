//===- HwlocXml.cpp - What lstopo saves -----------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library of Debian 12 refuses files of hwloc 3, which people have, so the
// parts that matter are read here: bridges and devices, and matrices of
// bandwidths between objects.
//
//===----------------------------------------------------------------------===//

#include "LinkGroups.h"
#include "PciTree.h"
#include "Readers.h"
#include "Xml.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>
#include <set>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

namespace {
/// A matrix of bandwidths in MB/s between objects.
struct Distances {
  std::vector<std::string> objects; ///< as "OSDev:332"
  std::vector<uint64_t> values;     ///< row by row
};

class HwlocReader {
public:
  explicit HwlocReader(const ImportFile &file)
      : xml(file), reading{file.path, ImportFormat::HwlocXml, "", ""} {}
  Result<Reading> run();

private:
  /// An object, the PCI device that it is in, and its place in the tree.
  struct At {
    pugi::xml_node object, pci;
    unsigned package = 0; ///< index in `Reading::hosts`
    std::optional<size_t> place = {};
  };
  std::optional<Error> walk();
  void enter(At &at);
  std::optional<Error> visit(const At &at);
  std::optional<Error> addGpu(const At &at);
  std::optional<Error> addGpu(pugi::xml_node pci, size_t place,
                              const std::string &chip);
  std::optional<Error> addNic(const At &at, bool isFabric);
  std::optional<Error> chooseDevices();
  Result<Distances> readMatrix(pugi::xml_node node) const;
  std::optional<Error> addMatrix(const Distances &distances,
                                 pugi::xml_node node);
  void addLink(const std::string &a, const std::string &b, uint64_t megabytes);
  void countSwitchLinks();
  void warnOfHalves();

  XmlFile xml;
  Reading reading;
  std::map<std::string, unsigned> gpuOfObject, switchOfObject;
  std::map<std::string, unsigned> gpuOfBusId;
  struct Package {
    std::string name;
    unsigned host; ///< index in `Reading::hosts`
  };
  std::map<std::string, Package> packageOfObject;
  PciTree tree;
  std::vector<size_t> gpuPlaces; ///< of reading.gpus
  /// Devices of the vendors of GPUs and of a class that GPUs have.
  std::vector<At> likeGpus;
  struct Nic {
    std::string name, busId;
    size_t place;
    bool isFabric; ///< of OpenFabrics: InfiniBand, RoCE, EFA
  };
  std::map<std::string, size_t> nicOfBusId; ///< number in `nics`
  std::vector<Nic> nics;
  llvm::json::Array pairsInMegabytes, cpuLinks;
  std::set<uint64_t> rates;
};
} // namespace

/// "OSDev:332", as matrices name objects.
static std::string objectKey(pugi::xml_node object) {
  return std::string(object.attribute("type").value()) + ":" +
         object.attribute("gp_index").value();
}

/// True for names of drivers of GPUs: "cuda0", "nvml3", "rsmi1". Other devices
/// with class display are screens.
static bool isGpuDevice(StringRef name) {
  for (StringRef stem : {"cuda", "nvml", "rsmi", "opencl", "ze"})
    if (name.starts_with(stem) && name.size() > stem.size() &&
        llvm::isDigit(name[stem.size()]))
      return true;
  return false;
}

/// "nvidia", "amd" or nothing, by a name.
static std::string vendorOf(StringRef name) {
  bool isAmd = name.contains_insensitive("advanced micro") ||
               name.contains_insensitive("amd");
  return name.contains_insensitive("nvidia") ? "nvidia" : isAmd ? "amd" : "";
}

/// True for "0302 [10de:3182] ...": class display or accelerator, of those who
/// make GPUs. Others with these classes are screens of servers.
static bool isLikeGpu(StringRef pciType) {
  bool isClass = pciType.starts_with("03") || pciType.starts_with("12");
  return isClass && (pciType.contains("[10de:") || pciType.contains("[1002:"));
}

std::optional<Error> HwlocReader::addGpu(pugi::xml_node pci, size_t place,
                                         const std::string &chip) {
  if (reading.gpus.size() >= maxGpusOfHost)
    return xml.error(pci, "too many GPUs for one host");
  DeviceReading gpu = {unsigned(reading.gpus.size()), ""};
  gpu.name = "GPU" + std::to_string(gpu.number);
  gpu.busId = normalizedBusId(pci.attribute("pci_busid").value());
  gpu.chip = chip;
  reading.gpus.push_back(gpu);
  gpuPlaces.push_back(place);
  tree.markDevice(place);
  return std::nullopt;
}

std::optional<Error> HwlocReader::addGpu(const At &at) {
  std::string chip;
  for (pugi::xml_node info : at.object.children("info")) {
    StringRef key = info.attribute("name").value();
    StringRef value = info.attribute("value").value();
    if (key == "GPUModel")
      chip = value.str();
    if (key == "GPUVendor" && reading.vendor.empty())
      reading.vendor = vendorOf(value);
  }
  // Each driver names the same GPU.
  auto [it, isNew] = gpuOfBusId.try_emplace(
      at.pci.attribute("pci_busid").value(), unsigned(reading.gpus.size()));
  gpuOfObject[objectKey(at.object)] = it->second;
  gpuOfObject[objectKey(at.pci)] = it->second;
  if (isNew)
    return addGpu(at.pci, *at.place, chip);
  if (reading.gpus[it->second].chip.empty())
    reading.gpus[it->second].chip = chip;
  return std::nullopt;
}

/// A card may have several devices: its OpenFabrics name is the one that other
/// tools print.
std::optional<Error> HwlocReader::addNic(const At &at, bool isFabric) {
  if (nics.size() >= 4 * maxGpusOfHost)
    return xml.error(at.object, "too many NICs for one host");
  std::string name = at.object.attribute("name").value();
  std::string busId = at.pci.attribute("pci_busid").value();
  auto [it, isNew] = nicOfBusId.try_emplace(busId, nics.size());
  if (isNew)
    nics.push_back({name, normalizedBusId(busId), *at.place, isFabric});
  Nic &nic = nics[it->second];
  if (isFabric && !nic.isFabric) {
    nic.name = name;
    nic.isFabric = true;
  }
  for (pugi::xml_node info : at.object.children("info")) {
    StringRef key = info.attribute("name").value();
    if (key.consume_front("Port") && key.consume_back("State") &&
        StringRef(info.attribute("value").value()) != "4")
      reading.warnings.push_back(name + ": port " + key.str() +
                                 " is not active");
  }
  return std::nullopt;
}

std::optional<Error> HwlocReader::visit(const At &at) {
  StringRef type = at.object.attribute("type").value();
  if (type == "PCIDev" &&
      StringRef(at.object.attribute("subtype").value()) == "NVSwitch") {
    switchOfObject[objectKey(at.object)] = reading.switches.size();
    reading.switches.push_back("nvswitch" +
                               std::to_string(reading.switches.size()));
  }
  if (type == "PCIDev" && isLikeGpu(at.object.attribute("pci_type").value()))
    likeGpus.push_back(at);
  if (type != "OSDev" || !at.pci)
    return std::nullopt;
  // Network and OpenFabrics are numbers of hwloc 2, and bits of 3.
  auto kind = wholeNumber(at.object.attribute("osdev_type").value());
  bool isOld =
      !StringRef(xml.root().attribute("version").value()).starts_with("3");
  bool isNetwork = kind && (isOld ? *kind == 2 : (*kind & 16) != 0);
  bool isFabric = kind && (isOld ? *kind == 3 : (*kind & 32) != 0);
  if (isNetwork || isFabric)
    if (std::optional<Error> error = addNic(at, isFabric))
      return error;
  return isGpuDevice(at.object.attribute("name").value()) ? addGpu(at)
                                                          : std::nullopt;
}

/// Packages, bridges and devices are what the things in them are in.
void HwlocReader::enter(At &at) {
  StringRef type = at.object.attribute("type").value();
  std::string busId = at.object.attribute("pci_busid").value();
  if (type == "Package") {
    at.package = reading.hosts.size();
    packageOfObject[objectKey(at.object)] = {
        std::string("Package ") + at.object.attribute("os_index").value(),
        at.package};
    reading.hosts.push_back(
        {VertexKind::Bridge,
         "package" + std::to_string(reading.hosts.size() - 1),
         0,
         {32, "assumed: the file does not say how CPUs are joined"},
         "host"});
  } else if (type == "PCIDev" || (type == "Bridge" && !busId.empty())) {
    at.place =
        tree.add(at.place, at.package, busId,
                 pciSlotOf(at.object.attribute("pci_link_speed").value()));
    if (type == "PCIDev")
      at.pci = at.object;
  }
}

std::optional<Error> HwlocReader::walk() {
  // What is outside all packages hangs on the machine.
  reading.hosts.push_back({VertexKind::Bridge, "machine", std::nullopt});
  std::vector<At> stack = {{xml.root(), {}}};
  while (!stack.empty()) {
    At at = stack.back();
    stack.pop_back();
    enter(at);
    if (std::optional<Error> error = visit(at))
      return error;
    std::vector<At> children;
    for (pugi::xml_node child : at.object.children("object"))
      children.push_back({child, at.pci, at.package, at.place});
    stack.insert(stack.end(), children.rbegin(), children.rend());
  }
  return chooseDevices();
}

/// GPUs are those that a driver knows, else PCI devices that look like some.
/// Where a host has NICs of OpenFabrics, its others are for managing.
std::optional<Error> HwlocReader::chooseDevices() {
  if (reading.gpus.empty() && !likeGpus.empty()) {
    reading.warnings.push_back("no driver of GPUs was there when the file was "
                               "written: GPUs are PCI devices of their class");
    for (const At &at : likeGpus) {
      if (std::optional<Error> error = addGpu(at.pci, *at.place, ""))
        return error;
      bool isAmd =
          StringRef(at.pci.attribute("pci_type").value()).contains("[1002:");
      reading.vendor = isAmd ? "amd" : "nvidia";
    }
  }
  bool hasFabric =
      llvm::any_of(nics, [](const Nic &nic) { return nic.isFabric; });
  std::vector<size_t> places;
  for (const Nic &nic : nics)
    if (nic.isFabric || !hasFabric) {
      reading.nics.push_back(
          {unsigned(reading.nics.size()), nic.name, nic.busId, nic.name});
      places.push_back(nic.place);
      tree.markDevice(nic.place);
    }
  tree.place(reading.hosts);
  for (auto [gpu, place] : llvm::zip(reading.gpus, gpuPlaces))
    tree.attach(gpu, place);
  for (auto [nic, place] : llvm::zip(reading.nics, places))
    tree.attach(nic, place);
  return std::nullopt;
}

Result<Distances> HwlocReader::readMatrix(pugi::xml_node node) const {
  Distances distances;
  for (pugi::xml_node child : node.children()) {
    llvm::SmallVector<StringRef> words;
    StringRef text = child.child_value();
    text.split(words, ' ', -1, /*KeepEmpty=*/false);
    bool isIndexes = StringRef(child.name()) == "indexes";
    for (StringRef word : words) {
      uint64_t value;
      if (isIndexes)
        distances.objects.push_back(word.trim().str());
      else if (word.trim().getAsInteger(10, value))
        return xml.error(child, "'" + word + "' is no number");
      else
        distances.values.push_back(value);
    }
  }
  size_t count = distances.objects.size();
  if (count > 4 * maxGpusOfHost || distances.values.size() != count * count)
    return xml.error(node, "a matrix of " + llvm::Twine(count) +
                               " objects with " +
                               llvm::Twine(distances.values.size()) +
                               " values; is the file cut?");
  return distances;
}

void HwlocReader::addLink(const std::string &a, const std::string &b,
                          uint64_t megabytes) {
  auto gpu = gpuOfObject.find(a), other = gpuOfObject.find(b);
  if (gpu == gpuOfObject.end())
    return;
  Quantity rate = {Rational(int64_t(megabytes), 1000), "matrix of the file"};
  if (other != gpuOfObject.end() && gpu->second < other->second) {
    reading.pairs->push_back({gpu->second, other->second, std::nullopt, rate});
    pairsInMegabytes.push_back(
        llvm::json::Array{gpu->second, other->second, int64_t(megabytes)});
  } else if (auto chip = switchOfObject.find(b); chip != switchOfObject.end()) {
    rates.insert(megabytes);
    reading.switchLinks.push_back(
        {gpu->second, chip->second, std::nullopt, rate});
  } else if (auto package = packageOfObject.find(b);
             package != packageOfObject.end()) {
    cpuLinks.push_back(llvm::json::Array{gpu->second, package->second.name,
                                         int64_t(megabytes)});
    addHostLink(reading,
                {gpu->second, package->second.host, std::nullopt, rate});
  }
}

std::optional<Error> HwlocReader::addMatrix(const Distances &distances,
                                            pugi::xml_node node) {
  size_t count = distances.objects.size();
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < count; ++j) {
      uint64_t value = distances.values[i * count + j];
      // The diagonal says how fast an object reaches itself.
      if (i == j || value == 0)
        continue;
      if (value > 100000000)
        return xml.error(node, "a bandwidth of " + llvm::Twine(value) +
                                   " MB/s; are its units others?");
      if (distances.values[j * count + i] != value)
        return xml.error(node,
                         distances.objects[i] + " and " + distances.objects[j] +
                             " are said to be joined by " + llvm::Twine(value) +
                             " and by " +
                             llvm::Twine(distances.values[j * count + i]) +
                             " MB/s, by direction");
      addLink(distances.objects[i], distances.objects[j], value);
    }
  return std::nullopt;
}

void HwlocReader::countSwitchLinks() {
  if (reading.switchLinks.empty())
    return;
  reading.hasSwitch = true;
  // What all bandwidths are multiples of is one link.
  uint64_t least = *rates.begin();
  bool areMultiples =
      llvm::all_of(rates, [&](uint64_t rate) { return rate % least == 0; });
  if (!areMultiples)
    return;
  std::vector<unsigned> perGpu(reading.gpus.size());
  for (LinkReading &link : reading.switchLinks) {
    auto rate = link.bandwidth->value;
    link.links = unsigned(rate.toDouble() * 1000 / double(least) + 0.5);
    perGpu[link.a] += *link.links;
  }
  reading.linksPerGpu = *std::max_element(perGpu.begin(), perGpu.end());
  reading.extras["mbps_per_link"] = int64_t(least);
  reading.extras["switches"] = reading.switches.size();
  reading.assumptions.push_back("one link is " + std::to_string(least) +
                                " MB/s, the least between a GPU and a switch");
}

/// Switches of one board know their GPUs; what joins boards is in no matrix.
void HwlocReader::warnOfHalves() {
  std::map<unsigned, std::set<unsigned>> gpusOf;
  for (const LinkReading &link : reading.switchLinks)
    gpusOf[link.b].insert(link.a);
  std::set<std::set<unsigned>> boards;
  for (const auto &[chip, gpus] : gpusOf)
    boards.insert(gpus);
  if (boards.size() > 1)
    reading.warnings.push_back(
        "the matrix has " + std::to_string(boards.size()) +
        " groups of GPUs on switches of their own; links between the switches "
        "are not in such files, so the groups meet over PCIe here; if this is "
        "a DGX-2, use the machine dgx2");
}

Result<Reading> HwlocReader::run() {
  if (std::optional<Error> error = xml.parse("topology"))
    return *error;
  StringRef version = xml.root().attribute("version").value();
  reading.formatDetail = ("hwloc xml v" + version).str();
  if (std::optional<Error> error = walk())
    return *error;
  reading.pairs.emplace();
  bool hasMatrix = false;
  for (pugi::xml_node node : xml.root().children()) {
    StringRef name = node.attribute("name").value();
    if (name != "NVLinkBandwidth" && name != "XGMIBandwidth")
      continue;
    hasMatrix = true;
    reading.vendor = name == "XGMIBandwidth" ? "amd" : "nvidia";
    Result<Distances> distances = readMatrix(node);
    if (!distances)
      return Error{distances.error()};
    if (std::optional<Error> error = addMatrix(*distances, node))
      return *error;
  }
  if (!hasMatrix) {
    reading.pairs.reset();
    reading.warnings.push_back(
        "the file has no matrix of bandwidths between GPUs, so it does not say "
        "whether NVLink or xGMI joins them: only PCIe is used; a tool of the "
        "vendor says more, as nvidia-smi topo -m does");
  } else {
    reading.hasSwitch = false;
  }
  reading.numGpus = reading.gpus.size();
  reading.numNics = nics.size();
  countSwitchLinks();
  warnOfHalves();
  if (!pairsInMegabytes.empty())
    reading.extras["nvlink_pairs_mbps"] = std::move(pairsInMegabytes);
  if (!cpuLinks.empty())
    reading.extras["cpu_nvlink_mbps"] = std::move(cpuLinks);
  return std::move(reading);
}

Result<Reading> import::readHwlocXml(const ImportFile &file) {
  return HwlocReader(file).run();
}
