//===- PresetBuilder.cpp - Boxes, and networks between them ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PresetBuilder.h"

#include "sccl/Machine/Boxes.h"
#include "sccl/Machine/Units.h"

#include <algorithm>

using namespace sccl;

/// What goes wrong ends the building; the first failure is what is told.
#define SCCL_TRY(expression)                                                   \
  if (auto tried = (expression); !tried)                                       \
    return Error { tried.error() }

static Result<Edge> edgeOf(const PresetLink &link, unsigned src, unsigned dst,
                           unsigned links) {
  auto bandwidth = product(link.perLink, int64_t(links));
  if (!bandwidth)
    return Error{std::to_string(links) + " links of " +
                 decimalText(link.perLink) + " GB/s are too many"};
  return Edge{src,          dst,       {*bandwidth, link.source},
              std::nullopt, link.kind, links};
}

/// Adds the vertices and links of one box; gives its GPUs.
static Result<std::vector<unsigned>> addBox(Machine &machine,
                                            const BoxPlan &box, unsigned number,
                                            unsigned numBoxes) {
  std::vector<unsigned> gpus;
  for (unsigned i = 0; i < box.numGpus; ++i) {
    Result<unsigned> gpu = machine.addVertex(
        {VertexKind::Gpu, vertexName("gpu", i, number, numBoxes), number, "",
         box.chip});
    SCCL_TRY(gpu);
    gpus.push_back(*gpu);
  }
  for (const LinkPair &pair : box.pairs) {
    Result<Edge> edge =
        edgeOf(box.link, gpus[pair.a], gpus[pair.b], pair.links);
    SCCL_TRY(edge);
    SCCL_TRY(machine.addEdgePair(*edge));
  }
  for (unsigned i = 0; i < box.switches; ++i) {
    Result<unsigned> chip = machine.addVertex(
        {VertexKind::Switch, vertexName("switch", i, number, numBoxes), number,
         "", "", box.inNetwork, box.inNetwork});
    SCCL_TRY(chip);
    for (unsigned gpu : gpus) {
      Result<Edge> edge = edgeOf(box.link, gpu, *chip, box.linksPerSwitch);
      SCCL_TRY(edge);
      SCCL_TRY(machine.addEdgePair(*edge));
    }
  }
  return gpus;
}

/// Adds the NICs of a box and joins them to their GPUs; gives the NICs.
static Result<std::vector<unsigned>> addNics(Machine &machine,
                                             const std::vector<unsigned> &gpus,
                                             const NetworkPlan &network,
                                             unsigned box, unsigned numBoxes) {
  std::vector<unsigned> nics;
  for (unsigned i = 0; i * network.gpusPerNic < gpus.size(); ++i) {
    if (!network.nics.empty() &&
        std::find(network.nics.begin(), network.nics.end(), i) ==
            network.nics.end())
      continue;
    Result<unsigned> nic = machine.addVertex(
        {VertexKind::Nic, vertexName("nic", i, box, numBoxes), box});
    SCCL_TRY(nic);
    nics.push_back(*nic);
    for (unsigned j = 0; j < network.gpusPerNic; ++j) {
      size_t index = size_t(i) * network.gpusPerNic + j;
      if (index >= gpus.size())
        break;
      // No narrower than the NIC, which is what the numbers are about.
      Edge edge = {gpus[index],
                   *nic,
                   {network.perNic, "as the NIC"},
                   std::nullopt,
                   "PCIe"};
      if (network.use == NicUse::All || j % 2 == 1)
        SCCL_TRY(machine.addEdge(edge));
      std::swap(edge.src, edge.dst);
      if (network.use == NicUse::All || j % 2 == 0)
        SCCL_TRY(machine.addEdge(edge));
    }
  }
  return nics;
}

Result<Machine> sccl::buildBoxes(std::string name, unsigned numBoxes,
                                 const BoxPlan &box,
                                 const NetworkPlan &network) {
  Machine machine(std::move(name));
  std::vector<std::vector<NetworkPort>> ports;
  for (unsigned number = 0; number < numBoxes; ++number) {
    Result<std::vector<unsigned>> gpus = addBox(machine, box, number, numBoxes);
    SCCL_TRY(gpus);
    if (numBoxes == 1)
      break;
    Result<std::vector<unsigned>> nics =
        addNics(machine, *gpus, network, number, numBoxes);
    SCCL_TRY(nics);
    ports.emplace_back();
    for (unsigned nic : *nics)
      ports.back().emplace_back(nic, Quantity{network.perNic, network.source});
  }
  if (numBoxes > 1)
    if (std::optional<Error> error =
            joinBoxes(machine, ports, network.hasRails, network.kind))
      return *error;
  return machine;
}
