//===- ProgramCode.h - The calls that a program becomes ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between a program and its functions stands a list of calls of helpers, with
// numbers for all operands but the arguments of the function. It is either
// written out as code, one call after the other, or kept as a table that
// @coll_execute reads.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_PROGRAMCODE_H
#define SCCL_LIB_CONVERSION_COMMON_PROGRAMCODE_H

#include "LLHelpers.h"

#include "sccl/Analysis/Program.h"
#include "sccl/Conversion/ProgramInfo.h"
#include "sccl/Model/Collective.h"

#include <array>
#include <set>

namespace sccl::coll {

/// A flag to set or to poll, as the helpers read it from a table.
struct FlagRow {
  static constexpr unsigned words = 4;
  int32_t peer;      ///< whose control memory holds the flag
  int32_t offset;    ///< of the word of block 0 in it
  int32_t perLaunch; ///< K of the epoch protocol
  int32_t value;     ///< within a launch, 1 to K
};

/// The first slot of a buffer's range.
struct CodeSlot {
  /// Index of the buffer's address in the table of peers, which counts 4 for
  /// each rank; below 0 for a buffer of the rank itself, ~(the field's number).
  int32_t where = 0;
  int32_t segment = 0;
  int32_t chunk = 0;
  /// To be added to `chunk` in launches of odd number.
  int32_t oddChunks = 0;
};

/// One call of a helper.
struct CodeRow {
  /// What is not below `LL words` is `LL words` and the number of a LLShape.
  enum Opcode : int32_t {
    Transfer = 0,
    Reduce = 1,
    Signal = 2,
    Wait = 3,
    LL = 4
  };
  static constexpr unsigned words = 16;

  Opcode opcode;
  CodeSlot dst = {}, src0 = {}, src1 = {}; ///< of a transfer or a reduction
  int32_t position = 0;  ///< of the first chunk in its segment
  int32_t count = 0;     ///< of chunks, or of flags
  int32_t firstFlag = 0; ///< row in the table of flags
  int32_t divisor = 0;   ///< of a final reduction, if it is an average
  LLShape shape = {};    ///< of a transfer or a reduction

  std::array<int32_t, words> encode() const;
};

/// The shapes with LL words that the transfers of `program` have.
std::set<LLShape> llShapes(ProgramOp program);

/// Makes the rows of one program.
class ProgramCode {
public:
  /// `averages` tells that the reduction is an average, `hasThreads` that rows
  /// are executed by many threads together.
  ProgramCode(ProgramOp program, const Collective &collective, bool averages,
              bool hasThreads);

  /// The rows for `ops`, which one thread block, or one host thread, of `rank`
  /// executes in this order.
  std::vector<CodeRow> encode(llvm::ArrayRef<mlir::Operation *> ops,
                              unsigned rank);
  /// The flags that all rows so far refer to.
  llvm::ArrayRef<FlagRow> flagRows() const { return flags; }
  const ControlLayout &layout(unsigned rank) const { return layouts[rank]; }
  unsigned blocks() const { return layouts.front().blocks; }
  unsigned chunksPerSegment() const { return perSegment; }
  /// True if reductions have a divisor.
  bool averages() const { return hasDivisors; }

private:
  CodeRow encodeTransfer(const Transfer &transfer, unsigned rank) const;
  CodeSlot encodeSlot(const SlotRange &range, unsigned rank) const;
  FlagRow encodeFlag(const FlagId &flag, unsigned value) const;

  ProgramOp program;
  const Collective &collective;
  bool hasDivisors, hasThreads;
  unsigned perSegment;
  FlagTable table;
  std::vector<ControlLayout> layouts; ///< by rank
  std::vector<int32_t> oddChunks;     ///< by rank
  std::vector<FlagRow> flags;
};

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_PROGRAMCODE_H
