//===- PciTree.h - What devices share on their way to a CPU -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_IMPORT_PCITREE_H
#define SCCL_LIB_IMPORT_PCITREE_H

#include "Readers.h"

#include <optional>
#include <string>
#include <vector>

namespace sccl::import {

/// Of PCIe.
struct PciGeneration {
  Rational transfers; ///< GT/s of a lane; each transfer is a bit
  double encoding;    ///< bits of payload per bit
};
/// All of them, the first one at 0.
llvm::ArrayRef<PciGeneration> pciGenerations();

/// How wide a slot is.
struct PciSlot {
  Quantity rate;    ///< GB/s, before encoding
  std::string kind; ///< as "PCIe4"
  unsigned lanes;
};

/// What hwloc's `pci_link_speed` says, which is GB/s after encoding:
/// "31.507692" is PCIe 4 x16, 32 GB/s before encoding. Of slots that are as
/// fast the one of most lanes. Nothing for "0.000000", and for what no slot
/// has.
std::optional<PciSlot> pciSlotOf(llvm::StringRef gigabytes);

/// Bridges and devices as hwloc nests them: each port of a switch is a bridge.
/// Those that lead to several devices become switches of a reading.
class PciTree {
public:
  /// An object in the bridge `parent`, or right below the `host` of a reading.
  /// Returns its number; numbers ascend.
  size_t add(std::optional<size_t> parent, unsigned host, std::string busId,
             std::optional<PciSlot> slot);
  void markDevice(size_t number) { objects[number].isDevice = true; }
  /// Adds switches to `hosts`. To be called once, when all is there.
  void place(std::vector<HostReading> &hosts);
  /// Tells a device where it hangs, and how wide the narrowest slot up to there
  /// is; an assumption where the file has no speeds. To be called after place.
  void attach(DeviceReading &device, size_t number) const;

private:
  struct Object {
    std::optional<size_t> parent;
    unsigned host;
    std::string busId;
    std::optional<PciSlot> slot;
    bool isDevice = false;
    unsigned devices = 0; ///< children that are devices, or lead to some
    /// Of what is below it, and how wide the slots up to there are.
    unsigned hostBelow = 0;
    std::optional<PciSlot> slotBelow = {};
  };
  std::vector<Object> objects;
};

} // namespace sccl::import

#endif // SCCL_LIB_IMPORT_PCITREE_H
