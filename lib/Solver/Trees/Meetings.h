//===- Meetings.h - Where the parts of a sum meet ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chunk of an all_reduce may be summed up at one rank, or at several at once:
// each of these collects a part of the contributions, all exchange their parts
// in one step, and spread the sum. That takes more sends than a single root
// does, and one step less.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_TREES_MEETINGS_H
#define SCCL_LIB_SOLVER_TREES_MEETINGS_H

#include "sccl/Model/Topology.h"

#include <vector>

namespace sccl::trees {

/// The ranks where contributions are collected. If there are several, links
/// join each to each.
struct Meeting {
  std::vector<unsigned> ranks;     ///< ascending
  std::vector<unsigned> exchanges; ///< links from each to each other
};

/// Meetings with `rank`: of itself alone; and with all, or the first few, of
/// the ranks that look alike from it, where links join all of them.
std::vector<Meeting> meetingsOf(const Topology &topology, unsigned rank,
                                const std::vector<uint64_t> &limitKeys);

} // namespace sccl::trees

#endif // SCCL_LIB_SOLVER_TREES_MEETINGS_H
