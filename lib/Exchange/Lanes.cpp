//===- Lanes.cpp - Events of many threads in the making -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::exchange;

std::pair<Trace, std::vector<uint32_t>> Lanes::finish(uint32_t ranks) && {
  std::ranges::stable_sort(lanes, {}, &Lane::rank);
  std::vector<uint32_t> numbers(events.size());
  Trace trace;
  trace.events.reserve(events.size());
  trace.firstOfBlock = {0};
  for (const Lane &lane : lanes) {
    while (trace.firstBlockOfRank.size() <= lane.rank)
      trace.firstBlockOfRank.push_back(trace.numBlocks());
    for (uint32_t old : lane.events) {
      numbers[old] = uint32_t(trace.events.size());
      events[old].block = trace.numBlocks();
      trace.events.push_back(std::move(events[old]));
    }
    trace.firstOfBlock.push_back(uint32_t(trace.events.size()));
  }
  while (trace.firstBlockOfRank.size() <= ranks)
    trace.firstBlockOfRank.push_back(trace.numBlocks());
  for (Event &event : trace.events) {
    if (event.from)
      event.from = numbers[*event.from];
    for (std::vector<uint32_t> *others : {&event.after, &event.follows})
      for (uint32_t &other : *others)
        other = numbers[other];
  }
  return {std::move(trace), std::move(numbers)};
}
