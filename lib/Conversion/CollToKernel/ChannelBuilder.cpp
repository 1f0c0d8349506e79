//===- ChannelBuilder.cpp - The ops of one channel ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChannelBuilder.h"

#include "sccl/ABI/AverageWord.h"
#include "sccl/Analysis/SwitchAccesses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

ProgramContext::ProgramContext(ProgramOp program, const Collective &collective,
                               AverageWords averages, bool hasThreads,
                               bool traced)
    : program(program), collective(collective), averages(std::move(averages)),
      hasThreads(hasThreads), traced(traced), flags(program) {
  if (hasThreads && collective.hasInPlaceLayout())
    for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
      inPlaceOffsets.push_back(collective.inPlaceOffset(rank));
  for (RankOp rank : program.getBody().getOps<RankOp>()) {
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
      if (hasThreads)
        mostSpread = std::max(mostSpread, channel.getSpread());
    layouts.push_back({countSpread(rank), flags.numFlags(rank.getRank()),
                       program.getBlocks()});
    oddChunks.push_back(program.getDoubleBuffered()
                            ? scratchChunks(program, rank, rank.getScratch())
                            : 0);
    ranks.push_back(rank);
  }
}

ChannelBuilder::ChannelBuilder(OpBuilder &builder, Location loc,
                               const ProgramContext &context, unsigned rank,
                               unsigned number, unsigned line, unsigned group,
                               unsigned spread)
    : builder(builder), context(context), rank(rank), group(group),
      spread(spread),
      channel(collk::ChannelOp::create(builder, loc, number, spread)),
      line(line) {
  Block *body =
      builder.createBlock(&channel.getBody(), {}, builder.getI32Type(), loc);
  unsigned most = context.mostSpread;
  Value parts = constant(loc, most);
  Value chunks = constant(loc, context.collective.chunksPerSegment());
  part = collk::PartOp::create(
      builder, loc, body->getArgument(0), parts, chunks,
      numberIf(spread != most, loc, llvm::Log2_32(most / spread)));
  if (!context.hasThreads)
    return;
  source = number;
  views.emplace_back(context.program);
  if (!context.inPlaceOffsets.empty())
    views.emplace_back(context.program, context.inPlaceOffsets);
}

Value ChannelBuilder::constant(Location loc, int64_t value) {
  Value &known = constants[value];
  if (!known)
    known = arith::ConstantIntOp::create(builder, loc, value, 32);
  return known;
}

void ChannelBuilder::begin() {
  Location loc = channel.getLoc();
  const ControlLayout &layout = context.layouts[rank];
  epoch = constant(loc, layout.epoch(group));
  Value words =
      constant(loc, spread * (context.hasThreads ? layout.blocks : 1));
  launch = collk::BeginOp::create(builder, loc, epoch, words, part);
}

void ChannelBuilder::end() {
  flushFlags();
  if (launch)
    collk::EndOp::create(builder, channel.getLoc(), launch, epoch, part);
  if (context.traced)
    mark(channel.getLoc(), collk::MarkKind::End);
  builder.setInsertionPointAfter(channel);
}

void ChannelBuilder::forgetAccesses() {
  for (Accesses &accesses : views)
    accesses.clear();
}

void ChannelBuilder::join(Location loc) {
  collk::JoinOp::create(builder, loc, part);
  forgetAccesses();
}

/// The words of `flag` for the channel: one to set, or all to wait for.
std::vector<FlagOffset> ChannelBuilder::wordsOf(const FlagId &flag,
                                                bool isSignal) const {
  uint64_t first = context.layouts[flag.dst].flag(context.flags.index(flag));
  FlagOffset word{uint32_t(first)};
  if (isSignal || !context.hasThreads)
    return {word};
  unsigned others = context.flags.spread(flag);
  if (others <= spread) {
    word.down = llvm::Log2_32(spread / others);
    return {word};
  }
  word.up = llvm::Log2_32(others / spread);
  std::vector<FlagOffset> words(others / spread, word);
  for (auto [number, each] : llvm::enumerate(words))
    each.bytes += number * ControlLayout::lineBytes;
  return words;
}

/// Signals, and waits, that follow each other are one op.
void ChannelBuilder::addFlag(Operation *op, bool isSignal, const FlagId &flag,
                             unsigned value) {
  std::vector<FlagOffset> words = wordsOf(flag, isSignal);
  if (pending.size() + words.size() > collk::maxFlags ||
      isSignal != pendingSignals || context.traced)
    flushFlags();
  pendingSignals = isSignal;
  Location loc = op->getLoc();
  Value peer = constant(loc, flag.dst);
  Value perLaunch = constant(loc, context.flags.signals(flag));
  for (const FlagOffset &word : words)
    pending.push_back(collk::FlagOp::create(builder, loc, peer,
                                            constant(loc, word.word()),
                                            perLaunch, constant(loc, value)));
  if (context.traced)
    markFlag(loc, isSignal, pending[pending.size() - words.size()]);
}

/// A mark that says nothing yet of what it is for.
collk::MarkOp ChannelBuilder::mark(Location loc, collk::MarkKind kind) {
  auto mark = collk::MarkOp::create(
      builder, loc, kind, source, IntegerAttr(), /*pull=*/false, IntegerAttr(),
      IntegerAttr(), IntegerAttr(), Value(), launch, IntegerAttr(),
      IntegerAttr(), Value());
  if (context.hasThreads) {
    mark.setLine(line);
    mark.setPlace(places++);
    mark.getPartMutable().assign(part);
  }
  return mark;
}

/// Says that `flag` comes next, of which the first block has the first word.
void ChannelBuilder::markFlag(Location loc, bool isSignal, Value flag) {
  mark(loc, isSignal ? collk::MarkKind::Signal : collk::MarkKind::Wait)
      .getFlagMutable()
      .assign(flag);
}

void ChannelBuilder::markTransfer(Location loc, const Transfer &transfer) {
  const SlotRange *other =
      transfer.write.rank != rank ? &transfer.write : nullptr;
  for (const SlotRange &read : transfer.reads)
    if (!other && read.rank != rank)
      other = &read;
  collk::MarkKind kind = transfer.reduces() ? collk::MarkKind::Reduce
                         : other            ? collk::MarkKind::Transfer
                                            : collk::MarkKind::Copy;
  collk::MarkOp made = mark(loc, kind);
  if (other)
    made.setPeer(other->rank);
  made.setPull(other && other != &transfer.write);
  made.setCount(transfer.count);
  made.setPosition(transfer.chunk % context.collective.chunksPerSegment());
  made.setTimes(transfer.times);
}

void ChannelBuilder::flushFlags() {
  if (pending.empty())
    return;
  Location loc = pending.front().getLoc();
  if (pendingSignals)
    collk::SignalOp::create(builder, loc, pending, part, launch);
  else
    collk::WaitOp::create(builder, loc, pending, part, launch);
  pending.clear();
  forgetAccesses();
}

Value ChannelBuilder::buffer(Location loc, unsigned owner, Buffer kind) {
  Value &known = buffers[{owner, unsigned(kind)}];
  if (!known && owner == rank)
    known = collk::OwnOp::create(builder, loc, collk::BufferKind(kind));
  else if (!known)
    known = collk::PeerOp::create(builder, loc, constant(loc, owner),
                                  collk::BufferKind(kind));
  return known;
}

Value ChannelBuilder::slot(Location loc, const SlotRange &range) {
  ProgramOp program = context.program;
  RankOp owner = context.ranks[range.rank];
  Type type = collk::SlotType::get(builder.getContext());
  unsigned width = 1;
  if (holdsLL(program, range)) {
    type = collk::LLSlotType::get(builder.getContext());
    width = 2;
  } else if (isWide(owner, range)) {
    width = program.getSumWidth();
    type = collk::WideSlotType::get(builder.getContext(), width);
  }
  return makeSlot(loc, range, type, width,
                  buffer(loc, range.rank, range.buffer));
}

/// The place of `range`, in scratch, for all ranks of the group: it is where
/// this rank has it.
Value ChannelBuilder::slotAtSwitch(Location loc, SlotRange range) {
  range.rank = rank;
  return makeSlot(loc, range, collk::SwitchSlotType::get(builder.getContext()),
                  /*width=*/1, buffer(loc, context.ranks.size(), range.buffer));
}

Value ChannelBuilder::makeSlot(Location loc, const SlotRange &range, Type type,
                               unsigned width, Value buffer) {
  ProgramOp program = context.program;
  RankOp owner = context.ranks[range.rank];
  unsigned segment = 0, segmentStep = 0, odd = 0;
  unsigned chunk = range.slot, chunkStep = width * range.stride;
  if (range.buffer == Buffer::Scratch) { // one long segment
    odd = context.oddChunks[range.rank];
    chunk = scratchChunks(program, owner, range.slot);
  } else {
    unsigned perSegment = context.collective.chunksPerSegment();
    segment = range.slot / perSegment;
    chunk = range.slot % perSegment;
    // Repetitions are at the same place in their segments.
    segmentStep = range.stride / perSegment;
    chunkStep = 0;
  }
  bool isRepeated = range.times != 1;
  return collk::SlotOp::create(
      builder, loc, type, buffer, constant(loc, segment), constant(loc, chunk),
      numberIf(odd != 0, loc, odd), odd != 0 ? launch : Value(),
      numberIf(isRepeated, loc, segmentStep),
      numberIf(isRepeated, loc, chunkStep));
}

Value ChannelBuilder::numberIf(bool condition, Location loc, int64_t value) {
  return condition ? constant(loc, value) : Value();
}

/// Lets the threads join if they may be in each other's way in `transfers`,
/// which are one access.
void ChannelBuilder::joinBefore(Location loc, ArrayRef<Transfer> transfers) {
  bool conflicts = llvm::any_of(views, [&](const Accesses &accesses) {
    return llvm::any_of(transfers, [&](const Transfer &transfer) {
      return accesses.conflictWith(transfer);
    });
  });
  if (conflicts)
    join(loc);
  for (Accesses &accesses : views)
    for (const Transfer &transfer : transfers)
      accesses.add(transfer);
}

void ChannelBuilder::addTransfer(Location loc, const Transfer &transfer,
                                 uint32_t average) {
  joinBefore(loc, transfer);
  if (context.traced)
    markTransfer(loc, transfer);
  Value first = slot(loc, transfer.reads[0]);
  Value second;
  unsigned terms = transfer.reads.size() - 1;
  if (transfer.reduces()) {
    SlotRange range = transfer.reads[1];
    if (terms > 1) {
      range.times = terms;
      range.stride = transfer.reads[2].slot - range.slot;
    }
    second = slot(loc, range);
  }
  Value dst = slot(loc, transfer.write);
  unsigned perSegment = context.collective.chunksPerSegment();
  Value count = constant(loc, transfer.count);
  Value position = constant(loc, transfer.chunk % perSegment);
  Value times = numberIf(transfer.times != 1, loc, transfer.times);
  if (!second) {
    collk::CopyOp::create(builder, loc, first, dst, count, position, times,
                          mover, launch);
    return;
  }
  collk::ReduceOp::create(builder, loc, first, second, dst, count, position,
                          times, numberIf(terms > 1, loc, terms),
                          constant(loc, average), mover, launch);
}

/// True if one row can be all repetitions of `transfer`: it adds no more than
/// one term, and threads need not join between them.
bool ChannelBuilder::repeatsAsOne(const Transfer &transfer) const {
  if (transfer.times > 1 && transfer.reads.size() > 2 && !transfer.bySwitch)
    return false;
  return llvm::none_of(views, [&](const Accesses &accesses) {
    return accesses.conflictsWithItself(transfer);
  });
}

/// The number of the channel that `op` is in, among those of its rank.
static unsigned channelOf(Operation *op) {
  auto channel = op->getParentOfType<ChannelOp>();
  auto all = channel->getParentRegion()->getOps<ChannelOp>();
  return std::distance(all.begin(), llvm::find(all, channel));
}

/// What is added next is for the blocks of `share`.
void ChannelBuilder::setShare(Location loc, BlockShare share) {
  uint32_t word = context.hasThreads ? share.word() : 0;
  Value &known = shares[word];
  if (!known)
    known = word == 0 ? part
                      : collk::ShareOp::create(builder, loc,
                                               constant(loc, word), part);
  mover = known;
}

/// Adds all repetitions of `transfer`, as few ops as can be.
void ChannelBuilder::addRepeated(Location loc, const Transfer &transfer,
                                 uint32_t average) {
  // What repeats LL words on a GPU does so with one chunk.
  auto isLL = [&](const SlotRange &range) {
    return holdsLL(context.program, range);
  };
  bool hasLL = isLL(transfer.write) || llvm::any_of(transfer.reads, isLL);
  bool isWhole = transfer.times == 1 || transfer.count == 1 || !hasLL ||
                 !context.hasThreads;
  bool repeats = repeatsAsOne(transfer);
  if (repeats && isWhole)
    addTransfer(loc, transfer, average);
  else if (repeats && transfer.count < transfer.times)
    for (unsigned i = 0; i < transfer.count; ++i)
      addTransfer(loc, transfer.column(i), average);
  else
    for (unsigned i = 0; i < transfer.times; ++i)
      addTransfer(loc, transfer.repetition(i), average);
}

/// What a switch sums up, as sums of two: an average brings the first to the
/// scale of all and divides the last.
static std::vector<WeighedTransfer> sumsOfTwo(const WeighedTransfer &whole) {
  const Transfer &transfer = whole.transfer;
  if (!transfer.bySwitch || transfer.reads.size() < 3)
    return {whole};
  std::vector<WeighedTransfer> sums;
  for (size_t i = 1; i < transfer.reads.size(); ++i) {
    bool isFirst = i == 1, isLast = i + 1 == transfer.reads.size();
    WeighedTransfer sum = whole;
    sum.transfer.reads = {isFirst ? transfer.reads[0] : transfer.write,
                          transfer.reads[i]};
    if (!isFirst)
      sum.average &= ~(AverageWord::shiftMask << AverageWord::leftBit);
    if (!isLast)
      sum.average &= ~AverageWord::divisorMask;
    sums.push_back(std::move(sum));
  }
  return sums;
}

/// Adds an access to a switch, at the first of the ops that stand for it.
void ChannelBuilder::addSwitched(Operation *op, const Transfer &transfer) {
  size_t count = transfer.reduces() ? 1 : ranksOfAccess(op).size();
  SmallVector<Transfer> all;
  for (Operation *next = op; all.size() < count; next = next->getNextNode())
    all.push_back(*getTransfer(next));
  if (llvm::all_of(all, [&](auto &each) { return repeatsAsOne(each); })) {
    if (!all.empty())
      addAtSwitch(op->getLoc(), all);
    return;
  }
  for (unsigned i = 0; i < transfer.times; ++i)
    addAtSwitch(op->getLoc(), llvm::map_to_vector(all, [&](auto &each) {
                  return each.repetition(i);
                }));
}

/// Adds `transfers`, one access.
void ChannelBuilder::addAtSwitch(Location loc, ArrayRef<Transfer> transfers) {
  joinBefore(loc, transfers);
  const Transfer &transfer = transfers.front();
  if (context.traced)
    markTransfer(loc, transfer);
  const SlotRange &read = transfer.reads[0], &write = transfer.write;
  bool fetches = transfer.reduces();
  Value from = fetches ? slotAtSwitch(loc, read) : slot(loc, read);
  Value to = fetches ? slot(loc, write) : slotAtSwitch(loc, write);
  Value count = constant(loc, transfer.count);
  Value position =
      constant(loc, transfer.chunk % context.collective.chunksPerSegment());
  Value times = numberIf(transfer.times != 1, loc, transfer.times);
  if (fetches)
    collk::LoadReduceOp::create(builder, loc, from, to, count, position, times,
                                mover, launch);
  else
    collk::CopyOp::create(builder, loc, from, to, count, position, times, mover,
                          launch);
}

void ChannelBuilder::add(Operation *op, BlockShare share) {
  if (context.traced)
    source = channelOf(op);
  if (auto signal = dyn_cast<SignalOp>(op))
    return addFlag(op, /*isSignal=*/true, getFlag(signal), signal.getValue());
  if (auto wait = dyn_cast<WaitOp>(op))
    return addFlag(op, /*isSignal=*/false, getFlag(wait), wait.getValue());
  std::optional<Transfer> transfer = getTransfer(op);
  if (!transfer || isDMA(op))
    return;
  flushFlags();
  setShare(op->getLoc(), share);
  if (transfer->bySwitch && context.hasThreads)
    return addSwitched(op, *transfer);
  for (const WeighedTransfer &part : context.averages.split(op, *transfer))
    for (const auto &[sum, average] : sumsOfTwo(part))
      addRepeated(op->getLoc(), sum, average);
}
