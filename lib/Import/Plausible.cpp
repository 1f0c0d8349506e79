//===- Plausible.cpp - What a machine is unlikely to be -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rate in kbit/s where Mbit/s belong makes a machine that looks fine. What is
// far beyond all devices that there are is flagged, whatever file it is from.
//
//===----------------------------------------------------------------------===//

#include "Readers.h"

#include "sccl/Machine/Units.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace sccl;
using namespace sccl::import;

namespace {
/// About twice what the fastest announced device has, in GB/s.
struct Limits {
  Rational lane, edge;
  const char *what;
};
} // namespace

static Limits limitsOf(const Machine &machine, const Edge &edge) {
  auto isNic = [&](unsigned v) {
    return machine.vertices()[v].kind == VertexKind::Nic;
  };
  if (isHostKind(edge.kind))
    return {1000, 1000, "connection to a host"};
  if (isNic(edge.src) || isNic(edge.dst))
    return {quotient(Rational(maxNicGbps), 8).value_or(400), 1000, "NIC"};
  return {200, 8000, "link"};
}

void import::noteImplausible(Machine &machine) {
  std::map<std::string, unsigned> found;
  for (const Edge &edge : machine.edges()) {
    if (edge.bandwidth.source.starts_with("assumed"))
      continue;
    Limits limits = limitsOf(machine, edge);
    const Rational &rate = edge.bandwidth.value;
    Rational lane = quotient(rate, int64_t(edge.lanes)).value_or(rate);
    if (lane <= limits.lane && rate <= limits.edge)
      continue;
    std::string text = decimalText(rate) + " GB/s";
    if (edge.lanes > 1)
      text += " over " + std::to_string(edge.lanes) + " links";
    ++found[text + " (" + edge.bandwidth.source + ") of " +
            std::string(edge.kind) + ": no " + limits.what +
            " is as fast; are its units right?"];
  }
  for (const auto &[text, count] : found)
    machine.addNote("warning: " + std::to_string(count) + " edges have " +
                    text);
}

using NicsByPlace = std::map<std::optional<unsigned>, std::vector<std::string>>;

static void noteUneven(Machine &machine, const std::vector<unsigned> &gpusBelow,
                       const NicsByPlace &nicsAt) {
  auto perGpu = [&](const auto &place) {
    return Rational(int64_t(place.second.size()), gpusBelow[*place.first]);
  };
  Rational least = 0;
  for (const auto &place : nicsAt)
    if (place.first && (least == Rational(0) || perGpu(place) < least))
      least = perGpu(place);
  if (least == Rational(0))
    return;
  for (const auto &place : nicsAt) {
    // One NIC that is nearer to its GPU than others are is none too many.
    if (place.first && (perGpu(place) == least || place.second.size() == 1))
      continue;
    machine.addNote(
        "warning: " + llvm::join(place.second, ", ") +
        (place.first ? ", at one PCIe switch, " + decimalText(perGpu(place)) +
                           " for each GPU there, where other GPUs have " +
                           decimalText(least)
                     : ", at no PCIe switch of a GPU, where others are") +
        "; if some are for storage, name the other NICs with --nics=NAME,...");
  }
}

void import::noteUnevenNics(Machine &machine, const Reading &reading,
                            const std::vector<const DeviceReading *> &nics) {
  std::vector<unsigned> gpusBelow(reading.hosts.size());
  for (const DeviceReading &gpu : reading.gpus)
    for (std::optional<unsigned> at = gpu.host; at && !gpu.sharedWith;
         at = reading.hosts[*at].parent)
      ++gpusBelow[*at];
  // By the nearest switch with GPUs; nothing for those at CPUs.
  NicsByPlace nicsAt;
  for (const DeviceReading *nic : nics) {
    std::optional<unsigned> at = nic->host;
    while (at && (gpusBelow[*at] == 0 ||
                  reading.hosts[*at].kind != VertexKind::Switch))
      at = reading.hosts[*at].parent;
    bool hasChip = !nic->chip.empty() && nic->chip != nic->name;
    if (nic->box == 0)
      nicsAt[at].push_back(nic->name + (hasChip ? " (" + nic->chip + ")" : ""));
  }
  noteUneven(machine, gpusBelow, nicsAt);
}
