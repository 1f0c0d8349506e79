//===- UseSwitches.cpp - Let switches copy and reduce ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every slot of a program is written once, so that what a put brings is what
// its source holds, whenever somebody reads it. All that is found is found
// before anything changes; then the slots that the ranks of a switch have in
// common come before all others.
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "ForSwitches.h"
#include "ScratchSlots.h"
#include "sccl/Analysis/ProblemAnalysis.h"
#include "sccl/Analysis/Program.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

#include <array>
#include <map>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_USESWITCHES
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

/// Makes `next` a part of `transfer` if it goes on where that ends.
static bool join(Transfer &transfer, const Transfer &next,
                 unsigned perSegment) {
  auto follows = [&](const SlotRange &range, const SlotRange &other) {
    SlotRange expected = range;
    expected.slot += transfer.count;
    expected.count = next.count;
    return other == expected;
  };
  bool goesOn =
      transfer.times == 1 && next.times == 1 && transfer.step == next.step &&
      transfer.isFinal == next.isFinal &&
      transfer.chunk + transfer.count == next.chunk &&
      next.chunk % perSegment != 0 && follows(transfer.write, next.write) &&
      llvm::all_of(llvm::zip(transfer.reads, next.reads), [&](auto reads) {
        return follows(std::get<0>(reads), std::get<1>(reads));
      });
  if (goesOn)
    transfer.count += next.count;
  return goesOn;
}

/// Makes one op of copies, and of sums by a switch, that follow each other in
/// the body of a channel, belong to one step, and go on with each other's
/// chunks and slots. Segments have `perSegment` chunks.
static void joinNeighbours(Block &block, unsigned perSegment) {
  Operation *last = nullptr;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isa<CopyOp, LoadReduceOp>(op)) {
      last = nullptr;
      continue;
    }
    if (last && last->getName() == op.getName()) {
      Transfer transfer = *getTransfer(last);
      if (join(transfer, *getTransfer(&op), perSegment)) {
        cast<TransferOpInterface>(last).setPlaces(transfer);
        op.erase();
        continue;
      }
    }
    last = &op;
  }
}

namespace {
/// When a channel does what, within a step: nothing that comes first waits for
/// anything that comes later, on any rank.
enum class Turn : uint8_t { Stage, Multicast, Sum, Deliver, Other };

class SwitchUse {
public:
  SwitchUse(ProgramOp program, const Problem &problem)
      : program(program), perSegment(problem.collective.chunksPerSegment()),
        uses(program), ranks(ranksOf(program)),
        found(findForSwitches(program, problem.topology, uses)),
        groups(found.groups), groupOf(found.groupOf),
        multicasts(found.multicasts), sums(found.sums),
        builder(program.getContext()) {}

  void run() {
    forEachOp<PutOp>(program, [&](PutOp put) { put->removeAttr(switchHint); });
    apart = haveSeveralSteps();
    makeRoom();
    keepInScratch();
    for (SwitchSum &sum : sums)
      emit(sum);
    for (SwitchCopy &multicast : multicasts)
      emit(multicast);
    deliverResults();
    dropUnread();
    arrange();
    // What ranks have in common is used on all of them, and keeps its place.
    compactScratch(program);
  }

  size_t numMulticasts() const { return multicasts.size(); }
  size_t numSums() const { return sums.size(); }

private:
  using New = std::pair<std::pair<unsigned, Turn>, Operation *>;

  bool haveSeveralSteps() const;
  void makeRoom();
  void keepInScratch();
  void emit(SwitchSum &sum);
  void emit(SwitchCopy &multicast);
  void dropUnread();
  void arrange();

  /// The channel that has its `turn`: that of the rank to itself, or one of
  /// those to the next ranks of the switch where they are `apart`.
  ChannelOp channelFor(unsigned rank, Turn turn) {
    unsigned distance = !apart                    ? 0
                        : turn == Turn::Multicast ? 1
                        : turn == Turn::Sum       ? 2
                        : turn == Turn::Stage     ? 3
                                                  : 0;
    unsigned peer = rank;
    if (distance != 0) {
      const std::vector<unsigned> &of = groups[*groupOf[rank]].by->ranks;
      size_t place = llvm::lower_bound(of, rank) - of.begin();
      peer = of[(place + distance) % of.size()];
    }
    for (ChannelOp channel : ranks[rank].getBody().getOps<ChannelOp>())
      if (channel.getPeer() == peer)
        return channel;
    builder.setInsertionPointToEnd(&ranks[rank].getBody().front());
    auto channel = ChannelOp::create(builder, program.getLoc(), peer);
    builder.createBlock(&channel.getBody());
    return channel;
  }
  /// Where `range` is since there is room.
  SlotRange moved(SlotRange range) const {
    if (range.buffer == Buffer::Scratch && groupOf[range.rank])
      range.slot += groups[*groupOf[range.rank]].slots;
    return range;
  }
  /// A place like `range` in new scratch of its rank.
  SlotRange newScratch(const SlotRange &range) {
    RankOp rank = ranks[range.rank];
    SlotRange place = inScratch(range, rank.getScratch());
    rank.setScratch(rank.getScratch() + range.size());
    return place;
  }
  static SlotRange inScratch(SlotRange range, unsigned slot) {
    range.buffer = Buffer::Scratch;
    range.slot = slot;
    range.stride = range.times > 1 ? range.count : 0;
    return range;
  }
  /// Adds an op of a step in the channel that has its turn.
  template <typename Op, typename... Args>
  void add(unsigned rank, unsigned step, Turn turn, Args... args) {
    ChannelOp channel = channelFor(rank, turn);
    builder.setInsertionPointToEnd(&channel.getBody().front());
    turns[channel].push_back(
        {{step, turn}, Op::create(builder, program.getLoc(), args...)});
  }
  /// Copies chunks of `like` within a rank, in its turn.
  void copy(const Transfer &like, Turn turn, const SlotRange &from,
            const SlotRange &to) {
    add<CopyOp>(to.rank, like.step, turn, like.chunk, like.count, from.buffer,
                from.slot, to.buffer, to.slot, like.step, like.times,
                like.chunkStride, from.stride, to.stride);
  }
  std::optional<SlotRange> resultsAt(const SlotRange &range);
  void deliverResults();
  /// Where `range`, which a switch is to read, is in scratch: there, or a copy.
  SlotRange staged(const Transfer &like, const SlotRange &range);

  ProgramOp program;
  const unsigned perSegment;
  bool apart = false; ///< channels for copies, sums and multicasts
  SlotUses uses;
  SmallVector<RankOp, 0> ranks;
  ForSwitches found;
  std::vector<SwitchGroup> &groups;
  std::vector<std::optional<unsigned>> &groupOf;
  std::vector<SwitchCopy> &multicasts;
  std::vector<SwitchSum> &sums;
  llvm::MapVector<Operation *, std::vector<New>> turns; ///< by channel
  /// A sum in scratch that belongs to the output.
  struct Result {
    unsigned slot, step, chunk;
    bool isDelivered = false;
  };
  std::map<std::pair<unsigned, unsigned>, Result> results; ///< by rank and slot
  OpBuilder builder;
};
} // namespace

/// True if there are sums or multicasts of several steps, as with pieces.
bool SwitchUse::haveSeveralSteps() const {
  auto differ = [](const auto &all, auto stepOf) {
    return llvm::any_of(all, [&](const auto &each) {
      return stepOf(each) != stepOf(all.front());
    });
  };
  return differ(sums, [](const SwitchSum &sum) { return sum.step; }) ||
         differ(multicasts, [](const SwitchCopy &multicast) {
           return multicast.transfer.step;
         });
}

/// Lets scratch begin with what ranks of a switch have in common.
void SwitchUse::makeRoom() {
  forEachOp<TransferOpInterface>(program, [&](TransferOpInterface op) {
    Transfer transfer = *getTransfer(op);
    for (SlotRange &read : transfer.reads)
      read = moved(read);
    transfer.write = moved(transfer.write);
    op.setPlaces(transfer);
  });
  for (RankOp rank : ranks)
    if (std::optional<unsigned> group = groupOf[rank.getRank()])
      rank.setScratch(rank.getScratch() + groups[*group].slots);
}

static void writeToScratch(Operation *op) {
  if (auto put = dyn_cast<PutOp>(op))
    put.setDstBuffer(Buffer::Scratch);
  else
    cast<LocalReduceOp>(op).setDstBuffer(Buffer::Scratch);
}

/// Has what is written to an output, put to others and multicast, and comes
/// back with that, written to scratch at once.
void SwitchUse::keepInScratch() {
  llvm::DenseSet<Operation *> replaced;
  for (const SwitchSum &sum : sums)
    replaced.insert(sum.op);
  for (const SwitchCopy &multicast : multicasts)
    replaced.insert_range(multicast.puts);
  auto keyOf = [](const SlotRange &range) {
    return std::array{unsigned(range.buffer),
                      range.rank,
                      range.slot,
                      range.count,
                      range.times,
                      range.stride};
  };
  std::map<std::array<unsigned, 6>, std::vector<PutOp>> puts; ///< by source
  forEachOp<PutOp>(program, [&](PutOp put) {
    puts[keyOf(put.getReads()[0])].push_back(put);
  });
  for (SwitchCopy &multicast : multicasts) {
    const SlotRange &read = multicast.transfer.reads[0];
    const std::vector<PutOp> &readers = puts[keyOf(read)];
    auto writer = dyn_cast_or_null<TransferOpInterface>(uses.writerOf(read, 0));
    bool isKnown = writer && isa<PutOp, LocalReduceOp>(writer);
    if (read.buffer != Buffer::Output || !isKnown ||
        replaced.contains(writer) || writer.getWrite() != read ||
        !uses.areReadBy(read, readers.size()))
      continue;
    Transfer transfer = *getTransfer(writer);
    multicast.kept = transfer.write = newScratch(read);
    writeToScratch(writer);
    writer.setPlaces(transfer);
    for (PutOp put : readers) {
      transfer = *getTransfer(put);
      transfer.reads[0] = *multicast.kept;
      put.setSrcBuffer(Buffer::Scratch);
      put.setPlaces(transfer);
    }
  }
}

void SwitchUse::emit(SwitchSum &sum) {
  Transfer transfer = *getTransfer(sum.op);
  for (const SlotRange &term : sum.terms)
    if (sum.isFirst)
      copy(transfer, Turn::Stage, moved(term), inScratch(term, sum.slot));
  unsigned rank = getRank(cast<ChannelOp>(sum.op->getParentOp()));
  SlotRange result = transfer.write;
  if (result.rank != rank || result.buffer != Buffer::Scratch) {
    result.rank = rank;
    result = newScratch(result);
  }
  const std::vector<unsigned> &of = groups[sum.group].by->ranks;
  add<LoadReduceOp>(rank, transfer.step, Turn::Sum, transfer.chunk,
                    transfer.count, Buffer::Scratch, sum.slot, Buffer::Scratch,
                    result.slot, transfer.step, /*times=*/1, 0, 0, 0,
                    SmallVector<int32_t>(of.begin(), of.end()),
                    transfer.isFinal);
  if (transfer.write.rank != rank) {
    builder.setInsertionPoint(sum.op);
    PutOp::create(builder, program.getLoc(), /*dma=*/false, transfer.chunk,
                  transfer.count, Buffer::Scratch, result.slot,
                  transfer.write.buffer, transfer.write.slot, transfer.step,
                  /*times=*/1, 0, 0, 0);
  } else if (transfer.write.buffer != Buffer::Scratch) {
    for (unsigned i = 0; i < transfer.count; ++i)
      results[{rank, transfer.write[i]}] = {result[i], transfer.step,
                                            transfer.chunk + i};
  }
  sum.op->erase();
}

/// Where the sums that belong to `range` of an output are in scratch.
std::optional<SlotRange> SwitchUse::resultsAt(const SlotRange &range) {
  std::optional<SlotRange> place;
  for (unsigned i = 0; range.buffer == Buffer::Output && i < range.size();
       ++i) {
    auto it = results.find({range.rank, range[i]});
    if (it == results.end() || (place && it->second.slot != place->slot + i))
      return std::nullopt;
    if (!place)
      place = inScratch(range, it->second.slot);
  }
  return place;
}

SlotRange SwitchUse::staged(const Transfer &like, const SlotRange &range) {
  SlotRange place = range.buffer == Buffer::Scratch ? range : newScratch(range);
  if (place != range)
    copy(like, Turn::Stage, range, place);
  return place;
}

/// What has not come to its output with a multicast.
void SwitchUse::deliverResults() {
  for (auto &[place, result] : results) {
    auto [rank, slot] = place;
    if (!result.isDelivered)
      copy({result.chunk, 1, result.step, {}, {}}, Turn::Deliver,
           {rank, Buffer::Scratch, result.slot, 1},
           {rank, Buffer::Output, slot, 1});
  }
}

void SwitchUse::emit(SwitchCopy &multicast) {
  const Transfer &transfer = multicast.transfer;
  SlotRange read = moved(transfer.reads[0]);
  std::optional<SlotRange> sums = resultsAt(read);
  bool isKept = multicast.kept.has_value();
  SlotRange source = sums     ? *sums
                     : isKept ? *multicast.kept
                              : staged(transfer, read);
  SlotRange target = inScratch(source, multicast.slot);
  for (unsigned rank : groups[multicast.group].by->ranks)
    add<MulticastOp>(source.rank, transfer.step, Turn::Multicast,
                     transfer.chunk, transfer.count, source.buffer, source.slot,
                     target.buffer, target.slot, transfer.step, transfer.times,
                     transfer.chunkStride, source.stride, target.stride, rank);
  // Unless somebody else waits for the output.
  if (isKept || (sums && uses.areReadBy(read, multicast.puts.size()))) {
    copy(transfer, Turn::Deliver, target, read);
    for (unsigned i = 0; sums && i < read.size(); ++i)
      results[{read.rank, read[i]}].isDelivered = true;
  }
  for (PutOp put : multicast.puts) {
    SlotRange to = put.getWrite();
    target.rank = to.rank;
    copy(transfer, Turn::Deliver, target, to);
    put.erase();
  }
}

/// Drops what only brought terms to where they were added up.
void SwitchUse::dropUnread() {
  SmallVector<Operation *> unread;
  do {
    for (Operation *op : unread)
      op->erase();
    unread.clear();
    SlotUses now(program);
    forEachOp<TransferOpInterface>(program, [&](TransferOpInterface op) {
      SlotRange write = op.getWrite();
      if (isa<PutOp, CopyOp>(op) && write.buffer == Buffer::Scratch &&
          now.areReadBy(write, 0))
        unread.push_back(op);
    });
  } while (!unread.empty());
}

/// Brings the ops of channels in order, and drops the channels that have
/// nothing to do any more.
void SwitchUse::arrange() {
  for (auto &[channel, added] : turns) {
    Block &block = cast<ChannelOp>(channel).getBody().front();
    std::vector<New> all = std::move(added);
    llvm::DenseSet<Operation *> isNew;
    for (const New &entry : all)
      isNew.insert(entry.second);
    for (Operation &op : block)
      if (!isNew.contains(&op))
        all.push_back(
            {{cast<TransferOpInterface>(op).getStep(), Turn::Other}, &op});
    llvm::stable_sort(all, llvm::less_first());
    for (const New &entry : all)
      entry.second->moveBefore(&block, block.end());
    joinNeighbours(block, perSegment);
  }
  for (RankOp rank : ranks)
    for (auto channel :
         llvm::make_early_inc_range(rank.getBody().getOps<ChannelOp>()))
      if (channel.getPeer() != rank.getRank() &&
          channel.getBody().front().empty())
        channel.erase();
}

/// Why switches cannot be used in `program`, if that is so.
static std::optional<StringRef> whyNot(ProgramOp program) {
  if (program.getLl())
    return "LL words tell of themselves only in what is put";
  if (program.getDoubleBuffered())
    return "halves of scratch are not at the same place on all ranks";
  if (program.getSumWidth() != 1)
    return "wide slots come first in scratch";
  if (usesCopyEngines(program))
    return "copy engines move something";
  return std::nullopt;
}

namespace {
struct UseSwitchesPass : coll::impl::UseSwitchesBase<UseSwitchesPass> {
  using UseSwitchesBase::UseSwitchesBase;

  void runOnOperation() override {
    markAnalysesPreserved<ProblemAnalysis>();
    ProgramOp program = getOperation();
    if (isSynchronized(program))
      return;
    const Problem *problem = getAnalysis<ProblemAnalysis>().get();
    if (!problem)
      return signalPassFailure();
    if (std::optional<StringRef> reason = whyNot(program)) {
      program.emitOpError() << "cannot use switches: " << *reason;
      return signalPassFailure();
    }
    SwitchUse use(program, *problem);
    use.run();
    if (explain || use.numMulticasts() + use.numSums() == 0)
      program.emitRemark() << "chunks that a switch multicasts: "
                           << use.numMulticasts()
                           << ", sums that it forms: " << use.numSums();
  }
};
} // namespace
