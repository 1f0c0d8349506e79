//===- NcclXml.h - Parts of a reader of NCCL's topologies -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_IMPORT_NCCLXML_H
#define SCCL_LIB_IMPORT_NCCLXML_H

#include "Readers.h"
#include "Xml.h"

#include <map>

namespace sccl::import {

/// A <gpu> element, which is a rank.
struct NcclGpu {
  DeviceReading device;
  pugi::xml_node node;
  std::optional<unsigned> rank, cpu; ///< `cpu`: index in `Reading::hosts`
  unsigned slot;                     ///< those of one <pci> have the same
};

/// `gpus` sorted by box and number: that of the file, or where one repeats in a
/// box its ranks in order. They are the GPUs of `reading`; those in one slot
/// share it with the first of them.
std::vector<NcclGpu> numberGpus(std::vector<NcclGpu> gpus, Reading &reading);

/// Adds what <nvlink>, <xgmi> and <c2c> say of the GPUs of `reading`, of which
/// `gpus` are the elements in the same order. Fails where two GPUs disagree
/// about the links between them.
std::optional<Error> readNcclLinks(const XmlFile &xml,
                                   const std::vector<NcclGpu> &gpus,
                                   Reading &reading);

/// The NICs of a file, each once, although a net may be listed below every CPU.
class NcclNets {
public:
  explicit NcclNets(Reading &reading) : reading(reading) {}
  /// Adds what `net` says to the NIC `nic`, of which the slot is known, if any.
  void add(pugi::xml_node net, DeviceReading nic);
  /// Says what was repeated or unlikely. To be called when all are there.
  void finish();

private:
  Reading &reading;
  std::map<std::vector<std::string>, unsigned> known;
  unsigned numRepeated = 0;
  std::vector<std::string> inSmallUnits, impossible;
};

/// Gives a switch to devices of `reading` that are functions of one card, or
/// ports of it: they share its slot.
void shareSlots(Reading &reading);

} // namespace sccl::import

#endif // SCCL_LIB_IMPORT_NCCLXML_H
