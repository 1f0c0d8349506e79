//===- SlotUses.h - Who reads and writes the slots of a program -*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TRANSFORMS_SLOTUSES_H
#define SCCL_TRANSFORMS_SLOTUSES_H

#include "sccl/ABI/AverageWord.h"
#include "sccl/Analysis/SlotNumbering.h"

namespace sccl::coll {

/// Where `transfer` has what it writes to `range` from, all of it and one after
/// the other, if it only moves it.
inline std::optional<SlotRange> originOf(const Transfer &transfer,
                                         const SlotRange &range) {
  const SlotRange &write = transfer.write, &read = transfer.reads[0];
  unsigned first = 0;
  while (first < write.size() && write[first] != range.slot)
    ++first;
  if (first + range.count > write.size())
    return std::nullopt;
  SlotRange origin = range;
  origin.rank = read.rank;
  origin.buffer = read.buffer;
  origin.slot = read[first];
  for (unsigned i = 0; i < range.count; ++i)
    if (write[first + i] != range[i] || read[first + i] != origin[i])
      return std::nullopt;
  return origin;
}

/// True if a copy engine does a transfer of `program`: it converts nothing, and
/// knows no switches.
inline bool usesCopyEngines(ProgramOp program) {
  bool result = false;
  forEachOp<TransferOpInterface>(
      program, [&](TransferOpInterface op) { result |= op.usesCopyEngine(); });
  return result;
}

/// Who reads and who writes the slots of a program.
class SlotUses {
public:
  explicit SlotUses(ProgramOp program) : slots(program), uses(slots.size()) {
    forEachOp<TransferOpInterface>(program, [&](TransferOpInterface op) {
      mlir::Operation *self = op;
      unsigned step = op.getStep();
      for (const SlotRange &read : op.getReads())
        slots.forEach(read, [&](size_t slot) {
          uses[slot].reader = ++uses[slot].readers == 1 ? self : nullptr;
        });
      slots.forEach(op.getWrite(), [&](size_t slot) {
        uses[slot].writer = self;
        uses[slot].step = step;
      });
    });
  }

  /// Tells that `op` is about to be erased, and `reader`, if there is one,
  /// reads what it read. What it wrote, another op writes now, in the same step
  /// or later.
  void forget(TransferOpInterface op, mlir::Operation *reader = nullptr) {
    mlir::Operation *self = op;
    for (const SlotRange &read : op.getReads())
      slots.forEach(read, [&](size_t slot) {
        if (uses[slot].reader == self)
          uses[slot].reader = reader;
      });
  }

  /// The last op that writes slot `i` of `range`, or null.
  mlir::Operation *writerOf(const SlotRange &range, unsigned i) const {
    return uses[slots.number(range.rank, range.buffer, range[i])].writer;
  }

  /// True if each slot of `range` is read so many times.
  bool areReadBy(const SlotRange &range, size_t readers) const {
    bool result = true;
    slots.forEach(range, [&](size_t slot) {
      result = result && uses[slot].readers == readers;
    });
    return result;
  }

  /// The op that alone reads every slot of `range`. Nothing if there are
  /// several, or it is gone.
  mlir::Operation *onlyReader(const SlotRange &range) const {
    mlir::Operation *reader = nullptr;
    bool isOnly = true;
    slots.forEach(range, [&](size_t slot) {
      const Use &use = uses[slot];
      isOnly = isOnly && use.readers == 1 && (!reader || use.reader == reader);
      if (isOnly)
        reader = use.reader;
    });
    return isOnly ? reader : nullptr;
  }

  /// True if `range` is of several sums, each formed by itself before `step`
  /// and read once.
  bool isOfSums(const SlotRange &range, unsigned step) const {
    bool result = range.buffer == Buffer::Scratch && range.size() > 1;
    slots.forEach(range, [&](size_t slot) {
      const Use &use = uses[slot];
      auto sum = llvm::dyn_cast_or_null<LocalReduceOp>(use.writer);
      result = result && use.readers == 1 && use.step < step && sum &&
               sum.getCount() == 1;
    });
    return result;
  }

  /// True if what is in `range` is there before `step` begins.
  bool isBefore(const SlotRange &range, unsigned step) const {
    bool result = true;
    slots.forEach(range, [&](size_t slot) {
      result = result && (!uses[slot].writer || uses[slot].step < step);
    });
    return result;
  }

  /// True if an average weighs what is in two ranges alike, see AverageWord.h.
  bool weighAlike(const SlotRange &a, const SlotRange &b) {
    for (unsigned i = 0; i < a.size(); ++i)
      if (averageExponent(contributionsAt(a, i)) !=
          averageExponent(contributionsAt(b, i)))
        return false;
    return true;
  }

  /// The number of ranks that have contributed to what is in slot `i` of
  /// `range`, where each slot is written once.
  unsigned contributionsAt(const SlotRange &range, unsigned i) {
    size_t slot = slots.number(range.rank, range.buffer, range[i]);
    if (uses[slot].contributions != 0)
      return uses[slot].contributions;
    uses[slot].contributions = 1; // of inputs, and where there is a cycle
    if (!uses[slot].writer)
      return 1;
    Transfer transfer = *getTransfer(uses[slot].writer);
    const SlotRange &write = transfer.write;
    unsigned place = 0, total = 0;
    while (slots.number(write.rank, write.buffer, write[place]) != slot)
      ++place;
    for (const SlotRange &read : transfer.reads)
      total += contributionsAt(read, place);
    return uses[slot].contributions = total;
  }

private:
  struct Use {
    mlir::Operation *reader = nullptr; ///< if there is only one
    mlir::Operation *writer = nullptr; ///< the last one
    unsigned readers = 0;
    unsigned step = 0;          ///< in which it is written
    unsigned contributions = 0; ///< 0 if nobody has asked
  };

  SlotNumbering slots;
  std::vector<Use> uses; ///< by slot
};

} // namespace sccl::coll

#endif // SCCL_TRANSFORMS_SLOTUSES_H
