//===- KernelPatterns.cpp - From collk ops to calls of helpers ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PatternBase.h"

#include "../CollToKernel/TableKernel.h"
#include "../CollToKernel/TraceTables.h"

#include "sccl/ABI/HelperNames.h"
#include "sccl/ABI/RankTable.h"
#include "sccl/ABI/TraceTable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::collk;

using coll::TransferShape;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static void addConversions(TypeConverter &converter, Type pointer) {
  using Types = SmallVectorImpl<Type>;
  auto i32 = [](Type type) { return IntegerType::get(type.getContext(), 32); };
  converter.addConversion([](Type type) { return type; });
  converter.addConversion([=](BufferType) { return pointer; });
  converter.addConversion(
      [=](PartType type, Types &types) -> std::optional<LogicalResult> {
        types.assign(3, i32(type));
        return success();
      });
  auto convertSlot = [=](Type type, Types &types) {
    types.assign(5, i32(type));
    types.front() = pointer;
    return success();
  };
  converter.addConversion(
      [=](SlotType type, Types &types) -> std::optional<LogicalResult> {
        return convertSlot(type, types);
      });
  converter.addConversion(
      [=](LLSlotType type, Types &types) -> std::optional<LogicalResult> {
        return convertSlot(type, types);
      });
  converter.addConversion(
      [=](WideSlotType type, Types &types) -> std::optional<LogicalResult> {
        return convertSlot(type, types);
      });
  converter.addConversion(
      [=](SwitchSlotType type, Types &types) -> std::optional<LogicalResult> {
        return convertSlot(type, types);
      });
  converter.addConversion(
      [=](FlagType type, Types &types) -> std::optional<LogicalResult> {
        types.assign(4, i32(type));
        return success();
      });
  converter.addConversion(
      [=](FlagsType type, Types &types) -> std::optional<LogicalResult> {
        types.assign({pointer, i32(type)});
        return success();
      });
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
/// For ops whose result is converted to the op's operands.
template <typename Op> struct LowerToOperands : KernelPattern<Op> {
  using KernelPattern<Op>::KernelPattern;
  LogicalResult
  matchAndRewrite(Op op, typename KernelPattern<Op>::OneToN adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> values = this->flatten(adaptor.getOperands());
    rewriter.replaceOpWithMultiple(op, {ValueRange(values)});
    return success();
  }
};

struct LowerPart : KernelPattern<PartOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(PartOp op, OneToN adaptor,
                                Rewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value parts = rewriter.createOrFold<arith::MulIOp>(
        loc, adaptor.getParts().front(), blocksOfLaunch(rewriter, op));
    SmallVector<Value> values = {adaptor.getBlock().front(), parts,
                                 adaptor.getChunks().front()};
    if (op.getDoublings()) {
      Value high =
          arith::ShLIOp::create(rewriter, loc, adaptor.getDoublings().front(),
                                constant(rewriter, loc, coll::doublingsShift));
      values[Parts] = arith::OrIOp::create(rewriter, loc, values[Parts], high);
    }
    rewriter.replaceOpWithMultiple(op, {ValueRange(values)});
    return success();
  }
};

struct LowerShare : KernelPattern<ShareOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(ShareOp op, OneToN adaptor,
                                Rewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<Value> values(adaptor.getPart());
    Value high = rewriter.createOrFold<arith::ShLIOp>(
        loc, adaptor.getShare().front(),
        constant(rewriter, loc, coll::shareShift));
    values[Parts] =
        rewriter.createOrFold<arith::OrIOp>(loc, values[Parts], high);
    rewriter.replaceOpWithMultiple(op, {ValueRange(values)});
    return success();
  }
};

struct LowerBlockIndex : KernelPattern<BlockIndexOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(BlockIndexOp op, OneToN,
                                Rewriter &rewriter) const override {
    Value index = lowering.frames.of(op).blockIndex;
    rewriter.replaceOp(op, index ? index : constant(rewriter, op.getLoc(), 0));
    return success();
  }
};

struct LowerBlocks : KernelPattern<BlocksOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(BlocksOp op, OneToN,
                                Rewriter &rewriter) const override {
    rewriter.replaceOp(op, blocksOfLaunch(rewriter, op));
    return success();
  }
};

struct LowerBegin : KernelPattern<BeginOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(BeginOp op, OneToN adaptor,
                                Rewriter &rewriter) const override {
    Value control = argument(rewriter, op, Argument::Control);
    rewriter.replaceOpWithNewOp<LLVM::CallOp>(
        op, TypeRange{rewriter.getI64Type()}, helper::begin,
        ValueRange{control, adaptor.getEpoch().front(),
                   adaptor.getPart()[BlockNumber], adaptor.getPart()[Parts],
                   adaptor.getWords().front()});
    return success();
  }
};

struct LowerEnd : KernelPattern<EndOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(EndOp op, OneToN adaptor,
                                Rewriter &rewriter) const override {
    Value control = argument(rewriter, op, Argument::Control);
    call(rewriter, op.getLoc(), helper::end,
         {control, adaptor.getEpoch().front(), adaptor.getPart()[BlockNumber],
          adaptor.getLaunch().front()});
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerOwn : KernelPattern<OwnOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(OwnOp op, OneToN,
                                Rewriter &rewriter) const override {
    // The first arguments are the buffers, in the order of the enumeration.
    rewriter.replaceOp(op, argument(rewriter, op, Argument(op.getKind())));
    return success();
  }
};

struct LowerPeer : KernelPattern<PeerOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(PeerOp op, OneToN adaptor,
                                Rewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value rank = arith::ExtUIOp::create(rewriter, loc, rewriter.getI64Type(),
                                        adaptor.getRank().front());
    Value entry = arith::MulIOp::create(
        rewriter, loc, rank, constant(rewriter, loc, sizeof(PeerEntry), 64));
    Value field =
        constant(rewriter, loc, unsigned(op.getKind()) * sizeof(void *), 64);
    Value offset = arith::AddIOp::create(rewriter, loc, entry, field);
    rewriter.replaceOp(op, peerAddress(rewriter, op, offset));
    return success();
  }
};

/// One of the rank's own buffers, or what the table of peers says.
struct LowerBuffer : KernelPattern<BufferOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(BufferOp op, OneToN adaptor,
                                Rewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value where = adaptor.getWhere().front();
    Value isPeer =
        arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sge, where,
                              constant(rewriter, loc, 0));
    auto choice =
        scf::IfOp::create(rewriter, loc, TypeRange{lowering.pointer}, isPeer,
                          /*withElseRegion=*/true);
    OpBuilder inPeer = choice.getThenBodyBuilder();
    Value index =
        arith::ExtUIOp::create(inPeer, loc, rewriter.getI64Type(), where);
    Value offset = arith::MulIOp::create(
        inPeer, loc, index, constant(inPeer, loc, sizeof(void *), 64));
    scf::YieldOp::create(inPeer, loc, peerAddress(inPeer, op, offset));
    OpBuilder inOwn = choice.getElseBodyBuilder();
    scf::YieldOp::create(inOwn, loc, ownBuffer(inOwn, op, where));
    rewriter.replaceOp(op, choice.getResults());
    return success();
  }

private:
  Value ownBuffer(OpBuilder &builder, BufferOp op, Value where) const {
    Location loc = op.getLoc();
    auto isField = [&](BufferField field) {
      return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                   where,
                                   constant(builder, loc, ~int32_t(field)));
    };
    Value input = argument(builder, op, Argument::Input);
    Value output = argument(builder, op, Argument::Output);
    Value scratch = argument(builder, op, Argument::Scratch);
    Value other = arith::SelectOp::create(
        builder, loc, isField(BufferField::Output), output, scratch);
    return arith::SelectOp::create(builder, loc, isField(BufferField::Input),
                                   input, other);
  }
};

struct LowerSlot : KernelPattern<SlotOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(SlotOp op, OneToN adaptor,
                                Rewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value chunk = adaptor.getChunk().front();
    if (op.getOdd()) {
      Value number = arith::TruncIOp::create(
          rewriter, loc, rewriter.getI32Type(), adaptor.getLaunch().front());
      Value isOdd = arith::AndIOp::create(rewriter, loc, number,
                                          constant(rewriter, loc, 1));
      Value skip =
          arith::MulIOp::create(rewriter, loc, isOdd, adaptor.getOdd().front());
      chunk = arith::AddIOp::create(rewriter, loc, chunk, skip);
    }
    auto orNone = [&](ValueRange step) -> Value {
      return step.empty() ? constant(rewriter, loc, 0) : step.front();
    };
    SmallVector<Value> values = {
        adaptor.getBuffer().front(), adaptor.getSegment().front(), chunk,
        orNone(adaptor.getSegmentStep()), orNone(adaptor.getChunkStep())};
    rewriter.replaceOpWithMultiple(op, {ValueRange(values)});
    return success();
  }
};

struct LowerCopy : TransferPattern<CopyOp> {
  using TransferPattern::TransferPattern;
  LogicalResult matchAndRewrite(CopyOp op, OneToN adaptor,
                                Rewriter &rewriter) const override {
    emit(op, rewriter, adaptor, helper::transfer, shapeOf(op),
         {adaptor.getDst(), adaptor.getSrc()});
    return success();
  }
};

struct LowerReduce : TransferPattern<ReduceOp> {
  using TransferPattern::TransferPattern;
  LogicalResult matchAndRewrite(ReduceOp op, OneToN adaptor,
                                Rewriter &rewriter) const override {
    SmallVector<Value> more;
    if (op.getTerms())
      more.append({adaptor.getTerms().front(), adaptor.getRhs()[ChunkStep]});
    if (lowering.averages)
      more.push_back(op.getAverage() ? adaptor.getAverage().front()
                                     : constant(rewriter, op.getLoc(), 0));
    if (lowering.chooses)
      more.push_back(reductionNumber(op, rewriter));
    emit(op, rewriter, adaptor, helper::reduce, shapeOf(op),
         {adaptor.getDst(), adaptor.getLhs(), adaptor.getRhs()}, more);
    return success();
  }
};

struct LowerLoadReduce : TransferPattern<LoadReduceOp> {
  using TransferPattern::TransferPattern;
  LogicalResult matchAndRewrite(LoadReduceOp op, OneToN adaptor,
                                Rewriter &rewriter) const override {
    SmallVector<Value> more;
    if (lowering.chooses)
      more.push_back(reductionNumber(op, rewriter));
    emit(op, rewriter, adaptor, helper::reduce, shapeOf(op),
         {adaptor.getDst(), adaptor.getSrc()}, more);
    return success();
  }
};

struct LowerFlags : KernelPattern<FlagsOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(FlagsOp op, OneToN adaptor,
                                Rewriter &rewriter) const override {
    Value rows = unitAddress(rewriter, op, adaptor.getUnit().front());
    SmallVector<Value> values = {rows, adaptor.getCount().front()};
    rewriter.replaceOpWithMultiple(op, {ValueRange(values)});
    return success();
  }
};

struct LowerLoad : KernelPattern<LoadOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(LoadOp op, OneToN adaptor,
                                Rewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value place = unitAddress(rewriter, op, adaptor.getUnit().front());
    auto type = VectorType::get({4}, rewriter.getI32Type());
    Value unit =
        LLVM::LoadOp::create(rewriter, loc, type, place, tableUnitBytes);
    SmallVector<Value> words;
    for (unsigned i = 0; i < 4; ++i)
      words.push_back(LLVM::ExtractElementOp::create(
          rewriter, loc, unit, constant(rewriter, loc, i)));
    rewriter.replaceOp(op, words);
    return success();
  }
};

struct LowerSignal : FlagPattern<SignalOp> {
  using FlagPattern::FlagPattern;
  LogicalResult matchAndRewrite(SignalOp op, OneToN adaptor,
                                Rewriter &rewriter) const override {
    auto list = listOf(op, adaptor, rewriter);
    if (failed(list))
      return failure();
    call(rewriter, op.getLoc(), helper::signal,
         {list->first, list->second, argument(rewriter, op, Argument::Peers),
          adaptor.getPart()[BlockNumber], adaptor.getLaunch().front()});
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerWait : FlagPattern<WaitOp> {
  using FlagPattern::FlagPattern;
  LogicalResult matchAndRewrite(WaitOp op, OneToN adaptor,
                                Rewriter &rewriter) const override {
    auto list = listOf(op, adaptor, rewriter);
    if (failed(list))
      return failure();
    call(rewriter, op.getLoc(), helper::wait,
         {list->first, list->second, argument(rewriter, op, Argument::Control),
          adaptor.getPart()[BlockNumber], adaptor.getLaunch().front(),
          argument(rewriter, op, Argument::Abort)});
    rewriter.eraseOp(op);
    return success();
  }
};

/// A wait for nothing.
struct LowerJoin : KernelPattern<JoinOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(JoinOp op, OneToN adaptor,
                                Rewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value control = argument(rewriter, op, Argument::Control);
    call(rewriter, loc, helper::wait,
         {control, constant(rewriter, loc, 0), control,
          adaptor.getPart()[BlockNumber], constant(rewriter, loc, 0, 64),
          argument(rewriter, op, Argument::Abort)});
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerMark : KernelPattern<MarkOp> {
  using KernelPattern::KernelPattern;
  LogicalResult matchAndRewrite(MarkOp op, OneToN adaptor,
                                Rewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value launch = op.getLaunch() ? adaptor.getLaunch().front()
                                  : constant(rewriter, loc, 0, 64);
    if (lowering.isHost)
      callHook(op, launch, rewriter);
    else
      writeTime(op, launch, adaptor.getPart()[BlockNumber], rewriter);
    rewriter.eraseOp(op);
    return success();
  }

private:
  void callHook(MarkOp op, Value launch, Rewriter &rewriter) const {
    Location loc = op.getLoc();
    Value list = LLVM::AddressOfOp::create(rewriter, loc, lowering.pointer,
                                           lowering.markSymbol);
    TraceMark mark = traceMarkOf(op, lowering.chunks);
    FlagList::Words words(sizeof(mark) / sizeof(int32_t));
    std::memcpy(words.data(), &mark, sizeof(mark));
    Value place =
        byteOffset(rewriter, loc, list, lowering.marks.offsetOf(words));
    call(rewriter, loc, markFunction, {place, launch});
  }

  /// The first mark of a channel also begins its record.
  void writeTime(MarkOp op, Value launch, Value block,
                 Rewriter &rewriter) const {
    Location loc = op.getLoc();
    Value table = argument(rewriter, op, Argument::Table);
    Value line = constant(rewriter, loc, traceLineOffset(*op.getLine()));
    if (*op.getPlace() == 0)
      call(rewriter, loc, helper::record,
           {table, line, launch, argument(rewriter, op, Argument::Segment),
            block});
    call(rewriter, loc, helper::mark,
         {table, line, constant(rewriter, loc, *op.getPlace()), block});
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Whole modules
//===----------------------------------------------------------------------===//

LogicalResult collk::lowerKernels(Operation *scope, KernelLowering &lowering) {
  MLIRContext *context = scope->getContext();
  TypeConverter converter;
  addConversions(converter, lowering.pointer);
  RewritePatternSet patterns(context);
  patterns
      .add<LowerPart, LowerShare, LowerToOperands<FlagOp>, LowerBlockIndex,
           LowerBlocks, LowerBegin, LowerEnd, LowerOwn, LowerPeer, LowerBuffer,
           LowerSlot, LowerCopy, LowerReduce, LowerLoadReduce, LowerFlags,
           LowerLoad, LowerSignal, LowerWait, LowerJoin, LowerMark>(
          converter, context, lowering);
  if (lowering.addPatterns)
    lowering.addPatterns(patterns, converter);
  ConversionTarget target(*context);
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  target.addIllegalDialect<CollKernelDialect>();
  return applyFullConversion(scope, target, std::move(patterns));
}
