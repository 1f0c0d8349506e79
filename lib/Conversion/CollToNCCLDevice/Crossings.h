//===- Crossings.h - What goes from box to box ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COLLTONCCLDEVICE_CROSSINGS_H
#define SCCL_LIB_CONVERSION_COLLTONCCLDEVICE_CROSSINGS_H

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/CollKernel/CollKernelOps.h"

#include <map>

namespace sccl::collk {

/// Which ranks share a box: so many in a row, as in an LSA team of NCCL.
struct Boxes {
  unsigned ranksPerBox;

  bool areApart(unsigned a, unsigned b) const {
    return a / ranksPerBox != b / ranksPerBox;
  }
};

/// The boxes of `program`: `ranksPerBox` ranks each; if that is 0, those of the
/// machine in its module, and all ranks in one box without a machine. Emits an
/// error and fails if boxes are not of one size, or not of ranks in a row.
mlir::FailureOr<Boxes> findBoxes(coll::ProgramOp program, unsigned ranksPerBox);

/// Fails unless whoever reads what a put has brought from another box is told
/// so by the channel that has put it. What a third rank says is no proof: a
/// signal of GIN comes after the puts to the same peer, and says nothing about
/// puts to others. Fails on barriers, too. Emits errors.
llvm::LogicalResult checkArrivals(coll::ProgramOp program, Boxes boxes);

/// The buffer that a slot is in, and of which rank; none for the own one.
struct SlotPlace {
  BufferKind kind;
  std::optional<unsigned> peer;
};
SlotPlace placeOf(mlir::Value slot);

/// A flag that a rank of another box sets, as a signal of GIN. It is one of the
/// signals that a context has, and the blocks of a channel have neighbouring
/// ones of both.
struct GinFlag {
  unsigned signal;  ///< of block 0
  unsigned context; ///< of block 0
};

/// The flags of a program that cross boxes.
class Crossings {
public:
  /// Emits an error and fails if something of `program` can be done within a
  /// box only, or if a flag is not counted up by one each time.
  static mlir::FailureOr<Crossings> make(ProgramOp program, Boxes boxes);

  const Boxes &boxes() const { return ourBoxes; }
  /// The flag of which a signal, or a wait, of `rank` speaks, if it crosses.
  std::optional<GinFlag> find(FlagOp flag) const;
  unsigned numSignals() const { return signals; }
  unsigned numContexts() const { return contexts; }

private:
  using Place = std::pair<unsigned, unsigned>; ///< a rank, a byte offset
  struct Entry {
    GinFlag flag;
    unsigned sender;
    unsigned value = 0; ///< of the last signal
    unsigned perLaunch = 0;
  };

  explicit Crossings(Boxes boxes) : ourBoxes(boxes) {}
  llvm::LogicalResult addSignal(SignalOp op, unsigned rank, unsigned channel,
                                unsigned blocks);
  llvm::LogicalResult checkComplete(ProgramOp program) const;

  Boxes ourBoxes;
  std::map<Place, Entry> flags;
  std::map<unsigned, unsigned> flagsOfRank;
  unsigned signals = 0, contexts = 0;
};

} // namespace sccl::collk

#endif // SCCL_LIB_CONVERSION_COLLTONCCLDEVICE_CROSSINGS_H
