//===- SwitchGroups.h - Which switches have a group -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_SWITCHGROUPS_H
#define SCCL_MODEL_SWITCHGROUPS_H

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace sccl {

/// The ranks that have a group at a switch. A rank has one, that of the first
/// switch that may have a group.
class SwitchGroups {
public:
  /// Makes `ranks`, those of the next switch of a topology, a group. False if
  /// one of them has another: then the switch has none.
  template <typename Ranks> bool add(const Ranks &ranks) {
    auto isGrouped = [&](unsigned rank) { return grouped.contains(rank); };
    if (llvm::any_of(ranks, isGrouped))
      return false;
    grouped.insert_range(ranks);
    return true;
  }

private:
  llvm::DenseSet<unsigned> grouped; // only looked up
};

} // namespace sccl

#endif // SCCL_MODEL_SWITCHGROUPS_H
