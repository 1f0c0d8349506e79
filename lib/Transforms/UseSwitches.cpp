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

#include "JoinedNeighbours.h"
#include "ScratchSlots.h"
#include "SlotUses.h"
#include "SwitchHint.h"
#include "sccl/Analysis/ProblemAnalysis.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_USESWITCHES
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

namespace {
/// When a channel does what, within a step: nothing that comes first waits for
/// anything that comes later, on any rank.
enum class Turn : uint8_t { Stage, Multicast, Sum, Deliver, Other };

/// Ranks that a switch joins, and the slots that they have in common.
struct SwitchGroup {
  const Switch *by;
  unsigned slots = 0;
};

/// What a rank puts to all others of its switch.
struct Multicast {
  unsigned group;
  Transfer transfer; ///< what it reads; of no rank what it writes
  std::vector<PutOp> puts;
  unsigned slot = 0; ///< in common
};

/// What a rank adds up of what all others of its switch have put, and its own.
struct Sum {
  unsigned group;
  unsigned step, chunk;
  TransferOpInterface op;
  std::vector<SlotRange> terms; ///< by rank of the switch
  unsigned slot = 0;            ///< in common
  bool isFirst = true;          ///< to copy the terms there
};

class SwitchUse {
public:
  SwitchUse(ProgramOp program, const Problem &problem)
      : program(program), perSegment(problem.collective.chunksPerSegment()),
        uses(program), ranks(ranksOf(program)), groupOf(ranks.size()),
        builder(program.getContext()) {
    const Topology &topology = problem.topology;
    for (const Switch &by : topology.switches()) {
      if (llvm::any_of(by.ranks, [&](unsigned rank) { return groupOf[rank]; }))
        continue;
      for (unsigned rank : by.ranks)
        groupOf[rank] = unsigned(groups.size());
      groups.push_back({&by});
    }
  }

  void run() {
    forEachOp<PutOp>(program,
                     [&](PutOp put) { hasHints |= put->hasAttr(switchHint); });
    findSums();
    findMulticasts();
    forEachOp<PutOp>(program, [&](PutOp put) { put->removeAttr(switchHint); });
    apart = haveSeveralSteps();
    makeRoom();
    for (Sum &sum : sums)
      emit(sum);
    for (Multicast &multicast : multicasts)
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

  void findMulticasts();
  void findSums();
  template <typename SumOp> void findSum(SumOp op);
  std::optional<SlotRange> sourceOf(const SlotRange &read) const;
  SlotRange beforeCopies(SlotRange range) const;
  /// True if the schedule has `put` so, or says nothing of switches at all.
  bool mayGo(PutOp put, Transport by) const {
    auto hint = put->getAttrOfType<TransportAttr>(switchHint);
    return hint ? hint.getValue() == by : !hasHints;
  }
  bool haveSeveralSteps() const;
  void makeRoom();
  void emit(Sum &sum);
  void emit(Multicast &multicast);
  void dropUnread();
  void arrange();

  /// The channel that has its `turn`: that of the rank to itself, or one of
  /// those to the next ranks of the switch where they are `apart`.
  ChannelOp channelFor(unsigned rank, Turn turn) {
    unsigned distance =
        apart ? (turn == Turn::Multicast) + 2 * (turn == Turn::Sum) : 0;
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
  std::vector<SwitchGroup> groups;
  std::vector<std::optional<unsigned>> groupOf; ///< by rank
  std::vector<Multicast> multicasts;
  std::vector<Sum> sums;
  llvm::DenseSet<Operation *> summed; ///< puts of terms; only looked up
  bool hasHints = false;
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

void SwitchUse::findMulticasts() {
  using Key = std::array<unsigned, 9>;
  std::map<Key, std::vector<PutOp>> puts;
  forEachOp<PutOp>(program, [&](PutOp put) {
    if (summed.contains(put) || !mayGo(put, Transport::Multicast))
      return;
    SlotRange read = put.getReads()[0];
    puts[{put.getStep(), read.rank, put.getChunk(), put.getCount(),
          put.getTimes(), put.getChunkStride(), unsigned(read.buffer),
          read.slot, read.stride}]
        .push_back(put);
  });
  for (auto &[key, alike] : puts) {
    Transfer transfer = *getTransfer(alike.front());
    unsigned rank = transfer.reads[0].rank;
    std::optional<unsigned> group = groupOf[rank];
    if (!group || !groups[*group].by->multicast)
      continue;
    std::vector<unsigned> reached = {rank};
    for (PutOp put : alike)
      reached.push_back(put.getWrite().rank);
    llvm::sort(reached);
    if (reached != groups[*group].by->ranks)
      continue;
    unsigned &slots = groups[*group].slots;
    multicasts.push_back({*group, transfer, std::move(alike), slots});
    slots += transfer.size();
  }
}

/// What a put of another rank has brought to `read`, where that is, or nothing.
std::optional<SlotRange> SwitchUse::sourceOf(const SlotRange &read) const {
  auto put = dyn_cast_or_null<PutOp>(uses.writerOf(read, 0));
  if (!put || !mayGo(put, Transport::LoadReduce))
    return std::nullopt;
  return originOf(*getTransfer(put), read);
}

/// Where the rank has what is in `range`, before it was copied.
SlotRange SwitchUse::beforeCopies(SlotRange range) const {
  while (auto copy = dyn_cast_or_null<CopyOp>(uses.writerOf(range, 0))) {
    std::optional<SlotRange> origin = originOf(*getTransfer(copy), range);
    if (!origin)
      break;
    range = *origin;
  }
  return range;
}

template <typename SumOp> void SwitchUse::findSum(SumOp op) {
  Transfer transfer = *getTransfer(op);
  unsigned rank = transfer.reads[0].rank;
  std::optional<unsigned> group = groupOf[rank];
  if (!group || !groups[*group].by->reduces || transfer.times != 1)
    return;
  const std::vector<unsigned> &of = groups[*group].by->ranks;
  std::map<unsigned, SlotRange> terms;
  for (const SlotRange &read : transfer.reads) {
    SlotRange term = beforeCopies(sourceOf(read).value_or(read));
    if (!terms.try_emplace(term.rank, term).second ||
        !uses.isBefore(term, transfer.step) ||
        !uses.weighAlike(transfer.reads[0], read))
      return;
  }
  auto others = llvm::make_first_range(terms);
  if (!std::equal(of.begin(), of.end(), others.begin(), others.end()))
    return;
  Sum sum{*group, transfer.step, transfer.chunk, op, {}};
  for (const auto &[from, term] : terms)
    sum.terms.push_back(term);
  for (const SlotRange &read : transfer.reads)
    if (sourceOf(read))
      summed.insert(uses.writerOf(read, 0));
  sums.push_back(std::move(sum));
}

void SwitchUse::findSums() {
  forEachOp<LocalReduceOp>(program, [&](LocalReduceOp op) { findSum(op); });
  forEachOp<ReducePutOp>(program, [&](ReducePutOp op) { findSum(op); });
  // Chunks that follow each other are side by side.
  llvm::stable_sort(sums, [](const Sum &a, const Sum &b) {
    return std::pair(a.step, a.chunk) < std::pair(b.step, b.chunk);
  });
  // Where several ranks add up the same, it is there once.
  std::map<std::vector<std::tuple<Buffer, unsigned, unsigned, unsigned>>,
           unsigned>
      known;
  for (Sum &sum : sums) {
    std::vector<std::tuple<Buffer, unsigned, unsigned, unsigned>> key;
    for (const SlotRange &term : sum.terms)
      key.push_back({term.buffer, term.rank, term.slot, term.count});
    auto [it, isNew] = known.try_emplace(key, groups[sum.group].slots);
    sum.slot = it->second;
    sum.isFirst = isNew;
    if (isNew)
      groups[sum.group].slots += sum.terms.front().count;
  }
}

/// True if there are sums or multicasts of several steps, as with pieces.
bool SwitchUse::haveSeveralSteps() const {
  auto differ = [](const auto &all, auto stepOf) {
    return llvm::any_of(all, [&](const auto &each) {
      return stepOf(each) != stepOf(all.front());
    });
  };
  return differ(sums, [](const Sum &sum) { return sum.step; }) ||
         differ(multicasts, [](const Multicast &multicast) {
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

void SwitchUse::emit(Sum &sum) {
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

void SwitchUse::emit(Multicast &multicast) {
  const Transfer &transfer = multicast.transfer;
  SlotRange read = moved(transfer.reads[0]);
  std::optional<SlotRange> sums = resultsAt(read);
  SlotRange source = sums ? *sums : staged(transfer, read);
  SlotRange target = inScratch(source, multicast.slot);
  for (unsigned rank : groups[multicast.group].by->ranks)
    add<MulticastOp>(source.rank, transfer.step, Turn::Multicast,
                     transfer.chunk, transfer.count, source.buffer, source.slot,
                     target.buffer, target.slot, transfer.step, transfer.times,
                     transfer.chunkStride, source.stride, target.stride, rank);
  // Unless somebody else waits for the output.
  if (sums && uses.areReadBy(read, multicast.puts.size())) {
    copy(transfer, Turn::Deliver, target, read);
    for (unsigned i = 0; i < read.size(); ++i)
      results[{read.rank, read[i]}].isDelivered = true;
  }
  for (PutOp put : multicast.puts) {
    SlotRange to = put.getWrite();
    target.rank = to.rank;
    copy(transfer, Turn::Deliver, target, to);
    put.erase();
  }
}

/// Drops the puts of terms.
void SwitchUse::dropUnread() {
  if (sums.empty())
    return;
  SlotUses now(program);
  SmallVector<PutOp> unread;
  forEachOp<PutOp>(program, [&](PutOp put) {
    SlotRange write = put.getWrite();
    if (write.buffer == Buffer::Scratch && now.areReadBy(write, 0))
      unread.push_back(put);
  });
  for (PutOp put : unread)
    put.erase();
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
