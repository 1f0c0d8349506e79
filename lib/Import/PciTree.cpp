//===- PciTree.cpp - What devices share on their way to a CPU -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PciTree.h"

#include "sccl/Machine/Units.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace sccl;
using namespace sccl::import;

llvm::ArrayRef<PciGeneration> import::pciGenerations() {
  static const PciGeneration generations[] = {
      {Rational(5, 2), 0.8}, {5, 0.8},          {8, 128.0 / 130},
      {16, 128.0 / 130},     {32, 128.0 / 130}, {64, 128.0 / 130},
      {128, 128.0 / 130},
  };
  return generations;
}

std::optional<PciSlot> import::pciSlotOf(llvm::StringRef gigabytes) {
  constexpr double exactness = 1e-3; // relative
  double value;
  if (gigabytes.getAsDouble(value) || !(value > 0))
    return std::nullopt;
  for (unsigned lanes : {16, 12, 8, 4, 2, 1})
    for (auto [index, generation] : llvm::enumerate(pciGenerations())) {
      const auto &[transfers, encoding] = generation;
      double rate = transfers.toDouble() * lanes / 8;
      if (std::abs(rate * encoding / value - 1) < exactness)
        return PciSlot{{*product(transfers, Rational(lanes, 8)),
                        ("pci_link_speed " + gigabytes).str()},
                       "PCIe" + std::to_string(index + 1),
                       lanes};
    }
  return std::nullopt;
}

/// The narrower of two slots, of which one may not be known.
static const std::optional<PciSlot> &narrower(const std::optional<PciSlot> &a,
                                              const std::optional<PciSlot> &b) {
  if (!a || !b)
    return a ? a : b;
  return b->rate.value < a->rate.value ? b : a;
}

size_t PciTree::add(std::optional<size_t> parent, unsigned host,
                    std::string busId, std::optional<PciSlot> slot) {
  objects.push_back({parent, host, std::move(busId), std::move(slot)});
  return objects.size() - 1;
}

static const PciSlot assumedSlot = {{32, "assumed: PCIe 4 x16"}, "PCIe", 1};

void PciTree::place(std::vector<HostReading> &hosts) {
  for (size_t i = objects.size(); i-- > 0;)
    if (const Object &object = objects[i];
        object.parent && (object.isDevice || object.devices > 0))
      ++objects[*object.parent].devices;
  for (Object &object : objects) {
    const Object *above = object.parent ? &objects[*object.parent] : nullptr;
    object.hostBelow = above ? above->hostBelow : object.host;
    object.slotBelow =
        above ? narrower(above->slotBelow, object.slot) : object.slot;
    if (object.isDevice || object.devices < 2)
      continue;
    PciSlot slot = object.slotBelow.value_or(assumedSlot);
    hosts.push_back({VertexKind::Switch, "pcie-" + object.busId,
                     object.hostBelow, slot.rate, slot.kind, slot.lanes});
    object.hostBelow = unsigned(hosts.size() - 1);
    object.slotBelow.reset();
  }
}

void PciTree::attach(DeviceReading &device, size_t number) const {
  const Object &object = objects[number];
  PciSlot slot = object.slotBelow.value_or(assumedSlot);
  device.host = object.hostBelow;
  device.toHost = slot.rate;
  device.kindToHost = slot.kind;
  device.lanes = slot.lanes;
}
