//===- SmiTables.h - What AMD's tools say of pairs --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_IMPORT_SMITABLES_H
#define SCCL_LIB_IMPORT_SMITABLES_H

#include "Readers.h"
#include "Text.h"

#include <map>

namespace sccl::import {

/// What is said of one ordered pair of GPUs.
struct SmiPair {
  std::string type, status, bandwidth; ///< as "XGMI", "ENABLED", "50000-50000"
  std::optional<unsigned> weight, hops;
  Place place;
};

/// GPUs, and all ordered pairs of them by index.
struct SmiTables {
  std::vector<DeviceReading> gpus;
  std::map<std::pair<unsigned, unsigned>, SmiPair> pairs;
  std::map<unsigned, unsigned> numa; ///< by number of the GPU
};

/// True for "0000:0c:00.0" and "0c:00.0".
bool isBusId(llvm::StringRef word);

/// "XGMI" for "xgmi"; nothing for what tools print where they do not know.
std::string typeOfLink(llvm::StringRef text);

/// Puts GPUs at bridges of their NUMA nodes, by number of the GPU, and joins
/// these; GPUs that `numa` does not have are on node 0.
void addNumaNodes(Reading &reading, const std::map<unsigned, unsigned> &numa);

/// Makes links of XGMI pairs that are direct: of weight 15, or of one hop where
/// there are no weights. Without types of links, weights tell what is XGMI, or
/// bandwidths; without any of them no links are known. Fails where a pair is
/// said to be joined differently in its two directions.
Result<Reading> readingOfTables(const ImportFile &file, ImportFormat format,
                                SmiTables tables);

} // namespace sccl::import

#endif // SCCL_LIB_IMPORT_SMITABLES_H
