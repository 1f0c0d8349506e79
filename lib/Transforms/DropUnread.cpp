//===- DropUnread.cpp - Transfers that nobody reads -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TransferPlan.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

using namespace sccl;
using namespace sccl::coll;

void coll::dropUnread(std::vector<PlannedRank> &ranks) {
  // Readers of each slot of scratch, by rank and slot; and who writes it.
  using SlotKey = std::pair<unsigned, unsigned>;
  llvm::DenseMap<SlotKey, unsigned> readers;
  llvm::DenseMap<SlotKey, std::pair<unsigned, PlannedTransfer *>> writers;
  auto forEachRead = [](unsigned rank, const PlannedTransfer &transfer,
                        auto visit) {
    for (const std::optional<Slot> &slot :
         {std::optional(transfer.src), transfer.rhs})
      if (slot && slot->buffer == Buffer::Scratch)
        visit(SlotKey{rank, slot->index});
  };
  for (auto [number, rank] : llvm::enumerate(ranks))
    for (auto &[peer, channel] : rank.channels)
      for (PlannedTransfer &transfer : channel.transfers) {
        forEachRead(number, transfer, [&](SlotKey slot) { ++readers[slot]; });
        if (transfer.dst.buffer == Buffer::Scratch)
          writers[{peer, transfer.dst.index}] = {unsigned(number), &transfer};
      }
  std::vector<SlotKey> unread;
  for (auto &[slot, writer] : writers)
    if (!readers.lookup(slot))
      unread.push_back(slot);
  llvm::DenseSet<const PlannedTransfer *> dropped;
  while (!unread.empty()) {
    auto [rank, transfer] = writers.at(unread.back());
    unread.pop_back();
    dropped.insert(transfer);
    forEachRead(rank, *transfer, [&](SlotKey slot) {
      if (--readers[slot] == 0 && writers.contains(slot))
        unread.push_back(slot);
    });
  }
  for (PlannedRank &rank : ranks) {
    for (auto &[peer, channel] : rank.channels)
      llvm::erase_if(channel.transfers, [&](const PlannedTransfer &transfer) {
        return dropped.contains(&transfer);
      });
    std::erase_if(rank.channels, [](const auto &entry) {
      return entry.second.transfers.empty();
    });
  }
}
