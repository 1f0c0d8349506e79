//===- Forest.h - Trees of ForestColl ---------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The XML files that ForestColl writes: trees, each with a root and its sends
// from parents to children. A vertex is a tuple as text, "(0, 'GPU', 3)"; what
// a send passes on its way is not looked at.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_EXCHANGE_FOREST_H
#define SCCL_EXCHANGE_FOREST_H

#include "sccl/Exchange/FoundSchedule.h"
#include "sccl/Exchange/Place.h"

#include <optional>
#include <string_view>

namespace sccl::exchange {

/// True if `text` is XML with trees.
bool isForest(std::string_view text);

/// The all_gather whose chunks go down the trees, a level a step, and the links
/// that it uses, each of bandwidth 1. Ranks are the roots in the order of the
/// numbers of their tuples. Returns nothing, and says in `findings` why, if the
/// file is none or a tree does not reach all roots.
std::optional<FoundSchedule> parseForest(std::string_view text,
                                         Findings &findings);

} // namespace sccl::exchange

#endif // SCCL_EXCHANGE_FOREST_H
