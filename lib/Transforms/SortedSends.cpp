//===- SortedSends.cpp - The sends of a step, in order --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TransferPlan.h"

#include "sccl/Dialect/Coll/ImportExport.h"

#include <numeric>

using namespace sccl;
using namespace sccl::coll;

std::vector<Send> coll::sortedSends(StepOp step) {
  // By link first. There are much fewer ops than sends.
  std::vector<std::pair<Send, SendOpInterface>> keyed;
  size_t numSends = 0;
  for (auto op : step.getBody().getOps<SendOpInterface>()) {
    Send send = importSend(op);
    send.chunk = 0;
    if (send.transport == SendTransport::Any)
      send.transport = SendTransport::Push;
    keyed.push_back({send, op});
    for (const ChunkRange &range : op.getChunkRanges())
      numSends += range.count;
  }
  llvm::stable_sort(
      keyed, [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<Send> sends;
  sends.reserve(numSends);
  for (size_t begin = 0, end; begin < keyed.size(); begin = end) {
    size_t first = sends.size();
    for (end = begin;
         end < keyed.size() && isSameLink(keyed[begin].first, keyed[end].first);
         ++end)
      keyed[end].second.forEachChunk(
          [&, send = keyed[end].first](uint32_t chunk) mutable {
            send.chunk = chunk;
            sends.push_back(send);
          });
    if (!std::is_sorted(sends.begin() + first, sends.end()))
      std::sort(sends.begin() + first, sends.end());
  }
  return sends;
}

std::vector<uint32_t> coll::orderOfArrivals(const std::vector<Send> &sends) {
  std::vector<uint32_t> order(sends.size());
  std::iota(order.begin(), order.end(), 0u);
  llvm::stable_sort(order, [&](uint32_t a, uint32_t b) {
    return std::pair(sends[a].dst, sends[a].chunk) <
           std::pair(sends[b].dst, sends[b].chunk);
  });
  return order;
}
