//===- TransferVerifiers.cpp - What ops of channels have to be ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TransferVerifiers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

/// A chunk stands in every buffer of segments where it stands in its own one:
/// else its bytes, of which the last chunks of a segment have fewer, would not
/// be those of the slot, for some count (check B1).
template <typename TransferOp>
static LogicalResult verifyPositions(TransferOp op, unsigned perSegment) {
  auto check = [&](Buffer buffer, unsigned slot) -> LogicalResult {
    if (buffer == Buffer::Scratch ||
        slot % perSegment == op.getChunk() % perSegment)
      return success();
    return op.emitOpError() // program_c7
           << "has chunk " << op.getChunk() << " in " << stringifyBuffer(buffer)
           << '[' << slot << "], which is chunk " << slot % perSegment
           << " of a segment, not " << op.getChunk() % perSegment << " (B1)";
  };
  if constexpr (reduces<TransferOp>)
    if (failed(check(op.getRhsBuffer(), op.getRhsSlot())))
      return failure();
  if (failed(check(op.getSrcBuffer(), op.getSrcSlot())))
    return failure();
  return check(op.getDstBuffer(), op.getDstSlot());
}

/// Repetitions are apart from each other, and each finds its chunks at the same
/// place in a segment, so that they have the same bytes.
template <typename TransferOp>
static LogicalResult verifyRepetition(TransferOp op, unsigned perSegment) {
  auto check = [&](StringRef of, unsigned stride,
                   bool keepsPlace) -> LogicalResult { // program_c13
    if (op.getTimes() == 1 && stride == 0)
      return success();
    if (op.getTimes() == 1)
      return op.emitOpError() << "has a stride of " << stride << " for " << of
                              << ", but is not repeated";
    if (stride < op.getCount())
      return op.emitOpError()
             << "repeats " << op.getCount() << " chunks with a stride of "
             << stride << " for " << of << ", so that repetitions overlap";
    if (keepsPlace && stride % perSegment != 0)
      return op.emitOpError() << "has a stride of " << stride << " for " << of
                              << ", which is not a multiple of the "
                              << perSegment << " chunks of a segment";
    return success();
  };
  auto checkSlots = [&](StringRef of, Buffer buffer, unsigned stride) {
    return check(of, stride, buffer != Buffer::Scratch);
  };
  if constexpr (reduces<TransferOp>)
    if (failed(checkSlots("a source", op.getRhsBuffer(), op.getRhsStride())))
      return failure();
  return failure(
      failed(check("its chunks", op.getChunkStride(), true)) ||
      failed(checkSlots("a source", op.getSrcBuffer(), op.getSrcStride())) ||
      failed(
          checkSlots("its destination", op.getDstBuffer(), op.getDstStride())));
}

/// Several terms are apart from each other, in the one long segment.
template <typename TransferOp> static LogicalResult verifyTerms(TransferOp op) {
  unsigned terms = op.getTerms(), stride = op.getTermStride();
  if (terms == 1 && stride != 0) // program_c15
    return op.emitOpError() << "has a stride of " << stride << " for one term";
  if (terms > 1 && stride < op.getCount())
    return op.emitOpError()
           << "has " << terms << " terms of " << op.getCount()
           << " chunks with a stride of " << stride << ", so that they overlap";
  if (terms > 1 && op.getRhsBuffer() != Buffer::Scratch)
    return op.emitOpError() << "has " << terms << " terms in "
                            << stringifyBuffer(op.getRhsBuffer())
                            << ", expected them in scratch";
  return success();
}

template <typename TransferOp>
static LogicalResult verifySlots(TransferOp op, const TransferContext &context,
                                 unsigned srcRank, unsigned rhsRank,
                                 unsigned dstRank) {
  auto check = [&](StringRef what, Buffer buffer, uint64_t slot,
                   unsigned stride, unsigned rank) -> LogicalResult {
    unsigned slots = context.slots[rank][unsigned(buffer)];
    uint64_t last = slot + (op.getTimes() - 1) * uint64_t(stride);
    if (last + op.getCount() <= slots) // program_c3
      return success();
    return op.emitOpError()
           << what << ' ' << stringifyBuffer(buffer) << '[' << last
           << "] with count " << op.getCount() << " is outside the " << slots
           << " slots of rank " << rank;
  };
  if constexpr (reduces<TransferOp>) {
    uint64_t toLast = (op.getTerms() - 1) * uint64_t(op.getTermStride());
    if (failed(verifyTerms(op)) ||
        failed(check("source", op.getRhsBuffer(), op.getRhsSlot() + toLast,
                     op.getRhsStride(), rhsRank)))
      return failure();
  }
  if (failed(check("source", op.getSrcBuffer(), op.getSrcSlot(),
                   op.getSrcStride(), srcRank)) ||
      failed(check("destination", op.getDstBuffer(), op.getDstSlot(),
                   op.getDstStride(), dstRank)))
    return failure();
  // put_c2, get_c2, copy_c1, local_reduce_c1, reduce_put_c2, get_reduce_c2
  if (op.getDstBuffer() == Buffer::Input)
    return op.emitOpError() << "writes the input of rank " << dstRank;
  unsigned perSegment = context.collective.chunksPerSegment();
  if (failed(verifyRepetition(op, perSegment)))
    return failure();
  uint64_t first =
      op.getChunk() + (op.getTimes() - 1) * uint64_t(op.getChunkStride());
  uint64_t end = first + op.getCount();
  if (end > context.collective.numChunks() ||
      op.getChunk() % perSegment + uint64_t(op.getCount()) > perSegment)
    return op.emitOpError()
           << "moves chunks " << first << " to " << end - 1
           << ", which are not in one segment of " << perSegment << " chunks";
  return verifyPositions(op, perSegment);
}

/// What goes through a switch does so between scratch and scratch, and the
/// ranks that `op` names exist.
template <typename SwitchOp>
static LogicalResult verifySwitch(SwitchOp op, const TransferContext &context,
                                  ArrayRef<int32_t> of) {
  if (op.getSrcBuffer() != Buffer::Scratch ||
      op.getDstBuffer() != Buffer::Scratch) // multicast_c1, load_reduce_c1
    return op.emitOpError("does not go from scratch to scratch");
  for (int32_t rank : of)
    if (uint32_t(rank) >= context.slots.size())
      return op.emitOpError()
             << "names rank " << rank << ", but the program has "
             << context.slots.size() << " ranks";
  return success();
}

static LogicalResult verifyMulticast(MulticastOp op,
                                     const TransferContext &context) {
  int32_t of = op.getOf();
  if (failed(verifySwitch(op, context, of)))
    return failure();
  return verifySlots(op, context, context.rank, context.rank, of);
}

static LogicalResult verifyLoadReduce(LoadReduceOp op,
                                      const TransferContext &context) {
  ArrayRef<int32_t> of = op.getOf();
  if (failed(verifySwitch(op, context, of)))
    return failure();
  if (of.size() < 2 ||
      !llvm::is_sorted(of, [](int32_t a, int32_t b) { return a <= b; }) ||
      !llvm::is_contained(of, int32_t(context.rank))) // load_reduce_c1
    return op.emitOpError()
           << "expects two ranks or more, in ascending order, with rank "
           << context.rank << " among them";
  if (!context.collective.combining()) // load_reduce_c2
    return op.emitOpError() << "in a program of " << context.collective.name()
                            << ", which does not combine";
  for (int32_t rank : of)
    if (failed(verifySlots(op, context, rank, rank, context.rank)))
      return failure();
  return success();
}

LogicalResult coll::verifyBlockTransfer(Operation *op,
                                        const TransferContext &context) {
  auto verify = [&](auto transfer, unsigned src, unsigned rhs, unsigned dst,
                    bool isRemote) -> LogicalResult {
    // put_c1, get_c1, reduce_put_c1, get_reduce_c1
    if (isRemote && context.rank == context.peer)
      return transfer.emitOpError("stands in the channel of a rank to itself");
    // local_reduce_c2, reduce_put_c3, get_reduce_c3
    if (reduces<decltype(transfer)> && !context.collective.combining())
      return transfer.emitOpError()
             << "in a program of " << context.collective.name()
             << ", which does not combine";
    return verifySlots(transfer, context, src, rhs, dst);
  };
  unsigned rank = context.rank, peer = context.peer;
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<PutOp>([&](PutOp op) { return verify(op, rank, rank, peer, true); })
      .Case<GetOp>([&](GetOp op) { return verify(op, peer, rank, rank, true); })
      .Case<CopyOp, LocalReduceOp>(
          [&](auto op) { return verify(op, rank, rank, rank, false); })
      .Case<ReducePutOp>(
          [&](ReducePutOp op) { return verify(op, rank, rank, peer, true); })
      .Case<GetReduceOp>(
          [&](GetReduceOp op) { return verify(op, rank, peer, rank, true); })
      .Case<MulticastOp>(
          [&](MulticastOp op) { return verifyMulticast(op, context); })
      .Case<LoadReduceOp>(
          [&](LoadReduceOp op) { return verifyLoadReduce(op, context); })
      .Case<SignalOp, WaitOp>([&](auto flag) -> LogicalResult {
        if (flag.getPeer() < context.slots.size())
          return success();
        return flag.emitOpError()
               << "names rank " << flag.getPeer() << ", but the program has "
               << context.slots.size() << " ranks";
      })
      .Default(success());
}
