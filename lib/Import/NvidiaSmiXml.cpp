//===- NvidiaSmiXml.cpp - nvidia-smi -q -x --------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each GPU is and how wide its slot: names, bus ids, PCIe, MIG, and the
// state of the NVLink fabric. It does not say how GPUs are joined, so it stands
// beside nvidia-smi topo -m.
//
//===----------------------------------------------------------------------===//

#include "PciTree.h"
#include "Readers.h"
#include "Xml.h"

#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

/// GB/s of a slot, before encoding: "5" and "16x" are 64. Nothing for "N/A".
static std::optional<std::pair<Quantity, unsigned>> slotOf(StringRef generation,
                                                           StringRef width) {
  std::optional<unsigned> number = wholeNumber(generation);
  std::optional<unsigned> lanes =
      wholeNumber(width.ends_with("x") ? width.drop_back() : width);
  if (!number || *number < 1 || *number > pciGenerations().size() || !lanes ||
      *lanes < 1 || *lanes > 32)
    return std::nullopt;
  Rational rate = pciGenerations()[*number - 1].transfers;
  return std::pair(
      Quantity{Rational(rate.numerator() * *lanes, rate.denominator() * 8),
               "PCIe " + std::to_string(*number) + " x" +
                   std::to_string(*lanes) + " in nvidia-smi -q"},
      *lanes);
}

/// What is worth a warning of a GPU that stands in `xml`.
static void addDoubts(pugi::xml_node gpu, const std::string &name,
                      Reading &reading) {
  StringRef mig = gpu.child("mig_mode").child_value("current_mig");
  if (mig == "Enabled")
    reading.warnings.push_back(
        name + " is cut into instances (MIG), which are counted as one GPU");
  StringRef fabric = gpu.child("fabric").child_value("state");
  if (fabric == "In Progress" || fabric == "Not Started")
    reading.warnings.push_back(name + " has not joined the NVLink fabric (" +
                               fabric.str() +
                               "): is nvidia-fabricmanager running?");
  pugi::xml_node widths =
      gpu.child("pci").child("pci_gpu_link_info").child("link_widths");
  StringRef now = widths.child_value("current_link_width");
  StringRef most = widths.child_value("max_link_width");
  if (wholeNumber(now.drop_back(now.ends_with("x"))) && now != most)
    reading.warnings.push_back(name + " uses " + now.str() + " of " +
                               most.str() + " lanes of PCIe");
}

Result<Reading> import::readNvidiaSmiXml(const ImportFile &file) {
  XmlFile xml(file);
  if (std::optional<Error> error = xml.parse("nvidia_smi_log"))
    return *error;
  Reading reading = {file.path, ImportFormat::NvidiaSmiXml, "nvidia-smi -q -x",
                     "nvidia"};
  std::set<std::string> busIds;
  for (pugi::xml_node gpu : xml.root().children("gpu")) {
    if (reading.gpus.size() >= maxGpusOfHost)
      return xml.error(gpu, "too many GPUs for one host");
    auto number = unsigned(reading.gpus.size());
    DeviceReading device = {number, "GPU" + std::to_string(number)};
    StringRef id = gpu.attribute("id").value();
    if (id.empty())
      return xml.error(gpu, "a <gpu> without its bus id, id=\"...\"");
    device.busId = normalizedBusId(id);
    if (!busIds.insert(device.busId).second)
      return xml.error(gpu, "bus id " + id + " is given twice");
    device.chip = gpu.child_value("product_name");
    pugi::xml_node link = gpu.child("pci").child("pci_gpu_link_info");
    if (auto slot =
            slotOf(link.child("pcie_gen").child_value("max_link_gen"),
                   link.child("link_widths").child_value("max_link_width"))) {
      device.toHost = slot->first;
      device.lanes = slot->second;
    }
    addDoubts(gpu, device.name, reading);
    reading.gpus.push_back(std::move(device));
  }
  reading.numGpus = reading.gpus.size();
  reading.noMachine = "it says what GPUs there are, not how they are joined; "
                      "give the output of nvidia-smi topo -m beside it";
  return reading;
}

std::optional<Error> import::applyInventory(Reading &box,
                                            const Reading &inventory) {
  if (inventory.gpus.size() != box.gpus.size())
    return Error{inventory.path + ": " + std::to_string(inventory.gpus.size()) +
                 " GPUs, where " + box.path + " has " +
                 std::to_string(box.gpus.size()) +
                 "; are they of the same host?"};
  for (size_t i = 0; i < box.gpus.size(); ++i) {
    DeviceReading &gpu = box.gpus[i];
    const DeviceReading &known = inventory.gpus[i];
    gpu.busId = gpu.busId.empty() ? known.busId : gpu.busId;
    gpu.chip = gpu.chip.empty() ? known.chip : gpu.chip;
    if (!known.toHost || !gpu.toHost ||
        !StringRef(gpu.toHost->source).starts_with("assumed"))
      continue;
    gpu.toHost = known.toHost;
    gpu.lanes = known.lanes;
  }
  box.warnings.insert(box.warnings.end(), inventory.warnings.begin(),
                      inventory.warnings.end());
  return std::nullopt;
}
