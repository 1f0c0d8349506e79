//===- AverageWords.cpp - How averages weigh what they add ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AverageWords.h"

#include "sccl/ABI/AverageWord.h"
#include "sccl/Analysis/SlotNumbering.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace {
/// Counts the contributions that each slot holds.
class ContributionCounts {
public:
  ContributionCounts(ProgramOp program, const Collective &collective)
      : slots(program, collective), counts(slots.size(), 1),
        numContributors(collective.numChunks()) {
    for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
      for (unsigned chunk : collective.pre().chunksOf(rank))
        ++numContributors[chunk];
  }

  /// Executes `transfer`. Returns the words of its chunks if it reduces, until
  /// the next one.
  ArrayRef<uint32_t> execute(const Transfer &transfer) {
    words.clear();
    for (unsigned i = 0; i < transfer.size(); ++i) {
      uint32_t left = countAt(transfer.reads[0], i);
      uint32_t &result = countAt(transfer.write, i);
      if (!transfer.reduces()) {
        result = left;
        continue;
      }
      uint32_t right = countAt(transfer.reads[1], i), total = left;
      for (const SlotRange &term : llvm::drop_begin(transfer.reads)) {
        uint32_t count = countAt(term, i);
        isMixed |= averageExponent(count) != averageExponent(right);
        total += count;
      }
      uint32_t all = numContributors[transfer.chunkAt(i)];
      words.push_back(averageWord(left, right, transfer.isFinal ? all : total,
                                  /*divides=*/transfer.isFinal));
      result = total;
    }
    return words;
  }

  /// True if a transfer has had terms that an average weighs differently.
  bool isMixed = false;

private:
  uint32_t &countAt(const SlotRange &range, unsigned i) {
    return counts[slots.number(range.rank, range.buffer, range[i])];
  }

  SlotNumbering slots;
  std::vector<uint32_t> counts;          ///< by slot; inputs have one
  std::vector<uint32_t> numContributors; ///< to each chunk
  std::vector<uint32_t> words;           ///< of the transfer in hand
};
} // namespace

FailureOr<AverageWords> AverageWords::of(ProgramOp program,
                                         const Collective &collective,
                                         bool unweighted) {
  AverageWords result;
  if (!collective.combining())
    return result;
  ContributionCounts counts(program, collective);
  LogicalResult walked =
      walkInExecutionOrder(program, [&](ChannelOp, Operation *op) {
        std::optional<Transfer> transfer = getTransfer(op);
        if (!transfer)
          return WalkResult::advance();
        ArrayRef<uint32_t> words = counts.execute(*transfer);
        if (counts.isMixed && !unweighted) {
          op->emitOpError("has terms with different numbers of contributions, "
                          "which averages cannot weigh alike");
          return WalkResult::interrupt();
        }
        if (!words.empty() && llvm::all_equal(words))
          result.words.try_emplace(op, words.front());
        else if (!words.empty())
          result.mixedWords.try_emplace(op, words.begin(), words.end());
        return WalkResult::advance();
      });
  if (failed(walked) || (counts.isMixed && !unweighted))
    return failure();
  return result;
}

/// The chunks [`begin`, `end`) of each repetition of `transfer`.
static Transfer partOf(const Transfer &transfer, unsigned begin, unsigned end) {
  Transfer part = transfer;
  part.chunk += begin;
  part.count = end - begin;
  auto cut = [&](SlotRange &range) {
    range.slot += begin;
    range.count = part.count;
  };
  llvm::for_each(part.reads, cut);
  cut(part.write);
  return part;
}

/// Adds `transfer` to `parts`, cut where the words of its first repetition
/// change.
static void addRuns(const Transfer &transfer, ArrayRef<uint32_t> words,
                    std::vector<WeighedTransfer> &parts) {
  for (unsigned begin = 0, end; begin < transfer.count; begin = end) {
    for (end = begin + 1; end < transfer.count && words[end] == words[begin];)
      ++end;
    parts.push_back({partOf(transfer, begin, end), words[begin]});
  }
}

std::vector<WeighedTransfer>
AverageWords::split(Operation *op, const Transfer &transfer) const {
  auto found = mixedWords.find(op);
  if (found == mixedWords.end())
    return {{transfer, words.lookup(op)}};
  ArrayRef<uint32_t> each = found->second;
  std::vector<WeighedTransfer> parts;
  if (each.drop_front(transfer.count) == each.drop_back(transfer.count)) {
    addRuns(transfer, each, parts);
    return parts;
  }
  for (unsigned i = 0; i < transfer.times; ++i)
    addRuns(transfer.repetition(i), each.drop_front(i * transfer.count), parts);
  return parts;
}
