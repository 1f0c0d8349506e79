//===- ScratchSlots.cpp - Numbers for the scratch of a program ---------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScratchSlots.h"

#include "sccl/Analysis/SlotNumbering.h"
#include "sccl/Model/DisjointSets.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace {
/// Which slots of scratch hold partial sums, and what one transfer has beside
/// them.
class PartialSums {
public:
  explicit PartialSums(ProgramOp program)
      : slots(program), sources(slots.size()), classes(slots.size()),
        isWide(slots.size()) {
    forEachOp<TransferOpInterface>(
        program, [&](TransferOpInterface op) { enter(*getTransfer(op)); });
    for (size_t slot = 0; slot < slots.size(); ++slot)
      if (isPartial(slot))
        isWide[classes.first(slot)] = true;
  }

  /// True if a slot of scratch has to be wide.
  bool at(unsigned rank, unsigned slot) {
    return isWide[classes.first(slots.number(rank, Buffer::Scratch, slot))];
  }

private:
  static constexpr size_t none = ~size_t(0), partial = none - 1;

  void enter(const Transfer &transfer) {
    for (const SlotRange &read : transfer.reads)
      join(read);
    // Terms are in scratch of one rank.
    for (const SlotRange &term : ArrayRef(transfer.reads).drop_front())
      classes.join(numberOf(term, 0), numberOf(transfer.reads[1], 0));
    const SlotRange &write = transfer.write;
    join(write);
    for (unsigned i = 0; i < write.size(); ++i)
      sources[numberOf(write, i)] = !transfer.reduces()
                                        ? numberOf(transfer.reads[0], i) + 1
                                    : transfer.isFinal ? none
                                                       : partial;
  }
  size_t numberOf(const SlotRange &range, unsigned i) const {
    return slots.number(range.rank, range.buffer, range[i]);
  }
  void join(const SlotRange &range) {
    for (unsigned i = 1; i < range.size(); ++i)
      classes.join(numberOf(range, i), numberOf(range, 0));
  }
  /// Of a copy what it is a copy of; what goes in circles is no sum.
  bool isPartial(size_t slot) const {
    for (size_t hops = 0; hops < slots.size(); ++hops) {
      size_t source = sources[slot];
      if (source == 0 || source >= partial)
        return source == partial;
      slot = source - 1;
    }
    return false;
  }

  SlotNumbering slots;
  /// By slot: that of which it is a copy, from 1 on, 0 for what nobody writes,
  /// none for what is complete.
  std::vector<size_t> sources;
  DisjointSets classes;     ///< of slots that one transfer has together
  std::vector<bool> isWide; ///< by the first of a class
};

/// Numbers the scratch of each rank anew, without the slots that nobody uses,
/// and those for partial sums first where they are wide. A rank keeps its
/// numbers if a repeated transfer would lose its even strides.
class ScratchCompaction {
public:
  explicit ScratchCompaction(ProgramOp program) {
    if (program.getSumWidth() != 1)
      partialSums.emplace(program);
    for (RankOp rank : program.getBody().getOps<RankOp>())
      ranks.push_back({rank, std::vector<unsigned>(rank.getScratch(), unused)});
    forEachOp<TransferOpInterface>(program, [&](TransferOpInterface op) {
      Transfer transfer = *getTransfer(op);
      if (llvm::any_of(rangesOf(transfer), isInScratch))
        transfers.emplace_back(op, std::move(transfer));
    });
  }

  /// Returns the number of slots given back.
  unsigned run() {
    forEachRange([&](SlotRange &range) {
      for (unsigned i = 0; i < range.size(); ++i)
        ranks[range.rank].numbers[range[i]] = isNext;
    });
    for (Rank &rank : ranks) {
      if (partialSums)
        numberSlots(rank, /*isWide=*/true);
      rank.wide = rank.used;
      numberSlots(rank, /*isWide=*/false);
    }
    forEachRange([&](SlotRange &range) {
      ranks[range.rank].isKept |= !findStride(range);
    });
    for (auto &[op, transfer] : transfers)
      if (transfer.reads.size() > 2)
        ranks[transfer.reads[1].rank].isKept |= !keepsTerms(transfer);
    forEachRange([&](SlotRange &range) { renumber(range); });
    for (auto &[op, transfer] : transfers)
      op.setPlaces(transfer);
    unsigned freed = 0;
    for (Rank &rank : ranks) {
      bool isSplit = partialSums && !rank.isKept;
      if (partialSums)
        rank.op.setWide(isSplit ? rank.wide : rank.op.getScratch());
      if (rank.isKept)
        continue;
      freed += rank.op.getScratch() - rank.used;
      rank.op.setScratch(rank.used);
    }
    return freed;
  }

private:
  static constexpr unsigned unused = ~0u;
  struct Rank {
    RankOp op;
    std::vector<unsigned> numbers; ///< new ones, by slot
    unsigned used = 0, wide = 0;
    bool isKept = false;
  };
  static constexpr unsigned isNext = unused - 1; ///< used, without a number

  void numberSlots(Rank &rank, bool isWide) {
    for (auto [slot, number] : llvm::enumerate(rank.numbers))
      if (number == isNext &&
          (!partialSums || partialSums->at(rank.op.getRank(), slot) == isWide))
        number = rank.used++;
  }

  static bool isInScratch(const SlotRange *range) {
    return range->buffer == Buffer::Scratch;
  }
  static SmallVector<SlotRange *, 3> rangesOf(Transfer &transfer) {
    SmallVector<SlotRange *, 3> ranges = {&transfer.write};
    for (SlotRange &read : transfer.reads)
      ranges.push_back(&read);
    return ranges;
  }

  /// Calls `visit` with each range that is in scratch.
  void forEachRange(llvm::function_ref<void(SlotRange &)> visit) {
    for (auto &[op, transfer] : transfers)
      for (SlotRange *range : rangesOf(transfer))
        if (isInScratch(range))
          visit(*range);
  }

  /// Gives a range its new numbers.
  void renumber(SlotRange &range) {
    const Rank &rank = ranks[range.rank];
    if (rank.isKept)
      return;
    range.stride = *findStride(range);
    range.slot = rank.numbers[range.slot];
  }

  /// The stride of `range` by the new numbers; nothing if it is uneven.
  std::optional<unsigned> findStride(const SlotRange &range) const {
    const std::vector<unsigned> &numbers = ranks[range.rank].numbers;
    std::optional<unsigned> stride;
    for (unsigned i = range.count; i < range.size(); i += range.count) {
      unsigned step = numbers[range[i]] - numbers[range[i - range.count]];
      if (stride.value_or(step) != step)
        return std::nullopt;
      stride = step;
    }
    return stride.value_or(0);
  }

  /// True if the terms of `transfer` are at one distance by the new numbers.
  bool keepsTerms(const Transfer &transfer) const {
    const std::vector<unsigned> &numbers =
        ranks[transfer.reads[1].rank].numbers;
    auto terms = llvm::drop_begin(transfer.reads);
    unsigned first = numbers[terms.begin()->slot];
    unsigned distance = numbers[transfer.reads[2].slot] - first;
    return llvm::all_of(llvm::enumerate(terms), [&](auto term) {
      return numbers[term.value().slot] == first + term.index() * distance &&
             findStride(term.value()) == findStride(transfer.reads[1]);
    });
  }

  std::optional<PartialSums> partialSums;
  std::vector<Rank> ranks; ///< by number
  /// Those that name scratch.
  std::vector<std::pair<TransferOpInterface, Transfer>> transfers;
};
} // namespace

unsigned coll::compactScratch(ProgramOp program) {
  return ScratchCompaction(program).run();
}
