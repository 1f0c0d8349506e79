//===- PatternBase.h - What patterns for collk ops share --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_KERNELPATTERNS_PATTERNBASE_H
#define SCCL_LIB_CONVERSION_KERNELPATTERNS_PATTERNBASE_H

#include "KernelPatterns.h"

#include "sccl/ABI/RankTable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Transforms/DialectConversion.h"

namespace sccl::collk {

/// The values that a slot becomes.
enum SlotPart { Address, Segment, Chunk, SegmentStep, ChunkStep };
/// The values that a part becomes.
enum PartPart { BlockNumber, Parts, Chunks };

/// A pattern for `Op` with what it builds.
template <typename Op>
class KernelPattern : public mlir::OpConversionPattern<Op> {
public:
  using OneToN = typename mlir::OpConversionPattern<Op>::OneToNOpAdaptor;
  using Rewriter = mlir::ConversionPatternRewriter;

  KernelPattern(const mlir::TypeConverter &converter,
                mlir::MLIRContext *context, KernelLowering &lowering,
                mlir::PatternBenefit benefit = 1)
      : mlir::OpConversionPattern<Op>(converter, context, benefit),
        lowering(lowering) {}

protected:
  static mlir::Value constant(mlir::OpBuilder &builder, mlir::Location loc,
                              int64_t value, unsigned width = 32) {
    return mlir::arith::ConstantIntOp::create(builder, loc, value, width);
  }
  mlir::Value argument(mlir::OpBuilder &builder, mlir::Operation *op,
                       Argument which) const {
    return lowering.frames.of(op).get(builder, op->getLoc(), which);
  }
  /// How many blocks the launch has for each channel.
  mlir::Value blocksOfLaunch(mlir::OpBuilder &builder,
                             mlir::Operation *op) const {
    if (lowering.blocks)
      return constant(builder, op->getLoc(), *lowering.blocks);
    return lowering.frames.of(op).getBlocks(builder, op->getLoc());
  }
  static llvm::SmallVector<mlir::Value>
  flatten(llvm::ArrayRef<mlir::ValueRange> operands) {
    llvm::SmallVector<mlir::Value> values;
    for (mlir::ValueRange each : operands)
      llvm::append_range(values, each);
    return values;
  }
  static void call(mlir::OpBuilder &builder, mlir::Location loc,
                   llvm::StringRef helper, mlir::ValueRange operands) {
    mlir::LLVM::CallOp::create(builder, loc, mlir::TypeRange{}, helper,
                               operands);
  }
  /// The address that stands at `offset` (i64) of the table of peers. It is
  /// loaded anew for each use: a register that holds it across calls costs
  /// more.
  mlir::Value peerAddress(mlir::OpBuilder &builder, mlir::Operation *op,
                          mlir::Value offset) const {
    mlir::Location loc = op->getLoc();
    mlir::Value peers = argument(builder, op, Argument::Peers);
    mlir::Value entry = byteOffset(builder, loc, peers, offset);
    return mlir::LLVM::LoadOp::create(builder, loc, lowering.pointer, entry,
                                      sizeof(void *));
  }
  /// The address of unit `unit` of the rank's table.
  mlir::Value unitAddress(mlir::OpBuilder &builder, mlir::Operation *op,
                          mlir::Value unit) const {
    mlir::Location loc = op->getLoc();
    mlir::Value table = argument(builder, op, Argument::Table);
    mlir::Value index =
        mlir::arith::ExtUIOp::create(builder, loc, builder.getI64Type(), unit);
    mlir::Value width = constant(builder, loc, tableUnitBytes, 64);
    return byteOffset(builder, loc, table,
                      mlir::arith::MulIOp::create(builder, loc, index, width));
  }

  KernelLowering &lowering;
};

/// What copies and reductions have in common.
template <typename Op> class TransferPattern : public KernelPattern<Op> {
public:
  using KernelPattern<Op>::KernelPattern;

protected:
  /// Replaces `op` by a call of `helper`, for each repetition unless the helper
  /// repeats. `slots` are the destination and the sources, `more` what the
  /// helper takes beside.
  void emit(Op op, mlir::ConversionPatternRewriter &rewriter,
            typename KernelPattern<Op>::OneToN adaptor, llvm::StringRef helper,
            const coll::TransferShape &shape,
            llvm::ArrayRef<mlir::ValueRange> slots,
            mlir::ValueRange more = {}) const {
    mlir::Location loc = op.getLoc();
    mlir::OpBuilder::InsertionGuard guard(rewriter);
    mlir::Value turn;
    if (op.getTimes() && !shape.repeats()) {
      auto loop = mlir::scf::ForOp::create(
          rewriter, loc, this->constant(rewriter, loc, 0),
          adaptor.getTimes().front(), this->constant(rewriter, loc, 1));
      rewriter.setInsertionPointToStart(loop.getBody());
      turn = loop.getInductionVar();
    }
    llvm::SmallVector<mlir::Value> operands;
    for (mlir::ValueRange slot : slots)
      operands.append(
          {slot[Address],
           advance(rewriter, loc, slot[Segment], turn, slot[SegmentStep]),
           advance(rewriter, loc, slot[Chunk], turn, slot[ChunkStep])});
    appendCommon(op, rewriter, adaptor, operands);
    if (shape.repeats()) {
      operands.push_back(op.getTimes() ? adaptor.getTimes().front()
                                       : this->constant(rewriter, loc, 1));
      // Steps are of chunks or of segments.
      for (mlir::ValueRange slot : slots)
        operands.push_back(mlir::arith::SubIOp::create(
            rewriter, loc, slot[ChunkStep], slot[SegmentStep]));
    }
    if (shape.hasLL()) {
      operands.push_back(mlir::arith::TruncIOp::create(
          rewriter, loc, rewriter.getI32Type(), adaptor.getLaunch().front()));
      operands.push_back(this->argument(rewriter, op, Argument::Abort));
    } else if (this->lowering.isHost && !shape.isWide()) {
      operands.push_back(countSlots(op, rewriter));
    }
    llvm::append_range(operands, more);
    this->call(rewriter, loc, helper.str() + shape.suffix(), operands);
    rewriter.eraseOp(op);
  }

  /// The number of the launch's reduction, in 32 bits.
  mlir::Value reductionNumber(Op op, mlir::OpBuilder &builder) const {
    return mlir::arith::TruncIOp::create(
        builder, op.getLoc(), builder.getI32Type(),
        this->argument(builder, op, Argument::Reduction));
  }

private:
  static mlir::Value advance(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value start, mlir::Value turn,
                             mlir::Value step) {
    if (!turn)
      return start;
    mlir::Value offset = mlir::arith::MulIOp::create(builder, loc, turn, step);
    return mlir::arith::AddIOp::create(builder, loc, start, offset);
  }

  /// The chunks in the buffers of all ranks.
  mlir::Value countSlots(Op op, mlir::OpBuilder &builder) const {
    mlir::Location loc = op.getLoc();
    if (this->lowering.slots)
      return this->constant(builder, loc, *this->lowering.slots);
    mlir::Value table = this->argument(builder, op, Argument::Table);
    mlir::Value place =
        byteOffset(builder, loc, table, offsetof(TableHeader, slots));
    return mlir::LLVM::LoadOp::create(builder, loc, builder.getI32Type(), place,
                                      sizeof(uint32_t));
  }

  void appendCommon(Op op, mlir::OpBuilder &builder,
                    typename KernelPattern<Op>::OneToN adaptor,
                    llvm::SmallVectorImpl<mlir::Value> &operands) const {
    mlir::ValueRange part = adaptor.getPart();
    operands.append({adaptor.getPosition().front(), adaptor.getCount().front(),
                     this->argument(builder, op, Argument::Segment),
                     this->argument(builder, op, Argument::Distance),
                     part[Chunks], part[BlockNumber], part[Parts]});
  }
};

/// Signals and waits: where their flags are listed, and how many.
template <typename Op> struct FlagPattern : KernelPattern<Op> {
  using KernelPattern<Op>::KernelPattern;

protected:
  mlir::FailureOr<std::pair<mlir::Value, mlir::Value>>
  listOf(Op op, typename KernelPattern<Op>::OneToN adaptor,
         mlir::ConversionPatternRewriter &rewriter) const {
    mlir::Location loc = op.getLoc();
    if (llvm::isa<FlagsType>(op.getFlags().front().getType())) {
      mlir::ValueRange list = adaptor.getFlags().front();
      return std::pair(list[0], list[1]);
    }
    FlagList::Words words;
    for (mlir::ValueRange flag : adaptor.getFlags())
      for (mlir::Value word : flag) {
        std::optional<int64_t> value = mlir::getConstantIntValue(word);
        if (!value)
          return op.emitOpError("has a flag that is neither a constant nor in "
                                "a table");
        words.push_back(*value);
      }
    mlir::Value list = mlir::LLVM::AddressOfOp::create(
        rewriter, loc, this->lowering.pointer, this->lowering.flagSymbol);
    mlir::Value first =
        byteOffset(rewriter, loc, list, this->lowering.flags.offsetOf(words));
    return std::pair(first,
                     this->constant(rewriter, loc, op.getFlags().size()));
  }
};

} // namespace sccl::collk

#endif // SCCL_LIB_CONVERSION_KERNELPATTERNS_PATTERNBASE_H
