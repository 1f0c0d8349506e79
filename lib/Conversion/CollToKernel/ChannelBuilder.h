//===- ChannelBuilder.h - The ops of one channel ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COLLTOKERNEL_CHANNELBUILDER_H
#define SCCL_LIB_CONVERSION_COLLTOKERNEL_CHANNELBUILDER_H

#include "Joins.h"

#include "../Common/AverageWords.h"

#include "sccl/ABI/BlockShare.h"
#include "sccl/ABI/KernelABI.h"
#include "sccl/Dialect/CollKernel/CollKernelOps.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace sccl::coll {

/// What code for all ranks of a program needs to know.
struct ProgramContext {
  ProgramContext(ProgramOp program, const Collective &collective,
                 AverageWords averages, bool hasThreads, bool traced);

  ProgramOp program;
  const Collective &collective;
  AverageWords averages;
  bool hasThreads; ///< many of them execute a channel
  bool traced;     ///< marks say what is executed
  FlagTable flags;
  std::vector<int64_t>
      inPlaceOffsets;                 ///< by rank; empty if nothing is in place
  unsigned mostSpread = 1;            ///< of a channel with threads
  std::vector<ControlLayout> layouts; ///< by rank
  std::vector<unsigned> oddChunks;    ///< by rank, see TableSlot
  std::vector<RankOp> ranks;          ///< by number
};

/// Emits what one channel of a kernel executes.
class ChannelBuilder {
public:
  /// Creates channel `number` at the insertion point. Where threads execute it,
  /// marks have places in line `line`. It has `spread` times the blocks of the
  /// program, after those of channels that have `group` times as many.
  ChannelBuilder(mlir::OpBuilder &builder, mlir::Location loc,
                 const ProgramContext &context, unsigned rank, unsigned number,
                 unsigned line, unsigned group, unsigned spread);

  /// Begins a launch. Without it, launches are not counted, and flags are out
  /// of use.
  void begin();
  /// Adds `op`, a transfer, a signal or a wait. `share` is for a transfer of LL
  /// words.
  void add(mlir::Operation *op, BlockShare share = {});
  /// Ends the launch, if one has begun, and moves the builder behind the
  /// channel.
  void end();

private:
  mlir::Value constant(mlir::Location loc, int64_t value);
  mlir::Value buffer(mlir::Location loc, unsigned owner, Buffer kind);
  mlir::Value slot(mlir::Location loc, const SlotRange &range);
  mlir::Value slotAtSwitch(mlir::Location loc, SlotRange range);
  mlir::Value makeSlot(mlir::Location loc, const SlotRange &range,
                       mlir::Type type, unsigned width, mlir::Value buffer);
  mlir::Value numberIf(bool condition, mlir::Location loc, int64_t value);
  bool repeatsAsOne(const Transfer &transfer) const;
  void joinBefore(mlir::Location loc, llvm::ArrayRef<Transfer> transfers);
  void setShare(mlir::Location loc, BlockShare share);
  void addRepeated(mlir::Location loc, const coll::Transfer &transfer,
                   uint32_t average);
  void addTransfer(mlir::Location loc, const Transfer &transfer,
                   uint32_t average);
  void addSwitched(mlir::Operation *op, const Transfer &transfer);
  void addAtSwitch(mlir::Location loc, llvm::ArrayRef<Transfer> transfers);
  std::vector<FlagOffset> wordsOf(const FlagId &flag, bool isSignal) const;
  void addFlag(mlir::Operation *op, bool isSignal, const FlagId &flag,
               unsigned value);
  void flushFlags();
  collk::MarkOp mark(mlir::Location loc, collk::MarkKind kind);
  void markTransfer(mlir::Location loc, const Transfer &transfer);
  void markFlag(mlir::Location loc, bool isSignal, mlir::Value flag);
  void join(mlir::Location loc);
  void forgetAccesses();

  mlir::OpBuilder &builder;
  const ProgramContext &context;
  unsigned rank, group, spread;
  collk::ChannelOp channel;
  // Only looked up.
  llvm::DenseMap<int64_t, mlir::Value> constants;
  llvm::DenseMap<std::pair<unsigned, unsigned>, mlir::Value> buffers;
  llvm::DenseMap<uint32_t, mlir::Value> shares; ///< of `part`, by their words
  mlir::Value part, launch, epoch;
  mlir::Value mover;                      ///< the part that moves what is added
  llvm::SmallVector<Accesses, 2> views;   ///< none for one thread
  llvm::SmallVector<mlir::Value> pending; ///< flags of one op
  bool pendingSignals = false;
  unsigned source = 0;       ///< the channel of the program that the op is from
  unsigned line, places = 0; ///< of marks
};

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COLLTOKERNEL_CHANNELBUILDER_H
