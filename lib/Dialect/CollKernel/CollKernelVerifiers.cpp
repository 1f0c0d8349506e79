//===- CollKernelVerifiers.cpp - Rules of the collk dialect ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Dialect/CollKernel/CollKernelOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sccl::collk;

/// True if `op` is for a rank that the program does not have.
template <typename Op>
static LogicalResult checkRank(ProgramOp program, Op op,
                               std::optional<uint32_t> rank) {
  if (!rank || *rank < program.getRanks())
    return success();
  return op.emitOpError() << "is for rank " << *rank << ", but the program has "
                          << program.getRanks();
}

LogicalResult ProgramOp::verifyRegions() {
  if (getHost() && getBlocks() != 1)
    return emitOpError() << "has " << getBlocks()
                         << " blocks per channel, but one thread per rank on a "
                            "host";
  for (Operation &op : getBody().getOps()) {
    if (auto kernel = dyn_cast<KernelOp>(op)) {
      if (failed(checkRank(*this, kernel, kernel.getRank())))
        return failure();
    } else if (auto table = dyn_cast<TableOp>(op)) {
      if (failed(checkRank(*this, table, table.getRank())))
        return failure();
    } else {
      return op.emitOpError("is neither a kernel nor a table");
    }
  }
  return success();
}

/// Fails unless `body` holds channels only, numbered from 0.
static LogicalResult checkChannels(Region &body) {
  unsigned next = 0;
  for (Operation &op : body.getOps()) {
    auto channel = dyn_cast<ChannelOp>(op);
    if (!channel)
      return op.emitOpError("is not in a channel");
    if (channel.getNumber() != next)
      return channel.emitOpError()
             << "has number " << channel.getNumber() << ", expected " << next;
    ++next;
  }
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  return getRank() ? checkChannels(getBody()) : success();
}

/// Fails if an operand of `op` is known at run time only. Which block it is, a
/// table need not know.
static LogicalResult checkConstants(Operation &op) {
  for (Value operand : op.getOperands().drop_front(isa<PartOp>(op)))
    if (operand.getType().isInteger(32) && !matchPattern(operand, m_Constant()))
      return op.emitOpError("has an operand that is no constant, in a table");
  return success();
}

LogicalResult TableOp::verifyRegions() {
  if (failed(checkChannels(getBody())))
    return failure();
  for (auto channel : getBody().getOps<ChannelOp>())
    for (Operation &op : channel.getBody().getOps())
      if (failed(checkConstants(op)))
        return failure();
  return success();
}

/// Fails unless marks that have places have one line, and places from 0 on.
static LogicalResult checkMarks(Block &body) {
  unsigned next = 0;
  MarkOp last;
  for (MarkOp mark : body.getOps<MarkOp>()) {
    if (!mark.getPlace())
      continue;
    if (*mark.getPlace() != next)
      return mark.emitOpError()
             << "has place " << *mark.getPlace() << ", expected " << next;
    if (last && last.getLine() != mark.getLine())
      return mark.emitOpError()
             << "has line " << *mark.getLine()
             << ", others of the channel have line " << *last.getLine();
    last = mark;
    ++next;
  }
  return !last || last.getKind() == MarkKind::End
             ? success()
             : last.emitOpError("is the last one of its channel, but no end");
}

LogicalResult ChannelOp::verifyRegions() {
  if (getSpread() != 1 && (*this)->getParentOfType<ProgramOp>().getHost())
    return emitOpError() << "is spread over " << getSpread()
                         << " threads, but a host has one for each rank";
  Block &block = getBody().front();
  if (block.getNumArguments() == 1 &&
      block.getArgument(0).getType().isInteger(32))
    return checkMarks(block);
  return emitOpError("has a body whose only argument is not an i32");
}

LogicalResult MarkOp::verify() {
  auto program = (*this)->getParentOfType<ProgramOp>();
  if (!program || program.getHost() != getLine().has_value())
    return success();
  return program.getHost()
             ? emitOpError("has a place, in code for a host")
             : emitOpError("has no place, in code for thread blocks");
}

/// The rank of `peer` if it is a constant, and of the ranks of the program.
static std::optional<std::pair<uint64_t, uint64_t>> rankOf(PeerOp peer) {
  auto program = peer ? peer->getParentOfType<ProgramOp>() : ProgramOp();
  APInt rank;
  if (!program || !matchPattern(peer.getRank(), m_ConstantInt(&rank)))
    return std::nullopt;
  return std::pair(rank.getZExtValue(), uint64_t(program.getRanks()));
}

LogicalResult PeerOp::verify() {
  auto rank = rankOf(*this); // peer_c1
  if (!rank || rank->first < rank->second)
    return success();
  if (rank->first > rank->second)
    return emitOpError() << "is of rank " << rank->first
                         << ", but the program has " << rank->second;
  if (getKind() != BufferKind::Scratch)
    return emitOpError("is of a group at its switch, where only scratch is");
  return success();
}

/// True if `buffer` is, or may be, that of a group at its switch.
static bool mayBeAtSwitch(Operation *buffer) {
  auto rank = rankOf(dyn_cast_or_null<PeerOp>(buffer));
  return !isa_and_nonnull<OwnOp>(buffer) &&
         (!rank || rank->first == rank->second);
}

LogicalResult SlotOp::verify() {
  Operation *buffer = getBuffer().getDefiningOp();
  auto rank = rankOf(dyn_cast_or_null<PeerOp>(buffer));
  if (isa<SwitchSlotType>(getType())) // slot_c2
    return mayBeAtSwitch(buffer)
               ? success()
               : emitOpError("is a switch slot, but in memory of one rank");
  if (rank && rank->first == rank->second)
    return emitOpError("is at a switch, but no switch slot");
  if (isa<SlotType>(getType()))
    return success();
  auto isPlain = [](auto op) {
    return op && op.getKind() != BufferKind::Scratch;
  };
  if (isPlain(dyn_cast_or_null<OwnOp>(buffer)) ||
      isPlain(dyn_cast_or_null<PeerOp>(buffer)))
    return emitOpError() << "has "
                         << (isa<LLSlotType>(getType()) ? "LL words" : "f32")
                         << " in a buffer that is not scratch";
  return success();
}

/// Fails if one of `slots` holds LL words and there is no launch.
template <typename Op>
static LogicalResult checkLaunch(Op op, ArrayRef<Value> slots) {
  for (Value slot : slots)
    if (isa<LLSlotType>(slot.getType()) && !op.getLaunch())
      return op.emitOpError("has LL words, but no launch whose number they "
                            "carry");
  return success();
}

/// True if `slot` is, or may be, plain scratch of the rank itself.
static bool mayBeOwnScratch(Value slot) {
  auto made = slot.getDefiningOp<SlotOp>();
  Operation *buffer = made ? made.getBuffer().getDefiningOp() : nullptr;
  if (auto own = dyn_cast_or_null<OwnOp>(buffer))
    return isa<SlotType>(slot.getType()) &&
           own.getKind() == BufferKind::Scratch;
  return isa<SlotType>(slot.getType()) && !isa_and_nonnull<PeerOp>(buffer);
}

LogicalResult CopyOp::verify() {
  if (isa<SwitchSlotType>(getDst().getType()) &&
      !mayBeOwnScratch(getSrc())) // copy_c1
    return emitOpError(
        "is to a switch, but not from plain scratch of the rank");
  return checkLaunch(*this, {getSrc(), getDst()});
}

LogicalResult ReduceOp::verify() {
  if (getTimes() && getTerms()) // reduce_c1
    return emitOpError("is repeated, and has several terms");
  return checkLaunch(*this, {getLhs(), getRhs(), getDst()});
}

LogicalResult LoadReduceOp::verify() {
  if (mayBeOwnScratch(getDst())) // load_reduce_c1
    return success();
  return emitOpError("is from a switch, but not to scratch of the rank");
}

template <typename Op> static LogicalResult checkFlags(Op op) {
  auto isRow = [](Value flags) { return isa<FlagsType>(flags.getType()); };
  unsigned count = op.getFlags().size();
  if (llvm::any_of(op.getFlags(), isRow) && count != 1)
    return op.emitOpError("has flags beside a row of them");
  if (count == 0 || count > maxFlags)
    return op.emitOpError()
           << "has " << count << " flags, expected 1 to " << maxFlags;
  return success();
}

LogicalResult SignalOp::verify() { return checkFlags(*this); }
LogicalResult WaitOp::verify() { return checkFlags(*this); }
