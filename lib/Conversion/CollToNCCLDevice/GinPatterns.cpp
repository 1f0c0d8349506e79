//===- GinPatterns.cpp - Ops that go from box to box ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GinPatterns.h"

#include "../KernelPatterns/PatternBase.h"

#include "sccl/ABI/HelperNames.h"
#include "sccl/ABI/NcclDevice.h"

#include <set>

using namespace mlir;
using namespace sccl;
using namespace sccl::collk;

unsigned GinLowering::rankOf(Operation *op) const {
  return ranks.at(op->getParentOfType<gpu::GPUFuncOp>());
}

//===----------------------------------------------------------------------===//
// What stays in the box, and what has been put
//===----------------------------------------------------------------------===//

/// The number of this block among those of the rank, which is that of its
/// context.
static Value contextOf(OpBuilder &builder, Location loc) {
  Value index = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), index);
}

/// The last argument of the function around `op`: NcclArguments.
static Value recordOf(Operation *op) {
  return op->getParentOfType<gpu::GPUFuncOp>().getBody().getArguments().back();
}

/// Makes two ops of one whose flags go both ways.
template <typename Op> static void splitFlags(Op op, const Crossings &all) {
  SmallVector<Value> near, far;
  for (Value flag : op.getFlags())
    (all.find(flag.getDefiningOp<FlagOp>()) ? far : near).push_back(flag);
  if (near.empty() || far.empty())
    return;
  OpBuilder builder(op);
  Op::create(builder, op.getLoc(), near, op.getPart(), op.getLaunch());
  Op::create(builder, op.getLoc(), far, op.getPart(), op.getLaunch());
  op.erase();
}

/// Inserts flushes among the ops of one channel.
static void insertFlushes(Block &block, unsigned rank, const Boxes &boxes) {
  std::set<unsigned> pending; // peers whose puts may still be read from here
  auto flushBefore = [&](Operation &op) {
    OpBuilder builder(&op);
    Value context = contextOf(builder, op.getLoc());
    LLVM::CallOp::create(builder, op.getLoc(), TypeRange{}, helper::ginFlush,
                         ValueRange{recordOf(&op), context});
    pending.clear();
  };
  auto writesHere = [](Value slot) { return !placeOf(slot).peer; };
  for (Operation &op : llvm::make_early_inc_range(block)) {
    bool mustFlush = false;
    if (auto copy = dyn_cast<CopyOp>(op)) {
      std::optional<unsigned> peer = placeOf(copy.getDst()).peer;
      if (peer && boxes.areApart(rank, *peer)) {
        pending.insert(*peer);
        continue;
      }
      mustFlush = writesHere(copy.getDst());
    } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
      mustFlush = writesHere(reduce.getDst());
    } else if (auto signal = dyn_cast<SignalOp>(op)) {
      // Whoever is told may write, or let others write, what has been put. A
      // signal to the peer of a put comes after it anyway.
      for (Value flag : signal.getFlags()) {
        Value number = flag.getDefiningOp<FlagOp>().getPeer();
        unsigned told = *getConstantIntValue(number);
        mustFlush |= pending != std::set<unsigned>{told};
      }
    } else {
      mustFlush = isa<EndOp>(op);
    }
    if (mustFlush && !pending.empty())
      flushBefore(op);
  }
}

void collk::prepareCrossings(gpu::GPUFuncOp function,
                             const GinLowering &lowering) {
  const Crossings &crossings = lowering.crossings;
  SmallVector<SignalOp> signals;
  SmallVector<WaitOp> waits;
  function.walk([&](SignalOp op) { signals.push_back(op); });
  function.walk([&](WaitOp op) { waits.push_back(op); });
  for (SignalOp op : signals)
    splitFlags(op, crossings);
  for (WaitOp op : waits)
    splitFlags(op, crossings);
  unsigned rank = lowering.ranks.at(function);
  function.walk(
      [&](Block *block) { insertFlushes(*block, rank, crossings.boxes()); });
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
/// What the patterns have in common: they come first.
template <typename Base> class GinPattern : public Base {
public:
  GinPattern(const TypeConverter &converter, MLIRContext *context,
             const GinLowering &gin)
      : Base(converter, context, gin.kernels, /*benefit=*/2), gin(gin) {}

protected:
  const GinLowering &gin;
};

/// A copy into another box: a put.
struct LowerPut : GinPattern<TransferPattern<CopyOp>> {
  using GinPattern::GinPattern;
  LogicalResult matchAndRewrite(CopyOp op, OneToN adaptor,
                                Rewriter &rewriter) const override {
    SlotPlace dst = placeOf(op.getDst()), src = placeOf(op.getSrc());
    if (!dst.peer || !gin.crossings.boxes().areApart(gin.rankOf(op), *dst.peer))
      return failure();
    Location loc = op.getLoc();
    Value net = recordOf(op);
    auto inWindow = [&](ValueRange slot, BufferKind kind) {
      SmallVector<Value> values(slot);
      uint64_t field =
          offsetof(NcclArguments, offsets) + unsigned(kind) * sizeof(uint64_t);
      Value place = byteOffset(rewriter, loc, net, field);
      values[Address] = LLVM::LoadOp::create(rewriter, loc, lowering.pointer,
                                             place, sizeof(uint64_t));
      return values;
    };
    SmallVector<Value> to = inWindow(adaptor.getDst(), dst.kind);
    SmallVector<Value> from = inWindow(adaptor.getSrc(), src.kind);
    auto number = [&](unsigned value) {
      return constant(rewriter, loc, value);
    };
    emit(op, rewriter, adaptor, helper::put, {}, {to, from},
         {net, number(*dst.peer), number(unsigned(dst.kind)),
          number(unsigned(src.kind)), contextOf(rewriter, loc)});
    return success();
  }
};

/// A list of flags that cross, as the helpers want it.
template <typename Op> struct GinFlagPattern : GinPattern<KernelPattern<Op>> {
  using GinPattern<KernelPattern<Op>>::GinPattern;

protected:
  std::optional<GinFlag> find(Value flag) const {
    return this->gin.crossings.find(flag.getDefiningOp<FlagOp>());
  }
  static int32_t numberOf(Value value) { return *getConstantIntValue(value); }

  Value listOf(Op op, ConversionPatternRewriter &rewriter,
               function_ref<FlagList::Words(FlagOp, GinFlag)> wordsOf) const {
    FlagList::Words words;
    for (Value each : op.getFlags())
      llvm::append_range(words,
                         wordsOf(each.getDefiningOp<FlagOp>(), *find(each)));
    KernelLowering &kernels = this->lowering;
    Value list = LLVM::AddressOfOp::create(rewriter, op.getLoc(),
                                           kernels.pointer, kernels.flagSymbol);
    return byteOffset(rewriter, op.getLoc(), list,
                      kernels.flags.offsetOf(words));
  }
};

struct LowerGinSignal : GinFlagPattern<SignalOp> {
  using GinFlagPattern::GinFlagPattern;
  LogicalResult matchAndRewrite(SignalOp op, OneToN adaptor,
                                Rewriter &rewriter) const override {
    if (!find(op.getFlags().front()))
      return failure();
    Location loc = op.getLoc();
    Value list = listOf(op, rewriter, [](FlagOp flag, GinFlag gin) {
      return FlagList::Words{numberOf(flag.getPeer()), int32_t(gin.signal), 0,
                             0};
    });
    call(rewriter, loc, helper::ginSignal,
         {list, constant(rewriter, loc, op.getFlags().size()), recordOf(op),
          adaptor.getPart()[BlockNumber], contextOf(rewriter, loc)});
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerGinWait : GinFlagPattern<WaitOp> {
  using GinFlagPattern::GinFlagPattern;
  LogicalResult matchAndRewrite(WaitOp op, OneToN adaptor,
                                Rewriter &rewriter) const override {
    if (!find(op.getFlags().front()))
      return failure();
    Location loc = op.getLoc();
    // In launch e, counted from 1, a flag grows to e * K + value, and a signal,
    // which begins at 0, to K less.
    Value list = listOf(op, rewriter, [](FlagOp flag, GinFlag gin) {
      int32_t perLaunch = numberOf(flag.getPerLaunch());
      return FlagList::Words{int32_t(gin.context), int32_t(gin.signal),
                             perLaunch, numberOf(flag.getValue()) - perLaunch};
    });
    call(rewriter, loc, helper::ginWait,
         {list, constant(rewriter, loc, op.getFlags().size()), recordOf(op),
          adaptor.getPart()[BlockNumber], adaptor.getLaunch().front(),
          argument(rewriter, op, Argument::Abort)});
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void collk::addGinPatterns(RewritePatternSet &patterns,
                           const TypeConverter &converter,
                           const GinLowering &lowering) {
  patterns.add<LowerPut, LowerGinSignal, LowerGinWait>(
      converter, patterns.getContext(), lowering);
}
