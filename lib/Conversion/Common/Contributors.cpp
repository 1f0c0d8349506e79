//===- Contributors.cpp - What averages are divided by --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Contributors.h"

using namespace sccl;
using namespace sccl::coll;

unsigned coll::countContributors(const Collective &collective, unsigned chunk) {
  return collective.pre().ranksOf(chunk).size();
}

std::vector<Transfer> coll::splitByContributors(const Transfer &transfer,
                                                const Collective &collective) {
  bool isOne = true;
  for (unsigned i = 1; transfer.isFinal && i < transfer.size(); ++i)
    isOne &= countContributors(collective, transfer.chunkAt(i)) ==
             countContributors(collective, transfer.chunk);
  if (isOne)
    return {transfer};
  std::vector<Transfer> parts;
  for (unsigned i = 0; i < transfer.size(); ++i) {
    Transfer &part =
        parts.emplace_back(transfer.repetition(i / transfer.count));
    unsigned place = i % transfer.count;
    part.chunk += place;
    part.count = 1;
    for (SlotRange *range : {&part.reads[0], &part.reads[1], &part.write}) {
      range->slot += place;
      range->count = 1;
    }
  }
  return parts;
}
