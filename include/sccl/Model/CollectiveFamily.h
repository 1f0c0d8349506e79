//===- CollectiveFamily.h - A collective without its C ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_COLLECTIVEFAMILY_H
#define SCCL_MODEL_COLLECTIVEFAMILY_H

#include "sccl/Model/Collective.h"

#include <memory>

namespace sccl {

/// A collective without its C, which searches choose: one of the named kinds,
/// on all ranks or in groups, or a user-defined one, whose chunks may be cut
/// into pieces.
struct CollectiveFamily {
  CollectiveKind kind;
  unsigned root = 0;      ///< within each group
  RankGroups groups = {}; ///< all ranks together if empty
  /// If `kind` is `Custom`: with the smallest C.
  std::shared_ptr<const Collective> defined = {};

  /// That of a collective; a user-defined one is the smallest of its family.
  static CollectiveFamily of(const Collective &collective);

  /// "all_gather", "all_gather_groups", or the name that the user gave.
  std::string name() const;
  /// The number that every C is a multiple of.
  uint64_t unit(unsigned numRanks) const;
  /// Fails where the collective has no such C, or is for other ranks.
  Result<Collective> make(unsigned numRanks, unsigned chunks) const;
  /// True for a named kind on all ranks.
  bool isPlain() const { return groups.empty() && !defined; }
};

} // namespace sccl

#endif // SCCL_MODEL_COLLECTIVEFAMILY_H
