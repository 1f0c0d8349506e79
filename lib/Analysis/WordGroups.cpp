//===- WordGroups.cpp - Transfers of LL words side by side ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Analysis/WordGroups.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

/// True if `a` and `b` may have a slot in common.
static bool overlap(const SlotRange &a, const SlotRange &b) {
  return a.rank == b.rank && a.buffer == b.buffer &&
         a.touches(b.slot, int64_t(b[b.size() - 1]) + 1);
}

using Group = std::vector<SharedTransfer>;

/// True if `transfer`, of the op `op`, may be executed beside those of `group`.
static bool fitsBeside(TransferOpInterface op, const Transfer &transfer,
                       const Group &group) {
  constexpr size_t most = 32;
  if (group.size() == most || group.back().op->getNextNode() != op ||
      cast<TransferOpInterface>(group.back().op).getStep() != op.getStep())
    return false;
  return llvm::none_of(group, [&](const SharedTransfer &other) {
    return llvm::any_of(transfer.reads, [&](const SlotRange &read) {
      return overlap(read, other.transfer.write);
    });
  });
}

static void shareOut(Group &group) {
  auto work = [](const SharedTransfer &shared) {
    return uint64_t(shared.transfer.size()) * shared.transfer.reads.size();
  };
  uint64_t all = 0, before = 0;
  for (const SharedTransfer &shared : group)
    all += work(shared);
  for (SharedTransfer &shared : group) {
    auto place = [&](uint64_t at) {
      return unsigned(at * BlockShare::units / all);
    };
    shared.share.begin = place(before);
    before += work(shared);
    shared.share.end = std::max(place(before), shared.share.begin + 1);
  }
}

std::vector<Group> coll::wordGroupsOf(ChannelOp channel) {
  auto program = channel->getParentOfType<ProgramOp>();
  std::vector<Group> groups;
  if (!program.getLl())
    return groups;
  for (auto op : channel.getBody().getOps<TransferOpInterface>()) {
    Transfer transfer = *getTransfer(op);
    auto holds = [&](const SlotRange &range) {
      return holdsLL(program, range);
    };
    if (!holds(transfer.write) && llvm::none_of(transfer.reads, holds))
      continue;
    if (groups.empty() || !fitsBeside(op, transfer, groups.back()))
      groups.emplace_back();
    groups.back().push_back({op, std::move(transfer)});
  }
  for (Group &group : groups)
    shareOut(group);
  return groups;
}
