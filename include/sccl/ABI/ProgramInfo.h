//===- ProgramInfo.h - What a launch of a program needs ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ABI_PROGRAMINFO_H
#define SCCL_ABI_PROGRAMINFO_H

#include "sccl/ABI/KernelABI.h"

#include <vector>

namespace sccl {

/// What one rank needs to run a program.
struct RankNeeds {
  /// Those that are spread count as several: a grid has this many times the
  /// blocks of its launch.
  unsigned channels = 0;
  /// Slots of scratch, each of chunkStride() bytes: both halves of scratch that
  /// is double-buffered are counted, and a slot of LL words counts as two.
  unsigned scratchSlots = 0;
  uint64_t controlBytes = 0;
  bool operator==(const RankNeeds &) const = default;
};

/// What somebody who launches the functions of a program has to know about it;
/// see KernelABI.h.
struct ProgramInfo {
  /// Thread blocks that a launch may have for each channel: 1 to so many, all
  /// of them resident together.
  unsigned blocks = 1;
  /// Whether ranks read their peers' send buffers, or write or read their
  /// receive buffers. If not, only scratch and control need be shared.
  bool peersReadInput = false;
  bool peersTouchOutput = false;
  bool inPlace = false; ///< still right when the user's buffers are one
  /// Ranks tell their peers that a launch has begun, or their hosts do.
  /// Otherwise all must have finished a launch before one of another size or
  /// program may begin.
  bool announcesReady = true;
  /// Chunks that all ranks together read and write: the traffic of a launch. In
  /// LL words a chunk counts twice.
  uint64_t chunksMoved = 0;
  /// Chunks that the blocks of a channel read in one transfer, where those are
  /// most for each time that the channel is spread.
  uint64_t largestTransfer = 0;
  /// Transfers of LL words that the blocks of a channel execute side by side,
  /// where those are most for each time that the channel is spread.
  unsigned transfersAtOnce = 1;
  std::vector<RankNeeds> ranks;
  /// Functions per rank: 0 if there is one for all, else the number of
  /// NAME_rankN_stepK. A step begins when all ranks are done with the one
  /// before.
  unsigned steps = 0;
  /// Whether functions of steps access memory of peers, beside copies.
  bool stepsTouchPeers = false;
  /// By step, what hosts copy beside the functions.
  std::vector<std::vector<EngineCopy>> copies;
  /// By rank the number of its group, from 0: the ranks behind one switch, or
  /// one that is behind none. Empty if no transfer passes a switch. Otherwise
  /// the table of peers of each rank has an entry more, after those of the
  /// ranks, whose `scratch` is the address of the group's scratch at the
  /// switch; the ranks of a group have theirs at the same offsets of it. The
  /// rest of the entry is null, and on a CPU nobody reads it.
  std::vector<unsigned> switchGroups;
  bool operator==(const ProgramInfo &) const = default;
};

} // namespace sccl

#endif // SCCL_ABI_PROGRAMINFO_H
