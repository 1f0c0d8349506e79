//===- CollVerifiers.cpp - Verifiers of coll ops --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers look at one op and the symbols it names. Whether a schedule or a
// program is right as a whole is for coll-check-schedule and
// coll-check-program. The label of the rule stands beside the code that
// enforces it.
//
//===----------------------------------------------------------------------===//

#include "BodyHolds.h"

#include "TransferVerifiers.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/Instance.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

//===----------------------------------------------------------------------===//
// Problem level
//===----------------------------------------------------------------------===//

/// A topology has one timing at most, which fits it.
static LogicalResult verifyTiming(TopologyOp op, const Topology &topology) {
  auto timings = op.getBody().getOps<TimingOp>();
  if (timings.empty())
    return success();
  TimingOp timing = *timings.begin();
  if (std::next(timings.begin()) != timings.end()) // topology_c2
    return op.emitOpError("has a second coll.timing");
  auto fits = [&](ArrayRef<double> numbers, size_t count) {
    return numbers.size() == count || numbers.size() == 1;
  };
  size_t links = topology.links().size(), limits = topology.limits().size();
  if (!fits(timing.getLatencies(), links) ||
      !fits(timing.getRates(), limits)) // timing_c1
    return timing.emitOpError()
           << "has " << timing.getLatencies().size() << " latencies and "
           << timing.getRates().size() << " rates, but the topology has "
           << links << " links and " << limits << " limits";
  auto isTime = [](double number) { return number >= 0 && number <= 1e9; };
  auto isRate = [](double number) { return number >= 1e-6 && number <= 1e9; };
  auto orUsual = [](std::optional<APFloat> number, double usual) {
    return number ? number->convertToDouble() : usual;
  };
  auto list = [](std::optional<ArrayRef<double>> numbers) {
    return numbers.value_or(ArrayRef<double>());
  };
  if ((timing.getBlocks() && timing.getBlocks()->size() != 4) ||
      (timing.getFlags() && timing.getFlags()->size() != 2)) // timing_c3
    return timing.emitOpError("has other than four numbers for blocks and two "
                              "for flags");
  if (!llvm::all_of(timing.getLatencies(), isTime) ||
      !llvm::all_of(list(timing.getBlocks()), isTime) ||
      !llvm::all_of(list(timing.getFlags()), isTime) ||
      !isTime(orUsual(timing.getLaunch(), 0)) ||
      !isTime(orUsual(timing.getStart(), 0)) ||
      !isTime(orUsual(timing.getBarrier(), 0)) ||
      !llvm::all_of(timing.getRates(), isRate) ||
      !isRate(orUsual(timing.getCopies(), 1))) // timing_c2
    return timing.emitOpError("has a time or rate that cannot be, expected "
                              "microseconds from 0 to 1e9 and GB/s from 1e-6 "
                              "to 1e9");
  return success();
}

LogicalResult TopologyOp::verifyRegions() {
  if (failed(verifyBodyHolds<LinkOp, LimitOp, SwitchOp, TimingOp>(
          *this, getBody(), // topology_c2
          "coll.link, coll.limit, coll.switch and coll.timing")))
    return failure();
  // topology_c1, c3-c6, link_c1-c2, limit_c1-c3, switch_c1-c3
  FailureOr<Topology> topology = importTopology(*this);
  return failed(topology) ? failure() : verifyTiming(*this, *topology);
}

LogicalResult CollectiveOp::verifyRegions() {
  if (failed(verifyBodyHolds<PreOp, PostOp>( // collective_c1
          *this, getBody(), "coll.pre and coll.post")))
    return failure();
  return importCollective(*this); // collective_c2-c4
}

LogicalResult SynthesizeOp::verifySymbolUses(SymbolTableCollection &) {
  return importInstance(*this); // synthesize_c1-c4
}

//===----------------------------------------------------------------------===//
// Program level
//===----------------------------------------------------------------------===//

/// Checks the peers of one rank's channels.
static LogicalResult verifyChannels(RankOp rank, unsigned numRanks) {
  llvm::SmallDenseSet<unsigned> peers;
  for (ChannelOp channel : rank.getBody().getOps<ChannelOp>()) {
    if (channel.getPeer() >= numRanks)
      return channel.emitOpError()
             << "leads to rank " << int32_t(channel.getPeer())
             << ", but the program has " << numRanks << " ranks";
    if (!peers.insert(channel.getPeer()).second)
      return channel.emitOpError()
             << "is the second one from rank " << rank.getRank() << " to rank "
             << channel.getPeer();
  }
  return success();
}

/// All channels have the same number of barriers. Neither they nor copy engines
/// go with flags: the kernels of steps do not count launches, by which flags
/// grow, and engines do not set them.
static LogicalResult verifyBarriers(ProgramOp program) {
  std::optional<unsigned> expected;
  bool hasFlags = program
                      ->walk([](Operation *op) {
                        return isa<SignalOp, WaitOp>(op)
                                   ? WalkResult::interrupt()
                                   : WalkResult::advance();
                      })
                      .wasInterrupted();
  for (RankOp rank : program.getBody().getOps<RankOp>())
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>()) {
      auto barriers = channel.getBody().getOps<BarrierOp>();
      unsigned count = std::distance(barriers.begin(), barriers.end());
      if (expected.value_or(count) != count) // program_c6
        return channel.emitOpError()
               << "has " << count << " barriers, but others have " << *expected;
      expected = count;
      if (count > 0 && program.getDoubleBuffered()) // program_c9
        return program.emitOpError(
            "has both barriers and scratch that is double-buffered");
      unsigned passed = 0;
      for (Operation &op : channel.getBody().getOps()) {
        passed += isa<BarrierOp>(op);
        if (hasFlags && isDMA(&op)) // put_c3, get_c3
          return op.emitOpError(
              "needs a copy engine in a program with signals and waits");
        if (count > 0 && !isa<BarrierOp>(op) &&
            (passed == 0 || passed == count)) // program_c8
          return op.emitOpError("stands outside of the barriers");
        if (count > 0 && isa<SignalOp, WaitOp>(op)) // program_c12
          return op.emitOpError("is a flag in a program with barriers, whose "
                                "kernels do not count launches");
      }
    }
  return success();
}

/// LL words travel one way only, and are told apart only in scratch.
static LogicalResult verifyLLOp(Operation *op) {
  bool announces = TypeSwitch<Operation *, bool>(op)
                       .Case<SignalOp, WaitOp>([](auto flag) {
                         return flag.getFlag() == Flag::Arrival;
                       })
                       .Default(false);
  if (announces)
    return op->emitOpError("is about an arrival, which LL words tell by "
                           "themselves");
  if (isa<GetOp, GetReduceOp, MulticastOp, LoadReduceOp>(op) || isDMA(op))
    return op->emitOpError("does not push, as LL words have to");
  bool reachesPeer = TypeSwitch<Operation *, bool>(op)
                         .Case<PutOp, ReducePutOp>([](auto put) {
                           return put.getDstBuffer() != Buffer::Scratch;
                         })
                         .Default(false);
  if (reachesPeer)
    return op->emitOpError(
        "writes the output of a peer, where no LL words are");
  bool readsOutput = TypeSwitch<Operation *, bool>(op)
                         .Case<PutOp, CopyOp>([](auto op) {
                           return op.getSrcBuffer() == Buffer::Output;
                         })
                         .Case<LocalReduceOp, ReducePutOp>([](auto op) {
                           return op.getSrcBuffer() == Buffer::Output ||
                                  op.getRhsBuffer() == Buffer::Output;
                         })
                         .Default(false);
  if (readsOutput)
    return op->emitOpError("reads an output, where no LL words are");
  return success();
}

static LogicalResult verifyLL(ProgramOp program) {
  if (!program.getLl())
    return success();
  if (!program.getDoubleBuffered()) // program_c10
    return program.emitOpError(
        "has LL words, but its scratch is not double-buffered");
  for (RankOp rank : program.getBody().getOps<RankOp>())
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
      for (Operation &op : channel.getBody().getOps())
        if (failed(verifyLLOp(&op))) // program_c11
          return failure();
  return success();
}

/// Fails if the chunks of a transfer, or terms, have different types.
static LogicalResult verifyWidths(TransferOpInterface op,
                                  ArrayRef<RankOp> ranks) {
  auto check = [&](const SlotRange &range, unsigned last) -> LogicalResult {
    unsigned wide = RankOp(ranks[range.rank]).getWide();
    if (range.buffer != Buffer::Scratch || (range.slot < wide) == (last < wide))
      return success();
    return op->emitOpError()
           << "has chunks in scratch[" << range.slot << "] to scratch[" << last
           << "] of rank " << range.rank << ", of which only the first " << wide
           << " are wide";
  };
  SmallVector<SlotRange, 2> reads = op.getReads();
  for (const SlotRange &read : reads) {
    const SlotRange &end = &read == reads.begin() ? read : reads.back();
    if (read.rank < ranks.size() && failed(check(read, end[end.size() - 1])))
      return failure();
  }
  SlotRange write = op.getWrite();
  return write.rank < ranks.size() ? check(write, write[write.size() - 1])
                                   : success();
}

static LogicalResult verifySumWidth(ProgramOp program) { // program_c16
  auto ranks = llvm::to_vector(program.getBody().getOps<RankOp>());
  bool isWide = program.getSumWidth() != 1;
  if (isWide && program.getLl())
    return program.emitOpError("has LL words, which hold no sums in f32");
  for (RankOp rank : ranks) {
    if (rank.getWide() > rank.getScratch()) // rank_c2
      return rank.emitOpError() << "has " << rank.getWide() << " wide slots of "
                                << rank.getScratch();
    if (!isWide && rank.getWide() != 0)
      return rank.emitOpError() << "has " << rank.getWide()
                                << " wide slots, but the program no sum_width";
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
      for (Operation &op : channel.getBody().getOps()) {
        if (isWide && isDMA(&op))
          return op.emitOpError("needs a copy engine, which converts nothing, "
                                "in a program with sum_width");
        auto transfer = dyn_cast<TransferOpInterface>(op);
        if (isWide && transfer && failed(verifyWidths(transfer, ranks)))
          return failure();
      }
  }
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  if (failed(
          verifyBodyHolds<RankOp>(*this, getBody(), "coll.rank"))) // program_c2
    return failure();
  unsigned next = 0;
  for (RankOp rank : getBody().getOps<RankOp>())
    if (rank.getRank() != next++) // program_c2
      return rank.emitOpError() << "is number " << int32_t(rank.getRank())
                                << ", expected " << next - 1;
  for (RankOp rank : getBody().getOps<RankOp>())
    if (failed(verifyChannels(rank, next))) // program_c5
      return failure();
  if (failed(verifyBarriers(*this)))
    return failure();
  return failure(failed(verifyLL(*this)) || failed(verifySumWidth(*this)));
}

LogicalResult RankOp::verifyRegions() {
  return verifyBodyHolds<ChannelOp>(*this, getBody(),
                                    "coll.channel"); // rank_c1
}

LogicalResult ChannelOp::verifyRegions() {
  if (failed(verifyBodyHolds<PutOp, GetOp, CopyOp, LocalReduceOp, ReducePutOp,
                             GetReduceOp, MulticastOp, LoadReduceOp, SignalOp,
                             WaitOp, BarrierOp>(
          *this, getBody(),
          "transfers, signals, waits and barriers"))) // channel_c1
    return failure();
  llvm::SmallDenseMap<std::pair<unsigned, Flag>, unsigned> counts;
  for (SignalOp signal : getBody().getOps<SignalOp>()) { // program_c4
    Flag flag = signal.getFlag();
    unsigned next = ++counts[{signal.getPeer(), flag}];
    if (flag == Flag::Ready && next != 1)
      return signal.emitOpError("says once more that the rank is ready");
    if (flag == Flag::Arrival && signal.getValue() != next)
      return signal.emitOpError()
             << "carries value " << signal.getValue() << ", expected " << next;
  }
  return success();
}

/// The value of a ready flag is always 1: there is one per launch.
template <typename FlagOp> static LogicalResult verifyFlagValue(FlagOp op) {
  if (op.getFlag() == Flag::Ready && op.getValue() != 1) // signal_c2, wait_c1
    return op.emitOpError()
           << "has value " << op.getValue() << " on a ready flag, expected 1";
  return success();
}
LogicalResult SignalOp::verify() {
  auto channel = cast<ChannelOp>((*this)->getParentOp());
  unsigned rank = cast<RankOp>(channel->getParentOp()).getRank();
  if (getFlag() == Flag::Ready && channel.getPeer() != rank) // signal_c1
    return emitOpError() << "announces that rank " << rank
                         << " is ready in its channel to rank "
                         << channel.getPeer();
  return verifyFlagValue(*this);
}
LogicalResult WaitOp::verify() { return verifyFlagValue(*this); }

LogicalResult ProgramOp::verifySymbolUses(SymbolTableCollection &) {
  FailureOr<Problem> problem = importProblem(*this); // program_c1
  if (failed(problem))
    return failure();
  SmallVector<RankOp> ranks(getBody().getOps<RankOp>());
  if (ranks.size() != problem->collective.numRanks()) // program_c2
    return emitOpError() << "has " << ranks.size() << " ranks, but topology @"
                         << getTopology() << " has "
                         << problem->collective.numRanks();
  SmallVector<std::array<unsigned, 3>> slots;
  for (auto [rank, op] : llvm::enumerate(ranks))
    slots.push_back({problem->collective.inputSlots(rank),
                     problem->collective.outputSlots(rank), op.getScratch()});
  uint64_t scratch = 0;
  for (const auto &[input, output, ofRank] : slots)
    scratch += ofRank;
  if (scratch > Schedule::maxSends) // program_c14
    return emitOpError() << "has " << scratch
                         << " slots of scratch, expected at most "
                         << Schedule::maxSends << " of all ranks";
  for (RankOp rank : ranks)
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
      for (Operation &op : channel.getBody().getOps())
        if (failed(
                verifyBlockTransfer(&op, {problem->collective, slots,
                                          rank.getRank(), channel.getPeer()})))
          return failure();
  return success();
}
