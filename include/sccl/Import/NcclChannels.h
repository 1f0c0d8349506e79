//===- NcclChannels.h - Rings and trees that NCCL chose --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_IMPORT_NCCLCHANNELS_H
#define SCCL_IMPORT_NCCLCHANNELS_H

#include "sccl/Import/Import.h"
#include "sccl/Model/Baselines.h"

namespace sccl {

/// The channels of a communicator. Channels that are alike in the same
/// proportion are there once.
struct NcclChannels {
  std::vector<Ring> rings;
  /// Empty if the file does not have all of a tree.
  std::vector<RankTree> trees;
  unsigned numChannels = 0; ///< as NCCL counts them
};

/// Reads the graph that NCCL writes to NCCL_GRAPH_DUMP_FILE, or the log of
/// NCCL_DEBUG=INFO (of a log's communicators the largest one), for `numRanks`
/// ranks. A graph is of one host; for several its rings and chains go through
/// one host after another, as NCCL joins them. Fails, with the place, if the
/// file has no rings or those of another number of ranks.
Result<NcclChannels> readNcclChannels(const ImportFile &file,
                                      unsigned numRanks);

} // namespace sccl

#endif // SCCL_IMPORT_NCCLCHANNELS_H
