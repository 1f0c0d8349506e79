//===- NcclGraph.h - Rings for NCCL -----------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The XML that NCCL reads from NCCL_GRAPH_FILE: in which order the rings of a
// host visit its GPUs.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_EXCHANGE_NCCLGRAPH_H
#define SCCL_EXCHANGE_NCCLGRAPH_H

#include "sccl/Model/Result.h"
#include "sccl/Model/Schedule.h"

namespace sccl::exchange {

/// The rings that chunks go round in `schedule`, each with a channel of
/// `gigabytesPerSecond`. Fails if the way of a chunk is no ring through all
/// ranks.
Result<std::string> toNcclGraph(const Collective &collective,
                                const Schedule &schedule,
                                double gigabytesPerSecond);

} // namespace sccl::exchange

#endif // SCCL_EXCHANGE_NCCLGRAPH_H
