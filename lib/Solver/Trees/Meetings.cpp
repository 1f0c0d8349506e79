//===- Meetings.cpp - Where the parts of a sum meet -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Meetings.h"

#include "sccl/Model/Refinement.h"

#include <algorithm>
#include <optional>

using namespace sccl;
using namespace sccl::trees;

/// Nothing if two of `ranks` are not joined.
static std::optional<Meeting> meetingOf(const Topology &topology,
                                        std::vector<unsigned> ranks) {
  std::ranges::sort(ranks);
  Meeting meeting{std::move(ranks), {}};
  for (unsigned src : meeting.ranks)
    for (unsigned dst : meeting.ranks) {
      if (src == dst)
        continue;
      std::optional<unsigned> link = topology.findLink(src, dst);
      if (!link)
        return std::nullopt;
      meeting.exchanges.push_back(*link);
    }
  return meeting;
}

std::vector<Meeting> trees::meetingsOf(const Topology &topology, unsigned rank,
                                       const std::vector<uint64_t> &limitKeys) {
  std::vector<uint64_t> keys(topology.numRanks());
  keys[rank] = 1;
  Refinement cells = refine(topology, keys, limitKeys);
  std::vector<std::vector<unsigned>> alike(cells.links.count());
  for (unsigned link = 0; link < topology.links().size(); ++link)
    if (topology.links()[link].src == rank)
      alike[cells.links.classOf[link]].push_back(topology.links()[link].dst);
  std::vector<Meeting> meetings = {{{rank}, {}}};
  for (const std::vector<unsigned> &others : alike)
    for (size_t count = 1; count <= others.size();) {
      std::vector<unsigned> ranks(others.begin(), others.begin() + count);
      ranks.push_back(rank);
      // Of more ranks that are not all joined, there are none either.
      std::optional<Meeting> meeting = meetingOf(topology, std::move(ranks));
      if (!meeting)
        break;
      meetings.push_back(std::move(*meeting));
      // 2, 4, 8, ... ranks, and all.
      size_t next = 2 * count + 1;
      count = count < others.size() ? std::min(next, others.size())
                                    : others.size() + 1;
    }
  return meetings;
}
