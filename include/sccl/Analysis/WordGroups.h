//===- WordGroups.h - Transfers of LL words side by side --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ANALYSIS_WORDGROUPS_H
#define SCCL_ANALYSIS_WORDGROUPS_H

#include "sccl/ABI/BlockShare.h"
#include "sccl/Analysis/Program.h"

namespace sccl::coll {

/// A transfer of LL words, and the share of its channel's blocks that executes
/// it where that is enough.
struct SharedTransfer {
  mlir::Operation *op;
  Transfer transfer;
  BlockShare share = {};
};

/// The transfers of LL words of `channel` in the order of the text, in groups
/// that the blocks of the channel execute side by side: neighbours of one step,
/// of which none reads what another writes. Words order all that they have to
/// be ordered by, whichever block handles them. Each has a share for about as
/// much as it reads.
std::vector<std::vector<SharedTransfer>> wordGroupsOf(ChannelOp channel);

} // namespace sccl::coll

#endif // SCCL_ANALYSIS_WORDGROUPS_H
