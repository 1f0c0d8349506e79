//===- TransferJoins.cpp - One transfer in place of several ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TransferPlan.h"

using namespace sccl;
using namespace sccl::coll;

bool coll::continues(const PlannedTransfer &a, const PlannedTransfer &b,
                     unsigned perSegment) {
  auto follows = [&](const Slot &first, const Slot &second) {
    return first.buffer == second.buffer &&
           first.index + a.count == second.index;
  };
  // Reductions are joined with puts and gets first, one by one.
  return a.phase != Phase::Reduce && a.times == 1 && b.times == 1 &&
         a.step == b.step && a.phase == b.phase && a.transport == b.transport &&
         a.chunk + a.count == b.chunk && b.chunk % perSegment != 0 &&
         follows(a.src, b.src) && follows(a.dst, b.dst);
}

void coll::order(PlannedChannel &channel, unsigned perSegment) {
  std::vector<PlannedTransfer> transfers = std::move(channel.transfers);
  llvm::stable_sort(transfers, [](const auto &a, const auto &b) {
    return std::tie(a.step, a.phase) < std::tie(b.step, b.phase);
  });
  channel.transfers.clear();
  for (const PlannedTransfer &transfer : transfers) {
    if (!channel.transfers.empty() &&
        continues(channel.transfers.back(), transfer, perSegment))
      channel.transfers.back().count += transfer.count;
    else
      channel.transfers.push_back(transfer);
  }
}

/// Lets `move` happen once more, as `next` does. Returns false, and changes
/// nothing, if the two are not at the distance of the repetitions before.
static bool repeats(PlannedTransfer &move, const PlannedTransfer &next,
                    unsigned perSegment) {
  auto isEven = [&](const Slot &from, const Slot &to) {
    return from.buffer == to.buffer && from.index + move.count <= to.index &&
           (from.buffer == Buffer::Scratch ||
            (to.index - from.index) % perSegment == 0);
  };
  if (move.count != next.count || move.transport != next.transport ||
      next.chunk < move.chunk + move.count ||
      (next.chunk - move.chunk) % perSegment != 0 ||
      !isEven(move.src, next.src) || !isEven(move.dst, next.dst))
    return false;
  unsigned chunk = next.chunk - move.chunk;
  unsigned src = next.src.index - move.src.index;
  unsigned dst = next.dst.index - move.dst.index;
  if (move.times == 1) {
    move.chunkStride = chunk;
    move.srcStride = src;
    move.dstStride = dst;
  } else if (chunk != move.chunkStride * move.times ||
             src != move.srcStride * move.times ||
             dst != move.dstStride * move.times) {
    return false;
  }
  ++move.times;
  return true;
}

void coll::repeatMoves(PlannedChannel &channel, unsigned perSegment) {
  std::vector<PlannedTransfer> &moves = channel.transfers;
  size_t end = channel.numRepeated;
  for (size_t i = end; i < moves.size(); ++i)
    if (end == channel.numRepeated ||
        !repeats(moves[end - 1], moves[i], perSegment))
      moves[end++] = moves[i];
  moves.erase(moves.begin() + end, moves.end());
  channel.numRepeated = end;
  channel.last = {};
}
