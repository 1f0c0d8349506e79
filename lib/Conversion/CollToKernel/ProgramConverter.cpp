//===- ProgramConverter.cpp - The kernels of one program ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramConverter.h"

#include "sccl/Analysis/SwitchAccesses.h"
#include "sccl/Analysis/WordGroups.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

/// Fails if `program` needs a copy engine but has no parts for the host to put
/// the copies between.
static LogicalResult requireParts(ProgramOp program) {
  for (RankOp rank : program.getBody().getOps<RankOp>())
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>())
      for (Operation &op : channel.getBody().getOps()) {
        if (isa<BarrierOp>(op))
          return success(); // all channels have them
        if (isDMA(&op))
          return op.emitOpError("needs a copy engine in a program without "
                                "barriers; insert them first, with "
                                "coll-insert-step-barriers");
      }
  return success();
}

ProgramConverter::ProgramConverter(ProgramOp program, Collective collective,
                                   AverageWords averages, bool host,
                                   bool traced)
    : program(program), host(host), collective(std::move(collective)),
      context(program, this->collective, std::move(averages),
              /*hasThreads=*/!host, traced),
      theInfo(describeProgram(program, this->collective, context.flags)),
      slots(countSlots()) {}

FailureOr<std::unique_ptr<ProgramConverter>>
ProgramConverter::make(ProgramOp program, const Collective &collective,
                       bool host, bool traced, bool unweighted) {
  if (failed(requireParts(program)))
    return failure();
  FailureOr<AverageWords> averages =
      AverageWords::of(program, collective, unweighted);
  if (failed(averages))
    return failure();
  std::unique_ptr<ProgramConverter> converter(new ProgramConverter(
      program, collective, std::move(*averages), host, traced));
  if (failed(host ? converter->orderForHost() : converter->checkSwitches()))
    return failure();
  return converter;
}

/// True if `op` waits for what its flag has shown before, as `known` says,
/// which it brings up to date. The order is that of all who look at the flag:
/// one thread.
static bool waitsAgain(Operation *op,
                       llvm::DenseMap<FlagKey, unsigned> &known) {
  auto wait = dyn_cast<WaitOp>(op);
  if (!wait)
    return false;
  unsigned &value = known[keyOf(getFlag(wait))];
  if (wait.getValue() <= value)
    return true;
  value = wait.getValue();
  return false;
}

/// Finds, by rank and part, an order in which one thread per rank can execute
/// all channels, and leaves out what channels wait for after one another.
LogicalResult ProgramConverter::orderForHost() {
  // Nothing is before the first barrier or after the last one.
  order.assign(theInfo.ranks.size(), Parts(theInfo.steps + 2));
  // Both are looked up, not iterated.
  llvm::DenseMap<Operation *, unsigned> part;
  llvm::DenseMap<FlagKey, unsigned> known;
  return walkInExecutionOrder(program, [&](ChannelOp channel, Operation *op) {
    if (isa<BarrierOp>(op))
      ++part[channel];
    else if (!waitsAgain(op, known))
      order[getRank(channel)][part[channel]].push_back(op);
    return WalkResult::advance();
  });
}

/// Fails if a switch would reach other places of scratch than ops say: it
/// reaches all ranks of a group at the same offset, in plain memory.
LogicalResult ProgramConverter::checkSwitches() {
  using Place = std::tuple<unsigned, unsigned, bool>;
  auto placeOf = [&](const SlotRange &range) -> Place {
    RankOp owner = context.ranks[range.rank];
    return {scratchChunks(program, owner, range.slot),
            context.oddChunks[range.rank],
            !holdsLL(program, range) && !isWide(owner, range)};
  };
  ArrayRef<unsigned> groups = theInfo.switchGroups;
  std::vector<size_t> sizes(groups.size()); // by group
  for (unsigned group : groups)
    ++sizes[group];
  WalkResult result = program.walk([&](TransferOpInterface op) {
    if (!isa<MulticastOp, LoadReduceOp>(op))
      return WalkResult::advance();
    std::optional<Transfer> transfer = getTransfer(op);
    SmallVector<unsigned> reached = ranksOfAccess(op);
    if (!reached.empty() && reached.size() != sizes[groups[reached[0]]]) {
      op.emitOpError() << "is for " << reached.size() << " of the "
                       << sizes[groups[reached[0]]]
                       << " ranks of a group, and a switch reaches all of them";
      return WalkResult::interrupt();
    }
    SmallVector<SlotRange> ranges = {transfer->write};
    if (transfer->reduces())
      ranges.assign(transfer->reads.begin(), transfer->reads.end());
    SlotRange own = ranges.front();
    own.rank = getRank(op->getParentOfType<ChannelOp>());
    for (const SlotRange &range : ranges)
      if (placeOf(range) != placeOf(own) || !std::get<2>(placeOf(own))) {
        op.emitOpError() << "is for a switch, which does not reach the slots "
                            "of rank "
                         << range.rank
                         << " at the place in plain scratch of this one";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  for (auto [rank, group] : llvm::enumerate(groups))
    if (sizes[group] == 1)
      return program.emitOpError()
             << "goes through switches, but rank " << rank << " is behind none";
  return success();
}

/// What each channel of a kernel of `rank` executes.
std::vector<ProgramConverter::Parts> ProgramConverter::partsOf(RankOp rank) {
  std::vector<Parts> channels;
  if (host) {
    channels.push_back(std::move(order[rank.getRank()]));
    return channels;
  }
  for (ChannelOp channel : rank.getBody().getOps<ChannelOp>()) {
    Parts &parts = channels.emplace_back(1);
    for (Operation &op : channel.getBody().getOps()) {
      if (isa<BarrierOp>(op))
        parts.emplace_back();
      else
        parts.back().push_back(&op);
    }
  }
  return channels;
}

/// The chunks that the buffers of all ranks hold together, at least 1.
uint64_t ProgramConverter::countSlots() const {
  uint64_t slots = 1;
  for (unsigned rank = 0; rank < theInfo.ranks.size(); ++rank)
    slots += collective.inputSlots(rank) + collective.outputSlots(rank) +
             theInfo.ranks[rank].scratchSlots;
  return slots;
}

collk::ProgramOp ProgramConverter::createProgram(OpBuilder &builder) {
  auto result = collk::ProgramOp::create(
      builder, program.getLoc(), program.getSymName(), collective.numRanks(),
      collective.chunksPerSegment(), host ? 1 : theInfo.blocks, slots, host);
  result.getBody().emplaceBlock();
  return result;
}

void ProgramConverter::emit(RankOp rank, collk::ProgramOp result) {
  std::vector<Parts> channels = partsOf(rank);
  std::vector<unsigned> spreads;
  llvm::DenseMap<Operation *, BlockShare> shares;
  for (ChannelOp channel : rank.getBody().getOps<ChannelOp>()) {
    spreads.push_back(channel.getSpread());
    for (const std::vector<SharedTransfer> &group : wordGroupsOf(channel))
      for (const SharedTransfer &shared : group)
        shares[shared.op] = shared.share;
  }
  auto builder = OpBuilder::atBlockEnd(&result.getBody().front());
  unsigned number = rank.getRank();
  bool hasSteps = theInfo.steps != 0;
  for (unsigned step = 0; step < std::max(theInfo.steps, 1u); ++step) {
    auto kernel = collk::KernelOp::create(
        builder, rank.getLoc(),
        functionName(program.getSymName(), theInfo, number, step),
        builder.getI32IntegerAttr(number),
        hasSteps ? builder.getI32IntegerAttr(step) : IntegerAttr());
    builder.createBlock(&kernel.getBody());
    unsigned group = 0;
    for (auto [index, parts] : llvm::enumerate(channels)) {
      unsigned spread = host ? 1 : spreads[index];
      ChannelBuilder channel(builder, rank.getLoc(), context, number, index,
                             step * channels.size() + index, group, spread);
      group += spread;
      if (!hasSteps)
        channel.begin();
      for (Operation *op : parts[hasSteps ? step + 1 : 0])
        channel.add(op, shares.lookup(op));
      channel.end();
    }
    builder.setInsertionPointAfter(kernel);
  }
}
