//===- Program.cpp - Reading a coll.program -------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Analysis/Program.h"

#include "mlir/IR/Threading.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

unsigned coll::getRank(ChannelOp channel) {
  return cast<RankOp>(channel->getParentOp()).getRank();
}

std::optional<Transfer> coll::getTransfer(Operation *op) {
  auto transfer = dyn_cast<TransferOpInterface>(op);
  if (!transfer || !isa<ChannelOp>(op->getParentOp()))
    return std::nullopt;
  return Transfer{transfer.getChunk(),
                  transfer.getCount(),
                  transfer.getStep(),
                  transfer.getReads(),
                  transfer.getWrite(),
                  transfer.completes(),
                  transfer.getTimes(),
                  transfer.getChunkStride(),
                  isa<MulticastOp, LoadReduceOp>(op)};
}

void coll::forEachRankApart(ProgramOp program,
                            function_ref<void(RankOp)> visit) {
  SmallVector<RankOp> ranks(program.getBody().getOps<RankOp>());
  parallelForEach(program.getContext(), ranks, visit);
}

size_t coll::countRanks(ProgramOp program) {
  auto ranks = program.getBody().getOps<RankOp>();
  return std::distance(ranks.begin(), ranks.end());
}

llvm::SmallVector<RankOp, 0> coll::ranksOf(ProgramOp program) {
  return llvm::to_vector<0>(program.getBody().getOps<RankOp>());
}

bool coll::isSynchronized(ProgramOp program) {
  return program
      ->walk([](Operation *op) {
        return isa<FlagOpInterface, BarrierOp>(op) ? WalkResult::interrupt()
                                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

uint64_t coll::countSpread(RankOp rank) {
  uint64_t sum = 0;
  for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
    sum += channel.getSpread();
  return sum;
}

FlagTable::FlagTable(ProgramOp program) : flagsOfRank(countRanks(program)) {
  forEachChannel(program, [&](ChannelOp channel) {
    if (channel.getSpread() != 1)
      spreads[{getRank(channel), channel.getPeer()}] = channel.getSpread();
  });
  // Numbered by who polls, so that a block's flags share cache lines.
  auto number = [&](const FlagId &id) -> Entry & {
    auto [it, isNew] = flags.try_emplace(keyOf(id));
    if (isNew) {
      it->second.index = flagsOfRank[id.dst];
      flagsOfRank[id.dst] += spread(id);
    }
    return it->second;
  };
  forEachOp<WaitOp>(program, [&](WaitOp wait) { number(getFlag(wait)); });
  forEachOp<SignalOp>(
      program, [&](SignalOp signal) { ++number(getFlag(signal)).signals; });
}

unsigned FlagTable::signals(const FlagId &flag) const {
  auto it = flags.find(keyOf(flag));
  return it == flags.end() ? 0 : it->second.signals;
}

unsigned FlagTable::index(const FlagId &flag) const {
  return flags.at(keyOf(flag)).index;
}

unsigned FlagTable::numFlags(unsigned rank) const { return flagsOfRank[rank]; }

unsigned FlagTable::spread(const FlagId &flag) const {
  auto it = spreads.find({flag.src, flag.channel});
  return it == spreads.end() ? 1 : it->second;
}
