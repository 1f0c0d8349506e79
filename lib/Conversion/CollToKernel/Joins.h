//===- Joins.h - When the threads of a block must join ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COLLTOKERNEL_JOINS_H
#define SCCL_LIB_CONVERSION_COLLTOKERNEL_JOINS_H

#include "sccl/Analysis/Program.h"

#include <map>

namespace sccl::coll {

/// What the threads of a block have accessed since they last joined, with
/// buffers apart or in place.
///
/// Which thread handles which bytes of plain memory depends on the alignment of
/// buffers, so what one thread accesses another may have written. LL words
/// depend on nothing: who reads one waits for it, and each is written once in a
/// launch. Nor does what stands beside them: of two transfers with LL words
/// that begin at the same slot, a thread handles the same bytes.
class Accesses {
public:
  /// In place if there are offsets: by rank, where its send buffer lies in its
  /// receive buffer, in slots.
  explicit Accesses(ProgramOp program,
                    llvm::ArrayRef<int64_t> inPlaceOffsets = {})
      : program(program), inPlaceOffsets(inPlaceOffsets) {}

  void add(const Transfer &transfer);
  void clear() { accesses.clear(); }
  /// True if `transfer` reads what was written, or writes what was accessed.
  bool conflictWith(const Transfer &transfer) const;
  /// True if repetitions of `transfer` may conflict with each other.
  bool conflictsWithItself(const Transfer &transfer) const;

private:
  /// `count` slots from `slot` on, `times` times at a distance of `stride`.
  struct Access {
    int64_t slot, count, times, stride;
    bool isWrite;
    bool hasLLBeside;

    bool overlaps(const Access &other) const;
    bool begins(const Access &other) const;
  };
  /// What `range` is, and where: in place the send buffer is a part of the
  /// receive buffer, or the reverse.
  std::pair<Buffer, Access> placeOf(const SlotRange &range, bool isWrite,
                                    bool hasLLBeside) const;
  bool hasLL(const Transfer &transfer) const;
  void note(const SlotRange &range, bool isWrite, bool hasLLBeside);
  bool conflicts(const SlotRange &range, bool isWrite, bool hasLLBeside) const;

  ProgramOp program;
  llvm::ArrayRef<int64_t> inPlaceOffsets;
  std::map<std::pair<unsigned, Buffer>, std::vector<Access>> accesses;
};

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COLLTOKERNEL_JOINS_H
