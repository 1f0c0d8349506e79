//===- NcclSystem.cpp - The machine that a log of NCCL has ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tree for each CPU:
//
//   CPU/0-0 (1/2/-1)
//   + PCI[48.0] - PCI/0-65000 (1000c03010000000)
//                 + PCI[48.0] - NIC/0-67000
//                               + NET[50.0] - NET/0-0 (0/d4f9fc/1/50.000000)
//                 + PCI[48.0] - GPU/0-68000 (0)
//                               + NVL[370.8] - NVS/0-0
//   + SYS[16.0] - CPU/0-1
//
// What is below a vertex is indented deeper; behind GPUs are their ranks, and
// before all ids is the number of a host. Rates are those that NCCL counts
// with: 20.6 GB/s for an NVLink of 25, for example. From NCCL 2.29 on, links
// are those of a vertex DEV, which GPUs are local to.
//
//===----------------------------------------------------------------------===//

#include "NcclSystem.h"

#include "LinkGroups.h"

#include "sccl/Machine/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>
#include <numeric>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

namespace {
/// "+ PCI[48.0] - GPU/0-68000 (0)", or "CPU/0 (1/2/-1)" without a link.
struct Entry {
  size_t indent = 0;
  StringRef link, kind, id, detail; ///< PCI, GPU, 0-68000, 0
  Rational rate = 0;
  Place place;
};

/// What NCCL counts for an NVLink of a chip, in GB/s.
struct CountedLink {
  Rational rate;
  const char *chip; ///< empty: of more than one
};

class SystemReader {
public:
  explicit SystemReader(const ImportFile &file)
      : file(file), reading{file.path, ImportFormat::NcclLog, "nccl log",
                            "nvidia"} {}
  Result<NcclSystem> run(const std::vector<LogLine> &lines);

private:
  std::optional<Error> add(const Entry &entry);
  std::optional<Error> addVertex(const Entry &entry);
  std::optional<Error> addCpu(const Entry &entry);
  std::optional<Error> addGpu(const Entry &entry);
  std::optional<Error> addLocal(const Entry &entry);
  void addNet(const Entry &entry);
  std::optional<Error> addNvlink(const Entry &entry);
  std::optional<Error> takeLinks();
  LinkReading countLinks(unsigned a, unsigned b, const Rational &rate);
  void sortGpus();
  void joinCpus();
  unsigned boxOf(StringRef id) {
    std::string host = id.contains('-') ? id.split('-').first.str() : "";
    return boxes.try_emplace(host, unsigned(boxes.size())).first->second;
  }
  Quantity counted(const Rational &rate) const {
    // No slot is that slow: bridges of virtual machines say so. 5000 is what
    // NCCL counts where it does not know.
    if (rate < Rational(1) || rate == Rational(5000))
      return {32, "assumed: the log has " + decimalText(rate) + " GB/s"};
    return {rate, "as NCCL counts it"};
  }
  Error errorAt(Place place, const llvm::Twine &message) const {
    return import::errorAt(file.path, place, message);
  }

  /// A vertex that is being described, and where its line begins.
  struct Open {
    size_t indent;
    StringRef kind;
    std::optional<unsigned> host; ///< to which what is below it is joined
    std::optional<unsigned> gpu;
    Rational rate; ///< to `host`
  };

  const ImportFile &file;
  Reading reading;
  std::vector<Open> open;
  std::map<std::string, unsigned> cpus, gpuOfId, switchOfId;
  std::map<std::pair<unsigned, unsigned>, Rational> cpuRates;
  struct Nvlink {
    unsigned gpu;
    std::string kind, id;
    Rational rate;
    Place place;
  };
  std::vector<Nvlink> nvlinks, toCpus;
  std::map<std::string, unsigned> boxes;      ///< by NCCL's number of the host
  std::vector<std::optional<unsigned>> ranks; ///< by GPU
  std::set<unsigned> localTo; ///< GPUs that are a DEV with a rank on it
};
} // namespace

/// Reads a line of the tree; nothing if it is none.
static std::optional<Entry> parseEntry(const LogLine &line) {
  StringRef text = line.text;
  Entry entry;
  entry.indent = text.find_first_not_of(' ');
  text = text.trim();
  entry.place = line.place;
  if (text.consume_front("+ ")) {
    auto [link, rest] = text.split(" - ");
    auto [kind, rate] = link.split('[');
    if (!rate.consume_back("]"))
      return std::nullopt;
    Result<Rational> value = parseDecimal(rate.str());
    if (!value || *value <= Rational(0))
      return std::nullopt;
    entry.link = kind;
    entry.rate = *value;
    text = rest;
  }
  auto [name, detail] = text.split(' ');
  std::tie(entry.kind, entry.id) = name.split('/');
  entry.detail = detail.trim();
  entry.detail.consume_front("(");
  entry.detail = entry.detail.take_until([](char c) { return c == ')'; });
  if (entry.kind.empty() || entry.id.empty())
    return std::nullopt;
  return entry;
}

/// "68000", or "0-68000" with the number of the host before: a bus id without
/// its colons.
static std::string busIdOf(StringRef id) {
  if (id.contains('-'))
    id = id.split('-').second;
  uint64_t bits;
  if (id.getAsInteger(16, bits))
    return "";
  auto part = [&](unsigned shift, uint64_t mask, unsigned digits) {
    return llvm::utohexstr((bits >> shift) & mask, /*LowerCase=*/true, digits);
  };
  return part(20, 0xffff, 4) + ":" + part(12, 0xff, 2) + ":" +
         part(4, 0xff, 2) + "." + part(0, 0xf, 1);
}

std::optional<Error> SystemReader::addCpu(const Entry &entry) {
  auto [it, isNew] = cpus.try_emplace(entry.id.str(), reading.hosts.size());
  if (isNew)
    reading.hosts.push_back({VertexKind::Bridge,
                             "cpu" + std::to_string(cpus.size() - 1),
                             std::nullopt});
  reading.hosts[it->second].box = boxOf(entry.id);
  if (entry.link.empty())
    open.push_back({entry.indent, entry.kind, it->second, std::nullopt, 0});
  else if (!open.empty() && open.back().host && *open.back().host != it->second)
    cpuRates[std::minmax(*open.back().host, it->second)] = entry.rate;
  return std::nullopt;
}

std::optional<Error> SystemReader::addGpu(const Entry &entry) {
  if (reading.gpus.size() >= maxGpusOfHost)
    return errorAt(entry.place, "too many GPUs for one host");
  auto index = unsigned(reading.gpus.size());
  if (!gpuOfId.try_emplace(entry.id.str(), index).second)
    return errorAt(entry.place,
                   entry.kind + "/" + entry.id + " is given twice");
  DeviceReading gpu = {index};
  gpu.busId = busIdOf(entry.id);
  gpu.host = open.back().host;
  gpu.toHost = counted(entry.rate);
  gpu.box = boxOf(entry.id);
  reading.gpus.push_back(std::move(gpu));
  // The number of a DEV is of its kind, and no rank.
  ranks.push_back(entry.kind == "GPU" ? wholeNumber(entry.detail)
                                      : std::nullopt);
  open.push_back({entry.indent, entry.kind, std::nullopt, index, 0});
  return std::nullopt;
}

/// "+ LOC[5000.0] - GPU/0-68000": the first rank on a DEV is the DEV itself,
/// others share its links.
std::optional<Error> SystemReader::addLocal(const Entry &entry) {
  if (open.empty() || !open.back().gpu)
    return std::nullopt; // between bridges of PCIe
  unsigned device = *open.back().gpu;
  if (entry.kind == "DEV") {
    nvlinks.push_back(
        {device, entry.kind.str(), entry.id.str(), entry.rate, entry.place});
    return std::nullopt;
  }
  if (!localTo.insert(device).second) {
    DeviceReading gpu = reading.gpus[device];
    gpu.number = reading.gpus.size();
    gpu.sharedWith = device;
    reading.gpus.push_back(std::move(gpu));
    ranks.push_back(std::nullopt);
  }
  return std::nullopt;
}

/// "NET/0-c (0/d4f9fc0003ae6d94/1/50.000000)": the last number is its GB/s.
void SystemReader::addNet(const Entry &entry) {
  auto index = unsigned(reading.nics.size());
  DeviceReading nic = {index, "net" + std::to_string(index)};
  Result<Rational> rate = parseDecimal(entry.detail.rsplit('/').second.str());
  nic.gbps = product(rate ? *rate : entry.rate, 8);
  nic.box = boxOf(entry.id);
  if (!open.empty() && open.back().kind == "NIC") {
    nic.host = open.back().host;
    nic.toHost = counted(open.back().rate);
  }
  reading.nics.push_back(std::move(nic));
}

std::optional<Error> SystemReader::addNvlink(const Entry &entry) {
  // A CPU names its links, too.
  if (!open.empty() && open.back().kind == "CPU")
    return std::nullopt;
  if (open.empty() || !open.back().gpu)
    return errorAt(entry.place, "an NVLink of no GPU");
  Nvlink link = {*open.back().gpu, entry.kind.str(), entry.id.str(), entry.rate,
                 entry.place};
  if (entry.kind == "CPU" || entry.kind == "CXB")
    toCpus.push_back(link);
  else
    nvlinks.push_back(link);
  return std::nullopt;
}

/// A vertex of PCIe: a switch, a card or a GPU.
std::optional<Error> SystemReader::addVertex(const Entry &entry) {
  if (open.empty() || !open.back().host)
    return errorAt(entry.place, "expected what " + entry.kind + "/" + entry.id +
                                    " is joined to before it");
  if (entry.rate < Rational(1))
    reading.warnings.push_back(
        (entry.kind + "/" + entry.id + " is joined by " +
         decimalText(entry.rate) +
         " GB/s, as bridges of virtual machines say: 32 assumed")
            .str());
  if (entry.kind == "GPU" || entry.kind == "DEV")
    return addGpu(entry);
  if (entry.kind == "NIC") {
    open.push_back(
        {entry.indent, entry.kind, open.back().host, std::nullopt, entry.rate});
    return std::nullopt;
  }
  if (entry.kind != "PCI")
    return errorAt(entry.place, "a vertex of kind '" + entry.kind +
                                    "', which this reader does not know");
  if (reading.hosts.size() > 4 * maxGpusOfHost)
    return errorAt(entry.place, "too many PCI bridges for one host");
  auto host = unsigned(reading.hosts.size());
  reading.hosts.push_back({VertexKind::Switch, "pcie-" + busIdOf(entry.id),
                           open.back().host, counted(entry.rate), "PCIe"});
  reading.hosts.back().box = boxOf(entry.id);
  open.push_back({entry.indent, entry.kind, host, std::nullopt, entry.rate});
  return std::nullopt;
}

std::optional<Error> SystemReader::add(const Entry &entry) {
  while (!open.empty() && open.back().indent >= entry.indent &&
         !(open.back().kind == "CPU" && !entry.link.empty()))
    open.pop_back();
  if (entry.kind == "CPU" &&
      (entry.link.empty() || entry.link == "SYS" || entry.link == "QPI"))
    return addCpu(entry);
  if (entry.link == "LOC")
    return addLocal(entry);
  if (entry.link == "NVL" || entry.link == "C2C")
    return addNvlink(entry);
  // GIN and RMA are other uses of a NET.
  if (entry.link == "NET") {
    if (entry.kind == "NET")
      addNet(entry);
    return std::nullopt;
  }
  return addVertex(entry);
}

/// How many links of a known chip make this rate, else the rate itself.
LinkReading SystemReader::countLinks(unsigned a, unsigned b,
                                     const Rational &rate) {
  static const CountedLink known[] = {{Rational(103, 5), "sm_90"},
                                      {20, ""},
                                      {Rational(401, 10), "sm_100"},
                                      {18, "sm_60"},
                                      {12, "sm_86"}};
  for (const CountedLink &link : known)
    for (unsigned links = 1; links <= maxLinksOf(link.chip); ++links) {
      if (product(link.rate, int64_t(links)) != rate)
        continue;
      if (*link.chip)
        reading.gpus[a].chip = link.chip;
      return {a, b, links};
    }
  return {a, b, std::nullopt, counted(rate)};
}

std::optional<Error> SystemReader::takeLinks() {
  reading.pairs.emplace();
  std::map<std::pair<unsigned, unsigned>, Nvlink> between;
  for (const Nvlink &link : nvlinks) {
    if (link.kind == "NVS") {
      auto [it, isNew] =
          switchOfId.try_emplace(link.id, unsigned(reading.switches.size()));
      if (isNew)
        reading.switches.push_back("nvswitch" + std::to_string(it->second));
      reading.switchLinks.push_back(
          countLinks(link.gpu, it->second, link.rate));
      continue;
    }
    auto other = gpuOfId.find(link.id);
    bool isGpu = link.kind == "GPU" || link.kind == "DEV";
    if (!isGpu || other == gpuOfId.end() || other->second == link.gpu)
      return errorAt(link.place, "an NVLink to " + link.kind + "/" + link.id +
                                     ", which is no other GPU of this host");
    between.try_emplace({link.gpu, other->second}, link);
  }
  for (const auto &[ends, link] : between) {
    auto back = between.find({ends.second, ends.first});
    if (back == between.end() || back->second.rate != link.rate)
      return errorAt(link.place, "the NVLinks between " +
                                     reading.gpus[ends.first].name + " and " +
                                     reading.gpus[ends.second].name +
                                     " are not the same the other way");
    if (ends.first < ends.second)
      reading.pairs->push_back(countLinks(ends.first, ends.second, link.rate));
  }
  reading.hasSwitch = !reading.switches.empty();
  for (const LinkReading &link : reading.switchLinks)
    reading.linksPerGpu =
        std::max(reading.linksPerGpu.value_or(0), link.links.value_or(0));
  return std::nullopt;
}

/// Orders GPUs by their ranks, within hosts by their least ranks; those that
/// have none stay as the log has them.
void SystemReader::sortGpus() {
  std::vector<unsigned> least(boxes.size(), ~0u), order(ranks.size()),
      boxOrder(boxes.size()), newBox(boxes.size()), newGpu(ranks.size());
  for (unsigned i = 0; i < ranks.size(); ++i)
    least[reading.gpus[i].box] =
        std::min(least[reading.gpus[i].box], ranks[i].value_or(~0u));
  std::iota(order.begin(), order.end(), 0);
  std::iota(boxOrder.begin(), boxOrder.end(), 0);
  llvm::stable_sort(
      boxOrder, [&](unsigned a, unsigned b) { return least[a] < least[b]; });
  for (unsigned i = 0; i < boxOrder.size(); ++i)
    newBox[boxOrder[i]] = i;
  for (auto *list : {&reading.gpus, &reading.nics})
    for (DeviceReading &device : *list)
      device.box = newBox[device.box];
  for (HostReading &host : reading.hosts)
    host.box = newBox[host.box];
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    return std::pair(reading.gpus[a].box, ranks[a].value_or(~0u)) <
           std::pair(reading.gpus[b].box, ranks[b].value_or(~0u));
  });
  std::vector<DeviceReading> sorted;
  std::vector<unsigned> numGpus(boxes.size());
  for (unsigned old : order) {
    newGpu[old] = sorted.size();
    DeviceReading &gpu = sorted.emplace_back(std::move(reading.gpus[old]));
    gpu.number = numGpus[gpu.box]++;
    gpu.name = "GPU" + std::to_string(gpu.number);
  }
  reading.gpus = std::move(sorted);
  for (DeviceReading &gpu : reading.gpus)
    if (gpu.sharedWith)
      gpu.sharedWith = newGpu[*gpu.sharedWith];
  noteShared(reading);
  for (Nvlink &link : nvlinks)
    link.gpu = newGpu[link.gpu];
  for (auto &[id, gpu] : gpuOfId)
    gpu = newGpu[gpu];
  for (const Nvlink &link : toCpus) {
    unsigned gpu = newGpu[link.gpu];
    if (auto cpu = cpus.find(link.id); link.kind == "CPU" && cpu != cpus.end())
      addHostLink(reading,
                  {gpu, cpu->second, std::nullopt, counted(link.rate)});
    else
      reading.warnings.push_back("links of " + nameOfGpu(reading, gpu) +
                                 " to " + link.kind + "/" + link.id +
                                 " are not used");
  }
}

/// Readings hold a tree: the first CPU of a host is its root.
void SystemReader::joinCpus() {
  std::map<unsigned, std::optional<unsigned>> firstOf;
  for (unsigned i = 0; i < reading.hosts.size(); ++i) {
    HostReading &host = reading.hosts[i];
    std::optional<unsigned> &first = firstOf[host.box];
    if (host.kind != VertexKind::Bridge)
      continue;
    if (first) {
      auto rate = cpuRates.find(std::minmax(*first, i));
      host.parent = first;
      host.toParent =
          rate != cpuRates.end()
              ? counted(rate->second)
              : Quantity{32, "assumed: the log does not say how CPUs are "
                             "joined"};
      host.kindToParent = "host";
    }
    first = first ? first : i;
  }
}

Result<NcclSystem> SystemReader::run(const std::vector<LogLine> &lines) {
  for (const LogLine &line : lines) {
    std::optional<Entry> entry = parseEntry(line);
    if (!entry)
      return errorAt(line.place, "expected a line of the topology, such as "
                                 "'+ PCI[24.0] - GPU/1B000 (0)'; was the log "
                                 "cut?");
    if (std::optional<Error> error = add(*entry))
      return *error;
  }
  reading.numBoxes = std::max<unsigned>(1, boxes.size());
  sortGpus();
  if (std::optional<Error> error = takeLinks())
    return *error;
  joinCpus();
  reading.numGpus = reading.gpus.size();
  reading.numNics = reading.nics.size();
  if (reading.numBoxes > 1)
    reading.extras["hosts"] = reading.numBoxes;
  reading.assumptions.push_back(
      "rates of PCIe and between CPUs are those that NCCL counts with; "
      "NVLinks are counted by them and have the rate of their chip");
  NcclSystem system;
  for (const std::optional<unsigned> &rank : ranks)
    if (rank)
      system.ranks.insert(*rank);
  system.reading = std::move(reading);
  return system;
}

Result<NcclSystem> import::readNcclSystem(const ImportFile &file,
                                          const std::vector<LogLine> &lines) {
  return SystemReader(file).run(lines);
}
