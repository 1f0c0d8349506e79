//===- SlotNumbering.h - Numbers for the slots of a program -----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a pass knows of each slot stands in an array, not in a map: programs on
// many ranks have 10^7 slots.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ANALYSIS_SLOTNUMBERING_H
#define SCCL_ANALYSIS_SLOTNUMBERING_H

#include "sccl/Analysis/Program.h"
#include "sccl/Model/Collective.h"

namespace sccl::coll {

/// Gives each slot of each buffer of each rank a number. Those of a rank are
/// together: its input, its output, its scratch.
class SlotNumbering {
public:
  /// The slots that transfers of `program` name.
  explicit SlotNumbering(ProgramOp program);
  /// And all that the buffers of `collective` have.
  SlotNumbering(ProgramOp program, const Collective &collective);

  size_t size() const { return begins.back(); }
  size_t number(unsigned rank, Buffer buffer, unsigned slot) const {
    return begins[rank * 3 + unsigned(buffer)] + slot;
  }
  /// The slot with a number, as a range of one.
  SlotRange slotAt(size_t number) const;

  /// Calls `visit` with the number of each slot of `range`.
  template <typename Visit>
  void forEach(const SlotRange &range, Visit visit) const {
    size_t begin = number(range.rank, range.buffer, range.slot);
    for (unsigned time = 0; time < range.times; ++time, begin += range.stride)
      for (unsigned i = 0; i < range.count; ++i)
        visit(begin + i);
  }

private:
  void addTransfers(ProgramOp program);
  void accumulate();

  std::vector<size_t> begins; ///< by rank and buffer, and the end
};

} // namespace sccl::coll

#endif // SCCL_ANALYSIS_SLOTNUMBERING_H
