//===- ProgramView.cpp - A coll.program as a list -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Analysis/ProgramView.h"

#include "sccl/Dialect/Coll/ImportExport.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

static ProgramBuffer viewOf(Buffer buffer) {
  if (buffer == Buffer::Scratch)
    return ProgramBuffer::Scratch;
  return buffer == Buffer::Input ? ProgramBuffer::Input : ProgramBuffer::Output;
}

static ProgramSlots viewOf(const SlotRange &range) {
  return {range.rank, viewOf(range.buffer), range.slot, range.count,
          range.stride};
}

static bool join(ProgramSlots &slots, uint32_t size, const ProgramSlots &next) {
  if (slots.count != size || next.rank != slots.rank ||
      next.buffer != slots.buffer || next.slot != slots.slot + size)
    return false;
  slots.count += next.count;
  return true;
}

/// Makes `next` a part of `transfer` if it goes on where that ends.
static bool join(ProgramTransfer &transfer, const ProgramTransfer &next) {
  ProgramTransfer both = transfer;
  if (next.rank != both.rank || next.reads.size() != both.reads.size() ||
      next.write.count != next.size() ||
      !join(both.write, both.size(), next.write))
    return false;
  for (size_t i = 0; i < both.reads.size(); ++i)
    if (next.reads[i].count != next.size() ||
        !join(both.reads[i], both.size(), next.reads[i]))
      return false;
  llvm::append_range(both.chunks, next.chunks);
  transfer = std::move(both);
  return true;
}

namespace {
/// When something happens: in the high half the step, no earlier than that of
/// all that comes before it, in the low half how many waits of the step do.
using Time = uint64_t;

/// Makes the list. Of all orders that a program has it takes that by times.
/// Transfers of neighbours that follow each other become one.
class ViewBuilder {
public:
  ViewBuilder(ProgramOp program, unsigned numChunks)
      : program(program), view{uint32_t(program.getChunks()),
                               numChunks,
                               {},
                               {}} {}
  FailureOr<Program> build();

private:
  void visit(ChannelOp channel, Operation *op);
  void add(ChannelOp channel, const Transfer &transfer);

  ProgramOp program;
  Program view;
  /// The transfers of a time, in whose order there is nothing but that of each
  /// channel: those first that read what was written first.
  std::vector<unsigned> orderWithin(ArrayRef<unsigned> numbers) const;
  void append(ArrayRef<unsigned> numbers);

  std::vector<Time> times;          ///< by transfer
  std::vector<ChannelOp> executors; ///< likewise
  /// By rank and slot of scratch: the number of the last transfer to it, in the
  /// order of the list.
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> writers;
  std::vector<ProgramTransfer> list;
  llvm::DenseMap<ChannelOp, Time> now;
  llvm::DenseMap<FlagKey, Time> signals;
  llvm::DenseMap<std::pair<unsigned, unsigned>, Time> words;
};
} // namespace

void ViewBuilder::add(ChannelOp channel, const Transfer &transfer) {
  Time &time = now[channel];
  time = std::max(time, Time(transfer.step) << 32);
  ProgramTransfer added{getRank(channel), {}, {}, ::viewOf(transfer.write)};
  for (unsigned i = 0; i < transfer.size(); ++i)
    added.chunks.push_back(transfer.chunkAt(i));
  for (const SlotRange &read : transfer.reads) {
    added.reads.push_back(::viewOf(read));
    for (unsigned i = 0; holdsLL(program, read) && i < read.size(); ++i)
      time = std::max(time, words.at({read.rank, read[i]}) + 1);
  }
  const SlotRange &write = transfer.write;
  for (unsigned i = 0; holdsLL(program, write) && i < write.size(); ++i)
    words[{write.rank, write[i]}] = time;
  view.transfers.push_back(std::move(added));
  times.push_back(time);
  executors.push_back(channel);
}

void ViewBuilder::visit(ChannelOp channel, Operation *op) {
  if (std::optional<Transfer> transfer = getTransfer(op))
    return add(channel, *transfer);
  Time &time = now[channel];
  auto keyOfOp = [](auto flagOp) {
    return keyOf(getFlag(flagOp), flagOp.getValue());
  };
  if (auto signal = dyn_cast<SignalOp>(op))
    signals[keyOfOp(signal)] = time;
  else if (auto wait = dyn_cast<WaitOp>(op))
    time = std::max(time, signals.at(keyOfOp(wait)) + 1);
}

std::vector<unsigned>
ViewBuilder::orderWithin(ArrayRef<unsigned> numbers) const {
  std::vector<std::pair<unsigned, unsigned>> ranked;
  llvm::DenseMap<ChannelOp, unsigned> last;
  for (unsigned number : numbers) {
    const ProgramTransfer &transfer = view.transfers[number];
    unsigned &rank = last[executors[number]];
    for (const ProgramSlots &read : transfer.reads)
      for (unsigned i = 0; i < transfer.size(); ++i)
        if (read.buffer == ProgramBuffer::Scratch)
          rank = std::max(rank, writers.lookup({read.rank, read[i]}));
    ranked.push_back({rank, number});
  }
  llvm::stable_sort(ranked, llvm::less_first());
  auto sorted = llvm::make_second_range(ranked);
  return {sorted.begin(), sorted.end()};
}

/// Appends the transfers of a time, in this order.
void ViewBuilder::append(ArrayRef<unsigned> numbers) {
  llvm::DenseMap<ChannelOp, unsigned> last; ///< number in the list, from 1
  for (unsigned number : numbers) {
    ProgramTransfer &transfer = view.transfers[number];
    unsigned &own = last[executors[number]];
    if (own == 0 || !join(list[own - 1], transfer)) {
      list.push_back(transfer);
      own = unsigned(list.size());
    }
    const ProgramSlots &write = transfer.write;
    for (unsigned i = 0; i < transfer.size(); ++i)
      if (write.buffer == ProgramBuffer::Scratch)
        writers[{write.rank, write[i]}] = own;
  }
}

FailureOr<Program> ViewBuilder::build() {
  for (RankOp rank : program.getBody().getOps<RankOp>())
    view.scratch.push_back(rank.getScratch());
  auto visitNext = [this](ChannelOp channel, Operation *op) {
    visit(channel, op);
    return WalkResult::advance();
  };
  if (failed(walkInExecutionOrder(program, visitNext)))
    return failure();
  std::map<Time, std::vector<unsigned>> byTime;
  for (auto [number, time] : llvm::enumerate(times))
    byTime[time].push_back(number);
  for (const auto &[time, numbers] : byTime)
    append(orderWithin(numbers));
  view.transfers = std::move(list);
  return std::move(view);
}

FailureOr<Program> coll::viewOf(ProgramOp program) {
  FailureOr<Problem> problem = importProblem(program);
  if (failed(problem))
    return failure();
  return ViewBuilder(program, problem->collective.numChunks()).build();
}
