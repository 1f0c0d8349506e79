//===- Crossings.cpp - What goes from box to box --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Crossings.h"

#include "sccl/Dialect/Coll/Boxes.h"
#include "sccl/Dialect/Coll/CollMachine.h"
#include "sccl/Dialect/Coll/CollOps.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinOps.h"

#include <set>

using namespace mlir;
using namespace sccl;
using namespace sccl::collk;

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

/// By rank, its box.
static SmallVector<unsigned> boxesOfRanks(coll::MachineOp machine) {
  SmallVector<unsigned> boxes;
  for (auto vertex : machine.getBody().getOps<coll::VertexOp>())
    if (vertex.getPart() == coll::MachinePart::Gpu)
      boxes.push_back(vertex.getBox().value_or(0));
  return boxes;
}

/// The size of boxes, if all have the same, and their ranks are in a row.
static std::optional<unsigned> sizeOfBoxes(ArrayRef<unsigned> boxes) {
  unsigned size = std::distance(
      boxes.begin(),
      llvm::find_if(boxes, [&](unsigned box) { return box != boxes.front(); }));
  if (boxes.size() % size != 0)
    return std::nullopt;
  std::set<unsigned> known;
  for (size_t first = 0; first < boxes.size(); first += size) {
    ArrayRef<unsigned> row = boxes.slice(first, size);
    if (!llvm::all_equal(row) || !known.insert(row.front()).second)
      return std::nullopt;
  }
  return size;
}

/// By rank of the topology of `program`, its box; emits an error and fails if
/// what the topology says of boxes cannot be read.
static FailureOr<SmallVector<unsigned>> boxesOfTopology(coll::ProgramOp program,
                                                        unsigned numRanks) {
  SmallVector<unsigned> result(numRanks, 0);
  auto topology = SymbolTable::lookupNearestSymbolFrom<coll::TopologyOp>(
      program, program.getTopologyAttr());
  if (!topology)
    return result;
  FailureOr<RankGroups> boxes = coll::boxesOf(topology);
  if (failed(boxes))
    return failure();
  for (unsigned box = 0; box < boxes->size(); ++box)
    for (unsigned rank : (*boxes)[box])
      if (rank < numRanks)
        result[rank] = box;
  return result;
}

FailureOr<Boxes> collk::findBoxes(coll::ProgramOp program,
                                  unsigned ranksPerBox) {
  auto ranks = program.getBody().getOps<coll::RankOp>();
  unsigned numRanks = std::distance(ranks.begin(), ranks.end());
  if (ranksPerBox != 0) {
    if (numRanks % ranksPerBox == 0 || ranksPerBox > numRanks)
      return Boxes{ranksPerBox};
    return program.emitOpError()
           << "has " << numRanks
           << " ranks, which ranks-per-box = " << ranksPerBox
           << " does not divide";
  }
  FailureOr<SmallVector<unsigned>> boxes = boxesOfTopology(program, numRanks);
  if (failed(boxes))
    return failure();
  auto module = program->getParentOfType<ModuleOp>();
  for (auto machine : module.getOps<coll::MachineOp>())
    if (SmallVector<unsigned> own = boxesOfRanks(machine);
        own.size() == numRanks)
      boxes = std::move(own);
  if (std::optional<unsigned> size = sizeOfBoxes(*boxes))
    return Boxes{*size};
  return program.emitOpError()
         << "is for boxes that are not of the same number of ranks in a row, "
            "as LSA teams are";
}

//===----------------------------------------------------------------------===//
// What can cross
//===----------------------------------------------------------------------===//

static unsigned numberOf(Value value) {
  return *getConstantIntValue(value); // the code of single ranks has no others
}

SlotPlace collk::placeOf(Value slot) {
  Operation *buffer = slot.getDefiningOp<SlotOp>().getBuffer().getDefiningOp();
  if (auto peer = dyn_cast<PeerOp>(buffer))
    return {peer.getKind(), numberOf(peer.getRank())};
  return {cast<OwnOp>(buffer).getKind(), std::nullopt};
}

/// What no put can do: read from another box, reduce into it, or write LL words
/// or f32 there.
static LogicalResult checkTransfer(Operation *op, ArrayRef<Value> reads,
                                   Value write, unsigned rank, Boxes boxes) {
  auto isFar = [&](Value slot) {
    std::optional<unsigned> peer = placeOf(slot).peer;
    return peer && boxes.areApart(rank, *peer);
  };
  for (Value read : reads)
    if (isFar(read))
      return op->emitOpError()
             << "of rank " << rank << " reads memory of rank "
             << *placeOf(read).peer
             << " in another box; only a push gets there (transport = push)";
  if (!isFar(write))
    return success();
  unsigned peer = *placeOf(write).peer;
  if (reads.size() != 1)
    return op->emitOpError()
           << "of rank " << rank << " reduces into memory of rank " << peer
           << " in another box; lower without coll-fuse-reductions";
  if (isa<WideSlotType>(write.getType()))
    return op->emitOpError()
           << "of rank " << rank << " sends f32 to rank " << peer
           << " in another box, which gets there as it is in memory";
  if (!isa<SlotType>(write.getType()))
    return op->emitOpError()
           << "of rank " << rank << " sends LL words to rank " << peer
           << " in another box, which gets there as bytes in any order";
  return success();
}

static LogicalResult checkTransfers(KernelOp kernel, Boxes boxes) {
  unsigned rank = *kernel.getRank();
  WalkResult result = kernel.walk([&](Operation *op) {
    LogicalResult checked = success();
    if (auto copy = dyn_cast<CopyOp>(op))
      checked = checkTransfer(op, {copy.getSrc()}, copy.getDst(), rank, boxes);
    else if (auto reduce = dyn_cast<ReduceOp>(op))
      checked = checkTransfer(op, {reduce.getLhs(), reduce.getRhs()},
                              reduce.getDst(), rank, boxes);
    return failed(checked) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

LogicalResult Crossings::addSignal(SignalOp op, unsigned rank, unsigned channel,
                                   unsigned blocks) {
  for (Value each : op.getFlags()) {
    auto flag = each.getDefiningOp<FlagOp>();
    unsigned peer = numberOf(flag.getPeer());
    if (!ourBoxes.areApart(rank, peer))
      continue;
    auto [place, isNew] = flags.try_emplace({peer, numberOf(flag.getOffset())});
    Entry &entry = place->second;
    if (isNew) {
      entry.flag = {flagsOfRank[peer], channel * blocks};
      entry.sender = rank;
      entry.perLaunch = numberOf(flag.getPerLaunch());
      signals = std::max(signals, flagsOfRank[peer] += blocks);
      contexts = std::max(contexts, (channel + 1) * blocks);
    }
    if (entry.sender != rank || entry.flag.context != channel * blocks ||
        numberOf(flag.getValue()) != ++entry.value)
      return op.emitOpError()
             << "of rank " << rank << " sets a flag of rank " << peer
             << " in another box that is not counted up by one each time";
  }
  return success();
}

LogicalResult Crossings::checkComplete(ProgramOp program) const {
  for (const auto &[place, entry] : flags)
    if (entry.value != entry.perLaunch)
      return program.emitOpError()
             << "sets a flag of rank " << place.first << " in another box "
             << entry.value << " times a launch, in place of "
             << entry.perLaunch;
  return success();
}

FailureOr<Crossings> Crossings::make(ProgramOp program, Boxes boxes) {
  Crossings crossings(boxes);
  for (auto kernel : program.getBody().getOps<KernelOp>()) {
    if (failed(checkTransfers(kernel, boxes)))
      return failure();
    for (auto channel : kernel.getBody().getOps<ChannelOp>())
      for (auto signal : channel.getBody().getOps<SignalOp>())
        if (failed(crossings.addSignal(signal, *kernel.getRank(),
                                       channel.getNumber(),
                                       program.getBlocks())))
          return failure();
  }
  if (failed(crossings.checkComplete(program)))
    return failure();
  return crossings;
}

std::optional<GinFlag> Crossings::find(FlagOp flag) const {
  auto found =
      flags.find({numberOf(flag.getPeer()), numberOf(flag.getOffset())});
  if (found == flags.end())
    return std::nullopt;
  return found->second.flag;
}
