//===- CollTransfers.cpp - The interfaces of programs' ops ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Dialect/Coll/CollOps.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

#include "sccl/Dialect/Coll/CollInterfaces.cpp.inc"

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

Transfer Transfer::repetition(unsigned i) const {
  auto part = [i](SlotRange range) {
    range.slot += i * range.stride;
    range.times = 1;
    range.stride = 0;
    return range;
  };
  Transfer result = *this;
  result.chunk += i * chunkStride;
  result.times = 1;
  result.chunkStride = 0;
  for (SlotRange &read : result.reads)
    read = part(read);
  result.write = part(write);
  return result;
}

Transfer Transfer::column(unsigned i) const {
  Transfer result = *this;
  result.chunk += i;
  result.count = 1;
  auto narrow = [i](SlotRange &range) {
    range.slot += i;
    range.count = 1;
  };
  llvm::for_each(result.reads, narrow);
  narrow(result.write);
  return result;
}

/// The peer of the channel that executes `op`, or the rank itself.
static unsigned rankAt(Operation *op, bool atPeer) {
  auto channel = cast<ChannelOp>(op->getParentOp());
  return atPeer ? channel.getPeer()
                : cast<RankOp>(channel->getParentOp()).getRank();
}

template <typename Op> static SmallVector<SlotRange, 2> readsOf(Op op) {
  SmallVector<SlotRange, 2> reads = {
      {rankAt(op, Op::srcAtPeer), op.getSrcBuffer(), op.getSrcSlot(),
       op.getCount(), op.getTimes(), op.getSrcStride()}};
  if constexpr (reduces<Op>) {
    SlotRange term = {rankAt(op, Op::rhsAtPeer),
                      op.getRhsBuffer(),
                      op.getRhsSlot(),
                      op.getCount(),
                      op.getTimes(),
                      op.getRhsStride()};
    unsigned terms = op.getTerms(), stride = op.getTermStride();
    reads.append(terms, term);
    for (unsigned i = 1; i < terms; ++i)
      reads[1 + i].slot += i * stride;
  }
  return reads;
}

template <typename Op> static SlotRange writeOf(Op op) {
  return {rankAt(op, Op::dstAtPeer),
          op.getDstBuffer(),
          op.getDstSlot(),
          op.getCount(),
          op.getTimes(),
          op.getDstStride()};
}

template <typename Op>
static void setPlacesOf(Op op, const Transfer &transfer) {
  op.setChunk(transfer.chunk);
  op.setCount(transfer.count);
  op.setTimes(transfer.times);
  op.setChunkStride(transfer.chunkStride);
  op.setSrcSlot(transfer.reads[0].slot);
  op.setSrcStride(transfer.reads[0].stride);
  if constexpr (reduces<Op>) {
    op.setRhsSlot(transfer.reads[1].slot);
    op.setRhsStride(transfer.reads[1].stride);
    if (op.getTerms() > 1)
      op.setTermStride(transfer.reads[2].slot - transfer.reads[1].slot);
  }
  op.setDstSlot(transfer.write.slot);
  op.setDstStride(transfer.write.stride);
}

template <typename Op> static constexpr bool isRemoteOp() {
  return Op::srcAtPeer || Op::rhsAtPeer || Op::dstAtPeer;
}

SmallVector<SlotRange, 2> PutOp::getReads() { return readsOf(*this); }
SlotRange PutOp::getWrite() { return writeOf(*this); }
void PutOp::setPlaces(const Transfer &other) { setPlacesOf(*this, other); }
bool PutOp::isRemote() { return isRemoteOp<PutOp>(); }

SmallVector<SlotRange, 2> GetOp::getReads() { return readsOf(*this); }
SlotRange GetOp::getWrite() { return writeOf(*this); }
void GetOp::setPlaces(const Transfer &other) { setPlacesOf(*this, other); }
bool GetOp::isRemote() { return isRemoteOp<GetOp>(); }

SmallVector<SlotRange, 2> CopyOp::getReads() { return readsOf(*this); }
SlotRange CopyOp::getWrite() { return writeOf(*this); }
void CopyOp::setPlaces(const Transfer &other) { setPlacesOf(*this, other); }
bool CopyOp::isRemote() { return isRemoteOp<CopyOp>(); }

SmallVector<SlotRange, 2> LocalReduceOp::getReads() { return readsOf(*this); }
SlotRange LocalReduceOp::getWrite() { return writeOf(*this); }
void LocalReduceOp::setPlaces(const Transfer &other) {
  setPlacesOf(*this, other);
}
bool LocalReduceOp::isRemote() { return isRemoteOp<LocalReduceOp>(); }

SmallVector<SlotRange, 2> ReducePutOp::getReads() { return readsOf(*this); }
SlotRange ReducePutOp::getWrite() { return writeOf(*this); }
void ReducePutOp::setPlaces(const Transfer &other) {
  setPlacesOf(*this, other);
}
bool ReducePutOp::isRemote() { return isRemoteOp<ReducePutOp>(); }

SmallVector<SlotRange, 2> GetReduceOp::getReads() { return readsOf(*this); }
SlotRange GetReduceOp::getWrite() { return writeOf(*this); }
void GetReduceOp::setPlaces(const Transfer &other) {
  setPlacesOf(*this, other);
}
bool GetReduceOp::isRemote() { return isRemoteOp<GetReduceOp>(); }

SmallVector<SlotRange, 2> MulticastOp::getReads() {
  return {{rankAt(*this, false), getSrcBuffer(), getSrcSlot(), getCount(),
           getTimes(), getSrcStride()}};
}
SlotRange MulticastOp::getWrite() {
  return {getOf(),    getDstBuffer(), getDstSlot(),
          getCount(), getTimes(),     getDstStride()};
}
void MulticastOp::setPlaces(const Transfer &other) {
  setPlacesOf(*this, other);
}
bool MulticastOp::isRemote() { return true; }

SmallVector<SlotRange, 2> LoadReduceOp::getReads() {
  SmallVector<SlotRange, 2> reads;
  for (int32_t rank : getOf())
    reads.push_back({unsigned(rank), getSrcBuffer(), getSrcSlot(), getCount(),
                     getTimes(), getSrcStride()});
  return reads;
}
SlotRange LoadReduceOp::getWrite() {
  return {rankAt(*this, false), getDstBuffer(), getDstSlot(),
          getCount(),           getTimes(),     getDstStride()};
}
void LoadReduceOp::setPlaces(const Transfer &other) {
  setPlacesOf(*this, other);
}
bool LoadReduceOp::isRemote() { return true; }

bool coll::isDMA(Operation *op) {
  auto transfer = dyn_cast<TransferOpInterface>(op);
  return transfer && transfer.usesCopyEngine();
}

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

FlagId SignalOp::getFlagId() {
  auto channel = cast<ChannelOp>((*this)->getParentOp());
  return {getFlag(), rankAt(*this, false), channel.getPeer(), getPeer()};
}

FlagId WaitOp::getFlagId() {
  unsigned rank = rankAt(*this, false), src = getPeer();
  unsigned byDefault = getFlag() == Flag::Ready ? src : rank;
  return {getFlag(), src, getChannel().value_or(byDefault), rank};
}

//===----------------------------------------------------------------------===//
// Sends
//===----------------------------------------------------------------------===//

SmallVector<ChunkRange, 4> coll::toChunkRanges(ArrayRef<int32_t> numbers) {
  SmallVector<ChunkRange, 4> ranges;
  for (; numbers.size() >= 3; numbers = numbers.drop_front(3))
    ranges.push_back(
        {uint32_t(numbers[0]), uint32_t(numbers[1]), uint32_t(numbers[2])});
  return ranges;
}
