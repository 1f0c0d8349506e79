//===- Readers.h - One reader per format ------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_IMPORT_READERS_H
#define SCCL_LIB_IMPORT_READERS_H

#include "sccl/Import/Import.h"

namespace sccl::import {

Result<Reading> readNcclXml(const ImportFile &file);
/// A reading for each host, or for each NVLink domain of several.
Result<std::vector<Reading>> readNcclLog(const ImportFile &file);
Result<Reading> readTopoMatrix(const ImportFile &file);
Result<Reading> readNvlinkStatus(const ImportFile &file);
Result<Reading> readNvidiaSmiXml(const ImportFile &file);
/// Takes names, bus ids and slots that `box` lacks from a reading of
/// nvidia-smi -q -x. Fails if that has another number of GPUs.
std::optional<Error> applyInventory(Reading &box, const Reading &inventory);
/// rocm-smi and amd-smi; their tables are alike.
Result<Reading> readSmiTables(const ImportFile &file, ImportFormat format);
Result<Reading> readAmdSmiJson(const ImportFile &file);
Result<Reading> readRocmSmiJson(const ImportFile &file);
Result<Reading> readAmdXgmi(const ImportFile &file);
Result<Reading> readHwlocXml(const ImportFile &file);
Result<Reading> readTaccl(const ImportFile &file);
Result<Reading> readTeCcl(const ImportFile &file);
/// Devices may be in other files than what they are used for.
Result<Reading> readInfraGraph(const std::vector<const ImportFile *> &files,
                               const ImportOptions &options);

/// One reading for each box: what nvidia-smi nvlink -s or amd-smi xgmi says of
/// links goes into the reading before it, or the first one. amd-smi xgmi is a
/// box if there is no other output of AMD's tools.
Result<std::vector<Reading>> mergeReadings(std::vector<Reading> readings);

/// Flags bandwidths that no device reaches, in notes of `machine`.
void noteImplausible(Machine &machine);

/// Flags those of `nics`, in the first box, that are more for a GPU than
/// elsewhere, or far from all GPUs: they may be for storage, and would be rails
/// of their own.
void noteUnevenNics(Machine &machine, const Reading &reading,
                    const std::vector<const DeviceReading *> &nics);

/// Most GPUs that the tools of one host can print.
constexpr unsigned maxGpusOfHost = 1024;

/// The kind of links between a GPU and the CPU in its package.
constexpr const char *c2cKind = "C2C";

/// Gb/s of the fastest NIC: twice what is announced.
constexpr int64_t maxNicGbps = 3200;

/// What one link of a GPU carries, as far as its chip tells.
struct LinkRate {
  std::string kind;   ///< as "NVLink4"
  Quantity bandwidth; ///< GB/s of one link in one direction
};

/// By "sm_90", "gfx942" or a product's name; for an unknown chip of `vendor` an
/// assumption, which the source says.
LinkRate linkRateOf(llvm::StringRef vendor, llvm::StringRef chip);

/// True if it is known how many links a GPU of this chip has, and how fast.
bool isKnownChip(llvm::StringRef chip);

/// How many links a GPU can have at most: 18 if the chip is not known.
unsigned maxLinksOf(llvm::StringRef chip);

} // namespace sccl::import

#endif // SCCL_LIB_IMPORT_READERS_H
