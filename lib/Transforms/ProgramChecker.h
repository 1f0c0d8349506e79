//===- ProgramChecker.h - Symbolic execution of a program ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes a program once, in one order, and asks of each access whether those
// that it must not overtake are over by then in every order.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TRANSFORMS_PROGRAMCHECKER_H
#define SCCL_TRANSFORMS_PROGRAMCHECKER_H

#include "Expressions.h"
#include "sccl/Analysis/EventOrder.h"
#include "sccl/Analysis/SlotNumbering.h"
#include "sccl/Model/Collective.h"
#include "sccl/Options/LoweringOptions.h"

#include <map>

namespace sccl::coll {

/// Something that is wrong with an op: a diagnostic, or only the fact. It is
/// always a failure.
class Fault {
public:
  Fault(mlir::Operation *op, bool isQuiet) {
    if (!isQuiet)
      diagnostic.emplace(op->emitOpError());
  }
  template <typename Value> Fault &&operator<<(Value &&value) && {
    if (diagnostic)
      *diagnostic << std::forward<Value>(value);
    return std::move(*this);
  }
  Fault &&note(mlir::Operation *op, const llvm::Twine &text) && {
    if (diagnostic)
      diagnostic->attachNote(op->getLoc()) << text;
    return std::move(*this);
  }
  operator llvm::LogicalResult() const { return llvm::failure(); }

private:
  std::optional<mlir::InFlightDiagnostic> diagnostic;
};

/// Executes one program and finds the first thing that is wrong.
class ProgramChecker {
public:
  struct Mode {
    bool inPlace = false; ///< send and receive buffers of each rank overlap
    /// Do not say what is wrong. Then the context stays as it is, and others
    /// may work with it and read the program.
    bool isQuiet = false;
  };
  ProgramChecker(ProgramOp program, const Collective &collective, Mode mode);

  /// Also asks whether the ranks reduced as `contract` has it.
  mlir::LogicalResult run(const SumContract &contract);

private:
  static constexpr uint32_t none = ~0u;

  /// What is in a slot.
  struct SlotState {
    uint32_t chunk = none;
    uint32_t writer = none;   ///< the transfer that wrote it, if any
    uint32_t expression = 0;  ///< if the collective reduces
    bool isRead = false;      ///< since it was written
    bool isRewritten = false; ///< at some time, after it may have been read
  };
  struct Executed {
    mlir::Operation *op;
    Access access;
  };
  /// Something that must be true, and what is wrong if it is not.
  struct Claim {
    enum Kind { ReadRace, WriteRace, Unready, UnreadyScratch } kind;
    EventOrder::Question question;
    mlir::Operation *op;
    SlotRange slot;
    mlir::Operation *other;
  };
  /// The first op of a rank that touches scratch of another one without knowing
  /// of its launch, among those with chunks at the lowest position; and that.
  struct FirstUse {
    unsigned position;
    mlir::Operation *op;
  };

  // Set-up.
  void fillInputs();
  void markRewritten();
  size_t numberOf(unsigned rank, Buffer buffer, unsigned slot) const;
  size_t numberOf(const SlotRange &range, unsigned i) const {
    return numberOf(range.rank, range.buffer, range[i]);
  }

  Fault fault(mlir::Operation *op) const { return {op, mode.isQuiet}; }

  // One transfer.
  mlir::LogicalResult execute(ChannelOp channel, mlir::Operation *op);
  void requireReady(ChannelOp channel, mlir::Operation *op,
                    const Transfer &transfer);
  mlir::LogicalResult checkOverlap(mlir::Operation *op,
                                   const Transfer &transfer);
  mlir::LogicalResult executeChunk(mlir::Operation *op,
                                   const Transfer &transfer, unsigned i);
  mlir::LogicalResult readSlot(mlir::Operation *op, const SlotRange &range,
                               unsigned i, unsigned chunk, bool isLast,
                               SlotState &result);
  mlir::LogicalResult writeSlot(mlir::Operation *op, const SlotRange &range,
                                unsigned i, const SlotState &result);
  mlir::LogicalResult checkFinal(mlir::Operation *op, unsigned chunk,
                                 bool isFinal, const SlotState &result);
  mlir::LogicalResult checkWidth(mlir::Operation *op, const SlotRange &write,
                                 unsigned i, const SlotState &result);
  unsigned firstMissing(unsigned chunk, unsigned expression) const;

  // Claims.
  void claim(Claim claim);
  mlir::LogicalResult settle();
  mlir::LogicalResult report(const Claim &claim);

  // The end.
  mlir::LogicalResult checkDoubleBuffering();
  mlir::LogicalResult checkLL();
  mlir::LogicalResult checkOutputs();
  mlir::LogicalResult checkOutput(RankOp rank, unsigned slot, unsigned chunk);
  mlir::LogicalResult reportLate(RankOp rank);
  mlir::LogicalResult checkOrder(const SumOrder &asked);
  mlir::LogicalResult checkRoundings();
  mlir::FailureOr<unsigned> expressionAsked(const SumOrder &asked,
                                            unsigned chunk);

  ProgramOp program;
  const Collective &collective;
  Mode mode;
  std::vector<int64_t> inPlaceOffsets; ///< by rank
  SlotNumbering slots;
  EventOrder order;
  bool roundsOnce = false; ///< see SumContract
  Expressions expressions;
  std::vector<unsigned> numContributors; ///< to each chunk
  std::vector<SlotState> states;         ///< by number of the slot
  llvm::SmallVector<RankOp, 0> ranks;    ///< by number
  std::vector<Executed> executed;
  /// The last reader, as the number of ops up to it, and the writer that it was
  /// asked about.
  std::pair<size_t, uint32_t> lastAsked = {0, none};
  /// The last read by each channel of slots that are rewritten.
  llvm::DenseMap<size_t, llvm::SmallVector<uint32_t, 2>> readers;
  /// The last access of a channel to a rank's buffers.
  std::map<std::pair<unsigned, uint32_t>, Access> lastAccesses;
  std::vector<Claim> claims;
  std::map<std::pair<unsigned, unsigned>, FirstUse> unready;
};

} // namespace sccl::coll

#endif // SCCL_TRANSFORMS_PROGRAMCHECKER_H
