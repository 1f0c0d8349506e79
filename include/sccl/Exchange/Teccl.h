//===- Teccl.h - Schedules of TE-CCL ----------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The JSON files that TE-CCL writes. What they do is in sentences: "Chunk 0
// from 3 traveled over 3->2 in epoch 0 via switches 17", and what was asked for
// in "6-Demand_Met".
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_EXCHANGE_TECCL_H
#define SCCL_EXCHANGE_TECCL_H

#include "sccl/Exchange/FoundSchedule.h"
#include "sccl/Exchange/Place.h"

#include <optional>

namespace sccl::exchange {

/// True if `text` says that it is a schedule of TE-CCL.
bool isTeccl(std::string_view text);

/// The schedule of a file, an epoch a step, and the links that it uses, each of
/// bandwidth 1. GPUs are the vertices that chunks are from or for, in ascending
/// order; what passes switches is between GPUs. The other vertices are in its
/// notes. An all_gather if each chunk is for all, a broadcast if only one GPU
/// has some, an all_to_all if each is for one. Where chunks are cut, its chunks
/// are the parts. Returns nothing, and says in `findings` why, if the file is
/// none, is for something else, or does not do what it says.
std::optional<FoundSchedule> parseTeccl(std::string_view text,
                                        Findings &findings);

} // namespace sccl::exchange

#endif // SCCL_EXCHANGE_TECCL_H
