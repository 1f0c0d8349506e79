//===- TransferPlan.h - What each channel does for a schedule --*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each (rank, chunk) has a row of *versions*: version 0 is the rank's input,
// and every send that arrives makes the next one. A version is never
// overwritten, so the sends of a step, which must read the state before the
// step, need no copies and no synchronization beyond "wait until the version
// exists". The last version of a chunk that the rank must hold at the end lives
// in the output, the others in scratch. Arrivals that a rank keeps apart stay
// where they have landed; a sum of several of them that is sent gets a slot of
// its own.
//
// Through scratch, peers touch nothing but scratch: what a peer pushes lands
// there and is copied to the output, and what a peer pulls is put there first.
// An eager plan does so with what is pushed in the first step.
//
// With LL words a rank also keeps in scratch what it sends on, since outputs
// hold no LL words; and what nobody reads is not sent, because nobody would
// wait for it either.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TRANSFORMS_TRANSFERPLAN_H
#define SCCL_TRANSFORMS_TRANSFERPLAN_H

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Model/Collective.h"
#include "sccl/Model/Schedule.h"
#include "sccl/Model/SumTree.h"

#include <array>
#include <map>

namespace sccl::coll {

/// A slot of a buffer of the rank in question.
struct Slot {
  Buffer buffer;
  unsigned index;
  bool operator==(const Slot &) const = default;
};

/// What a channel does within a step, in this order: nothing that comes first
/// waits for anything that comes later, on any rank.
enum class Phase : uint8_t { Stage, Move, Reduce, Deliver };

/// A transfer that some channel will execute.
struct PlannedTransfer {
  unsigned step;
  Phase phase;
  SendTransport transport; ///< of a move
  unsigned chunk;
  unsigned count;
  Slot src;
  std::optional<Slot> rhs; ///< of a reduction
  Slot dst;
  bool isFinal = false; ///< of a reduction: the result has all contributions
  /// How often it happens, each time further on by these.
  unsigned times = 1, chunkStride = 0, srcStride = 0, dstStride = 0;
};

/// What one channel executes, in order.
struct PlannedChannel {
  std::vector<PlannedTransfer> transfers;
  /// The last one of each phase, to be continued.
  std::array<std::optional<size_t>, 4> last;
  size_t numRepeated = 0; ///< transfers that have been joined
};

/// What one rank executes.
struct PlannedRank {
  std::map<unsigned, PlannedChannel> channels; ///< by peer
  unsigned scratchSlots = 0;
};

struct TransferPlanOptions {
  bool throughScratch = false;
  bool eager = false;
  bool ll = false;
  /// In which ranks sum up, where the schedule allows it.
  SumOrder sumOrder = SumOrder::Any;
  bool oneRounding = false;
};

/// The transfers of all ranks for a schedule. Emits an error and fails if a
/// rank sends what it has not received before the step. Anything else that is
/// wrong with the schedule shows in coll-check-program.
mlir::FailureOr<std::vector<PlannedRank>>
planTransfers(const Collective &collective, ScheduleOp schedule,
              TransferPlanOptions options);

inline bool isSameLink(const Send &a, const Send &b) {
  return a.src == b.src && a.dst == b.dst;
}

/// Drops the transfers to scratch that nobody reads, and those that only such
/// transfers have read.
void dropUnread(std::vector<PlannedRank> &ranks);

/// The sends of `step` link by link, and by chunk for each link. What does not
/// say by whom it is moved is pushed.
std::vector<Send> sortedSends(StepOp step);

/// The numbers of `sends`, rank by rank as they receive, and by chunk for each.
std::vector<uint32_t> orderOfArrivals(const std::vector<Send> &sends);

/// The slots of scratch where `sends` land that stay apart from what their
/// ranks have, by number; `allocate` returns the first of `count` new slots of
/// a rank. Arrivals of one chunk are at even distances, so that one reduction
/// can have all of them as terms. What one rank sends of chunks that follow
/// each other is side by side, so that one transfer can move it. Those for
/// which `hasPlace` is true get none.
std::vector<uint32_t> landingSlots(
    const std::vector<Send> &sends, const std::vector<uint32_t> &order,
    unsigned perSegment,
    llvm::function_ref<uint32_t(unsigned rank, uint32_t count)> allocate,
    llvm::function_ref<bool(const Send &)> hasPlace);

/// True if `b` continues `a` in memory and in the numbering of chunks, of which
/// segments have `perSegment`.
bool continues(const PlannedTransfer &a, const PlannedTransfer &b,
               unsigned perSegment);

/// Sorts by step and phase, and joins what continues other transfers then.
void order(PlannedChannel &channel, unsigned perSegment);

/// Makes the moves that are new in `channel` one where they are at even
/// distances. coll-repeat-transfers would, too, but a schedule of a thousand
/// ranks has millions.
void repeatMoves(PlannedChannel &channel, unsigned perSegment);

} // namespace sccl::coll

#endif // SCCL_TRANSFORMS_TRANSFERPLAN_H
