//===- RankGroups.h - Some of the ranks, or several groups ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Who takes part in a collective: MPI's communicators, NCCL's process groups.
// Groups that run at once share the links.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_RANKGROUPS_H
#define SCCL_MODEL_RANKGROUPS_H

#include "sccl/Model/Result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sccl {

/// Ranks in the order in which the group numbers them. Groups have no rank in
/// common; ranks of no group may pass chunks on.
using RankGroups = std::vector<std::vector<unsigned>>;

/// Reads groups of ranks below `numRanks`, separated by '/':
///   0-3,8-11      ranks and ranges
///   0-56:8        every eighth rank of a range
///   blocks:8      all ranks, in groups of 8 neighbours
///   strides:8     all ranks, in 8 groups of every eighth rank
/// Fails with the offending word if it is none of these, and where
/// `checkRankGroups` does.
Result<RankGroups> parseRankGroups(std::string_view text, unsigned numRanks);

/// An error if there are no groups, one has no rank, a rank is out of range, or
/// a rank is given twice.
std::optional<Error> checkRankGroups(const RankGroups &groups,
                                     unsigned numRanks);

/// In the syntax of `parseRankGroups`: "0-3,8-11", "0-56:8/1-57:8".
std::string printRankGroups(const RankGroups &groups);

} // namespace sccl

#endif // SCCL_MODEL_RANKGROUPS_H
