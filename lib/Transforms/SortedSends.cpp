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

namespace {
/// Arrivals of chunks that follow each other, from the same ranks.
class ArrivalRuns {
public:
  ArrivalRuns(const std::vector<Send> &sends,
              const std::vector<uint32_t> &order, unsigned perSegment,
              llvm::function_ref<bool(const Send &)> hasPlace)
      : sends(sends), order(order), perSegment(perSegment), hasPlace(hasPlace) {
  }

  /// Past the arrivals, from the one at `begin` on, that stay apart from what
  /// their rank has of the same chunk: `begin` itself if that does not.
  size_t endOfChunk(size_t begin) const {
    size_t end = begin;
    while (end < order.size() && staysApart(at(end)) &&
           at(end).dst == at(begin).dst && at(end).chunk == at(begin).chunk)
      ++end;
    return end;
  }

  /// Past the arrivals of this chunk, with `count` of them, and of those that
  /// go on with it.
  size_t endOfRun(size_t begin, size_t count) const {
    size_t end = begin + count;
    while (goesOn(end, count))
      end += count;
    return end;
  }

private:
  bool staysApart(const Send &send) const {
    return (send.action == SendAction::Reduce ||
            send.action == SendAction::Keep) &&
           !hasPlace(send);
  }
  const Send &at(size_t place) const { return sends[order[place]]; }

  /// True if at `place` begin `count` arrivals of the next chunk from the same
  /// ranks as the `count` before.
  bool goesOn(size_t place, size_t count) const {
    if (endOfChunk(place) - place != count || at(place).chunk % perSegment == 0)
      return false;
    for (size_t i = place; i < place + count; ++i)
      if (!isSameLink(at(i), at(i - count)) ||
          at(i).chunk != at(i - count).chunk + 1)
        return false;
    return true;
  }

  const std::vector<Send> &sends;
  const std::vector<uint32_t> &order;
  const unsigned perSegment;
  llvm::function_ref<bool(const Send &)> hasPlace;
};
} // namespace

std::vector<uint32_t> coll::landingSlots(
    const std::vector<Send> &sends, const std::vector<uint32_t> &order,
    unsigned perSegment,
    llvm::function_ref<uint32_t(unsigned rank, uint32_t count)> allocate,
    llvm::function_ref<bool(const Send &)> hasPlace) {
  std::vector<uint32_t> slots(sends.size());
  ArrivalRuns runs(sends, order, perSegment, hasPlace);
  for (size_t begin = 0; begin < order.size();) {
    size_t count = runs.endOfChunk(begin) - begin;
    if (count == 0) {
      ++begin;
      continue;
    }
    size_t end = runs.endOfRun(begin, count);
    size_t chunks = (end - begin) / count;
    uint32_t first = allocate(sends[order[begin]].dst, end - begin);
    for (size_t i = 0; i < end - begin; ++i)
      slots[order[begin + i]] = first + i % count * chunks + i / count;
    begin = end;
  }
  return slots;
}
