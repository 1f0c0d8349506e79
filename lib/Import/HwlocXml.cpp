//===- HwlocXml.cpp - What lstopo saves -----------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library of Debian 12 refuses files of hwloc 3, which people have, so the
// two parts that matter are read here: devices below PCI objects, and matrices
// of bandwidths between objects.
//
//===----------------------------------------------------------------------===//

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
  std::optional<Error> walk();
  std::optional<Error> visit(pugi::xml_node object, unsigned package,
                             pugi::xml_node pci);
  std::optional<Error> addGpu(pugi::xml_node osDevice, pugi::xml_node pci,
                              unsigned package);
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
  std::map<std::string, std::string> packageOfObject; ///< to its name
  std::set<std::string> nicBusIds;
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

std::optional<Error> HwlocReader::addGpu(pugi::xml_node osDevice,
                                         pugi::xml_node pci, unsigned package) {
  // Each driver names the same GPU.
  std::string busId = pci.attribute("pci_busid").value();
  auto [it, isNew] =
      gpuOfBusId.try_emplace(busId, unsigned(reading.gpus.size()));
  gpuOfObject[objectKey(osDevice)] = it->second;
  gpuOfObject[objectKey(pci)] = it->second;
  StringRef chip;
  for (pugi::xml_node info : osDevice.children("info")) {
    StringRef key = info.attribute("name").value();
    StringRef value = info.attribute("value").value();
    if (key == "GPUModel")
      chip = value;
    if (key == "GPUVendor" && reading.vendor.empty())
      reading.vendor = value.contains_insensitive("nvidia") ? "nvidia"
                       : value.contains_insensitive("advanced micro") ||
                               value.contains_insensitive("amd")
                           ? "amd"
                           : "";
  }
  if (isNew) {
    if (reading.gpus.size() >= maxGpusOfHost)
      return xml.error(pci, "too many GPUs for one host");
    DeviceReading gpu = {it->second, "GPU" + std::to_string(it->second),
                         normalizedBusId(busId), chip.str()};
    gpu.host = package;
    gpu.toHost = Quantity{32, "assumed: PCIe 4 x16"};
    reading.gpus.push_back(gpu);
  } else if (reading.gpus[it->second].chip.empty()) {
    reading.gpus[it->second].chip = chip.str();
  }
  return std::nullopt;
}

std::optional<Error> HwlocReader::visit(pugi::xml_node object, unsigned package,
                                        pugi::xml_node pci) {
  StringRef type = object.attribute("type").value();
  if (type == "PCIDev" &&
      StringRef(object.attribute("subtype").value()) == "NVSwitch") {
    switchOfObject[objectKey(object)] = reading.switches.size();
    reading.switches.push_back("nvswitch" +
                               std::to_string(reading.switches.size()));
  }
  if (type != "OSDev" || !pci)
    return std::nullopt;
  StringRef name = object.attribute("name").value();
  // Network and OpenFabrics are numbers of hwloc 2, and bits of 3.
  auto kind = wholeNumber(object.attribute("osdev_type").value());
  bool isOld =
      !StringRef(xml.root().attribute("version").value()).starts_with("3");
  if (kind && (isOld ? *kind == 2 || *kind == 3 : (*kind & 48) != 0))
    nicBusIds.insert(pci.attribute("pci_busid").value());
  return isGpuDevice(name) ? addGpu(object, pci, package) : std::nullopt;
}

std::optional<Error> HwlocReader::walk() {
  struct At {
    pugi::xml_node object, pci;
    unsigned package;
  };
  // What is outside all packages hangs on the machine.
  reading.hosts.push_back({VertexKind::Bridge, "machine", std::nullopt});
  std::vector<At> stack = {{xml.root(), {}, 0}};
  while (!stack.empty()) {
    At at = stack.back();
    stack.pop_back();
    StringRef type = at.object.attribute("type").value();
    if (type == "Package") {
      packageOfObject[objectKey(at.object)] =
          std::string("Package ") + at.object.attribute("os_index").value();
      at.package = reading.hosts.size();
      reading.hosts.push_back(
          {VertexKind::Bridge,
           "package" + std::to_string(reading.hosts.size() - 1),
           0,
           {32, "assumed: the file does not say how CPUs are joined"},
           "host"});
    }
    if (type == "PCIDev")
      at.pci = at.object;
    if (std::optional<Error> error = visit(at.object, at.package, at.pci))
      return error;
    std::vector<At> children;
    for (pugi::xml_node child : at.object.children("object"))
      children.push_back({child, at.pci, at.package});
    stack.insert(stack.end(), children.rbegin(), children.rend());
  }
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
    cpuLinks.push_back(
        llvm::json::Array{gpu->second, package->second, int64_t(megabytes)});
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
    reading.warnings.push_back("the file has no matrix of bandwidths between "
                               "GPUs: only PCIe is used");
  } else {
    reading.hasSwitch = false;
  }
  reading.numGpus = reading.gpus.size();
  reading.numNics = nicBusIds.size();
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
