//===- MatrixReading.cpp - From the matrix of topo -m to a reading --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinkGroups.h"
#include "TopoMatrix.h"

#include "sccl/Model/DisjointSets.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

namespace {
class MatrixReader {
public:
  MatrixReader(const Matrix &matrix, Reading &reading)
      : matrix(matrix), reading(reading) {}
  void run();

private:
  bool isGpu(size_t device) const {
    return numberAfter("GPU", matrix.devices[device]).has_value();
  }
  const Cell *cell(size_t a, size_t b) const {
    const auto &there = matrix.cells[a][b], &back = matrix.cells[b][a];
    return there ? &*there : back ? &*back : nullptr;
  }
  void addDevices();
  void addLinks();
  struct Groups;
  Groups groupDevices() const;
  void addHosts();
  unsigned addHost(VertexKind kind, std::string name,
                   std::optional<unsigned> parent);

  const Matrix &matrix;
  Reading &reading;
  std::map<size_t, unsigned> indexOf; ///< of a device in gpus or nics
};
} // namespace

void MatrixReader::addDevices() {
  std::vector<size_t> order(matrix.devices.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    auto number = [&](size_t i) {
      return numberAfter("GPU", matrix.devices[i]).value_or(~0u);
    };
    return number(a) < number(b);
  });
  for (size_t device : order) {
    auto &list = isGpu(device) ? reading.gpus : reading.nics;
    indexOf[device] = list.size();
    DeviceReading entry = {unsigned(list.size()), matrix.devices[device], "",
                           ""};
    if (isGpu(device))
      entry.number = *numberAfter("GPU", matrix.devices[device]);
    else if (auto it = matrix.legend.find(entry.name);
             it != matrix.legend.end())
      entry.chip = it->second;
    list.push_back(entry);
  }
  reading.numGpus = reading.gpus.size();
  reading.numNics = reading.nics.size();
}

void MatrixReader::addLinks() {
  reading.pairs.emplace();
  std::vector<LinkReading> pairs;
  for (size_t a = 0; a < matrix.devices.size(); ++a)
    for (size_t b = a + 1; b < matrix.devices.size(); ++b)
      if (const Cell *joined = cell(a, b);
          joined && joined->links && isGpu(a) && isGpu(b)) {
        auto [least, most] = std::minmax(indexOf[a], indexOf[b]);
        pairs.push_back({least, most, joined->links});
      }
  std::sort(pairs.begin(), pairs.end(),
            [](const LinkReading &a, const LinkReading &b) {
              return std::pair(a.a, a.b) < std::pair(b.a, b.b);
            });
  addPairedLinks(reading, pairs, "NV");
  finishSwitches(reading, "NV");
}

unsigned MatrixReader::addHost(VertexKind kind, std::string name,
                               std::optional<unsigned> parent) {
  reading.hosts.push_back(
      {kind,
       std::move(name),
       parent,
       {32, "assumed: topo -m has no rates of PCIe; as PCIe 4 x16"},
       kind == VertexKind::Bridge ? "host" : "PCIe"});
  return reading.hosts.size() - 1;
}

/// Sets of devices by how near they are to each other.
struct MatrixReader::Groups {
  explicit Groups(size_t count)
      : numa(count), bridge(count), switches(count), oneSwitch(count),
        numDevices(count) {}
  void join(unsigned a, unsigned b, Nearness nearness) {
    if (nearness <= Numa)
      numa.join(a, b);
    if (nearness <= HostBridge)
      bridge.join(a, b);
    if (nearness <= Switches)
      switches.join(a, b);
    if (nearness == OneSwitch)
      oneSwitch.join(a, b);
  }
  /// True for a device on a switch that hangs at another one.
  bool isBelowSwitch(unsigned device) {
    bool hasNeighbour = false, isAll = true;
    for (unsigned other = 0; other < numDevices; ++other) {
      bool isBeside = oneSwitch.first(other) == oneSwitch.first(device);
      hasNeighbour |= isBeside && other != device;
      isAll &= isBeside || switches.first(other) != switches.first(device);
    }
    return hasNeighbour && !isAll;
  }
  DisjointSets numa, bridge, switches, oneSwitch;
  unsigned numDevices;
};

MatrixReader::Groups MatrixReader::groupDevices() const {
  size_t count = matrix.devices.size();
  Groups groups(count);
  for (unsigned a = 0; a < count; ++a)
    for (unsigned b = 0; b < a; ++b) {
      const Cell *joined = cell(a, b);
      if (joined && joined->nearness >= OneSwitch)
        groups.join(a, b, joined->nearness);
      if (isGpu(a) && isGpu(b) && !matrix.numa[a].empty() &&
          matrix.numa[a] == matrix.numa[b])
        groups.join(a, b, Numa);
    }
  return groups;
}

/// PCIe switches below host bridges below NUMA nodes, as far as cells tell:
/// those of PIX below those of PXB.
void MatrixReader::addHosts() {
  Groups groups = groupDevices();
  std::map<size_t, unsigned> numaHost, bridgeHost, switchHost, oneSwitchHost;
  auto hostOf = [&](std::map<size_t, unsigned> &known, size_t group,
                    VertexKind kind, StringRef stem,
                    std::optional<unsigned> parent) {
    auto [it, isNew] = known.try_emplace(group, 0);
    if (isNew)
      it->second =
          addHost(kind, (stem + llvm::Twine(known.size() - 1)).str(), parent);
    return it->second;
  };
  for (unsigned device = 0; device < matrix.devices.size(); ++device) {
    unsigned above = hostOf(numaHost, groups.numa.first(device),
                            VertexKind::Bridge, "numa", std::nullopt);
    above = hostOf(bridgeHost, groups.bridge.first(device), VertexKind::Bridge,
                   "host", above);
    above = hostOf(switchHost, groups.switches.first(device),
                   VertexKind::Switch, "pcie", above);
    if (groups.isBelowSwitch(device))
      above = hostOf(oneSwitchHost, groups.oneSwitch.first(device),
                     VertexKind::Switch, "pix", above);
    auto &list = isGpu(device) ? reading.gpus : reading.nics;
    DeviceReading &entry = list[indexOf[device]];
    entry.host = above;
    entry.toHost = reading.hosts[above].toParent;
  }
  joinNodes(reading);
}

void MatrixReader::run() {
  addDevices();
  if (matrix.isP2p) {
    reading.formatDetail = "nvidia-smi topo -p2p";
    llvm::json::Array states;
    for (const std::string &state : matrix.p2p)
      states.push_back(state);
    reading.extras["p2p"] = std::move(states);
    reading.numNics.reset();
    reading.pairsWithoutAccess = (matrix.numRefused + 1) / 2;
    reading.noMachine =
        "topo -p2p says who may access whom, not by what links; "
        "give nvidia-smi topo -m";
    return;
  }
  addLinks();
  addHosts();
}

Result<Reading> import::readTopoMatrix(const ImportFile &file) {
  Result<Matrix> matrix = parseMatrix(file);
  if (!matrix)
    return Error{matrix.error()};
  Reading reading = {file.path, ImportFormat::TopoMatrix, "nvidia-smi topo -m",
                     "nvidia"};
  MatrixReader(*matrix, reading).run();
  return reading;
}
