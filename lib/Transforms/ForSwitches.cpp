//===- ForSwitches.cpp - What switches can do in a program ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ForSwitches.h"

#include "sccl/Model/SwitchGroups.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <map>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace {
class SwitchFinder {
public:
  SwitchFinder(ProgramOp program, const Topology &topology, SlotUses &uses)
      : program(program), uses(uses) {
    result.groupOf.resize(topology.numRanks());
    SwitchGroups groups;
    for (const Switch &by : topology.switches()) {
      if (!groups.add(by.ranks))
        continue;
      for (unsigned rank : by.ranks)
        result.groupOf[rank] = unsigned(result.groups.size());
      result.groups.push_back({&by});
    }
    forEachOp<PutOp>(program,
                     [&](PutOp put) { hasHints |= put->hasAttr(switchHint); });
  }

  ForSwitches find() {
    findSums();
    findMulticasts();
    return std::move(result);
  }

private:
  void findMulticasts();
  void findSums();
  template <typename SumOp> void findSum(SumOp op);
  std::optional<SlotRange> sourceOf(const SlotRange &read) const;
  SlotRange beforeCopies(SlotRange range) const;
  /// True if the schedule has `put` so, or says nothing of switches at all.
  bool mayGo(PutOp put, Transport by) const {
    auto hint = put->getAttrOfType<TransportAttr>(switchHint);
    return hint ? hint.getValue() == by : !hasHints;
  }

  ProgramOp program;
  SlotUses &uses;
  ForSwitches result;
  llvm::DenseSet<Operation *> summed; ///< puts of terms; only looked up
  bool hasHints = false;
};
} // namespace

void SwitchFinder::findMulticasts() {
  using Key = std::array<unsigned, 9>;
  std::map<Key, std::vector<PutOp>> puts;
  forEachOp<PutOp>(program, [&](PutOp put) {
    if (summed.contains(put) || !mayGo(put, Transport::Multicast))
      return;
    SlotRange read = put.getReads()[0];
    puts[{put.getStep(), put.getChunk(), put.getCount(), put.getTimes(),
          put.getChunkStride(), read.rank, unsigned(read.buffer), read.slot,
          read.stride}]
        .push_back(put);
  });
  // Chunks that follow each other are side by side.
  for (auto &[key, alike] : puts) {
    Transfer transfer = *getTransfer(alike.front());
    unsigned rank = transfer.reads[0].rank;
    std::optional<unsigned> group = result.groupOf[rank];
    if (!group || !result.groups[*group].by->multicast)
      continue;
    std::vector<unsigned> reached = {rank};
    for (PutOp put : alike)
      reached.push_back(put.getWrite().rank);
    llvm::sort(reached);
    if (reached != result.groups[*group].by->ranks)
      continue;
    unsigned &slots = result.groups[*group].slots;
    result.multicasts.push_back({*group, transfer, std::move(alike), slots});
    slots += transfer.size();
  }
}

/// What a put of another rank has brought to `read`, where that is, or nothing.
std::optional<SlotRange> SwitchFinder::sourceOf(const SlotRange &read) const {
  auto put = dyn_cast_or_null<PutOp>(uses.writerOf(read, 0));
  if (!put || !mayGo(put, Transport::LoadReduce))
    return std::nullopt;
  return originOf(*getTransfer(put), read);
}

/// Where the rank has what is in `range`, before it was copied.
SlotRange SwitchFinder::beforeCopies(SlotRange range) const {
  while (auto copy = dyn_cast_or_null<CopyOp>(uses.writerOf(range, 0))) {
    std::optional<SlotRange> origin = originOf(*getTransfer(copy), range);
    if (!origin)
      break;
    range = *origin;
  }
  return range;
}

template <typename SumOp> void SwitchFinder::findSum(SumOp op) {
  Transfer transfer = *getTransfer(op);
  unsigned rank = transfer.reads[0].rank;
  std::optional<unsigned> group = result.groupOf[rank];
  if (!group || !result.groups[*group].by->reduces || transfer.times != 1)
    return;
  const std::vector<unsigned> &of = result.groups[*group].by->ranks;
  std::map<unsigned, SlotRange> terms;
  for (const SlotRange &read : transfer.reads) {
    SlotRange term = beforeCopies(sourceOf(read).value_or(read));
    if (!terms.try_emplace(term.rank, term).second ||
        !uses.isBefore(term, transfer.step) ||
        !uses.weighAlike(transfer.reads[0], read))
      return;
  }
  auto others = llvm::make_first_range(terms);
  if (!std::equal(of.begin(), of.end(), others.begin(), others.end()))
    return;
  SwitchSum sum{*group, transfer.step, transfer.chunk, op, {}};
  for (const auto &[from, term] : terms)
    sum.terms.push_back(term);
  for (const SlotRange &read : transfer.reads)
    if (sourceOf(read))
      summed.insert(uses.writerOf(read, 0));
  result.sums.push_back(std::move(sum));
}

void SwitchFinder::findSums() {
  forEachOp<LocalReduceOp>(program, [&](LocalReduceOp op) { findSum(op); });
  forEachOp<ReducePutOp>(program, [&](ReducePutOp op) { findSum(op); });
  // Chunks that follow each other are side by side.
  llvm::stable_sort(result.sums, [](const SwitchSum &a, const SwitchSum &b) {
    return std::pair(a.step, a.chunk) < std::pair(b.step, b.chunk);
  });
  // Where several ranks add up the same, it is there once.
  std::map<std::vector<std::tuple<Buffer, unsigned, unsigned, unsigned>>,
           unsigned>
      known;
  for (SwitchSum &sum : result.sums) {
    std::vector<std::tuple<Buffer, unsigned, unsigned, unsigned>> key;
    for (const SlotRange &term : sum.terms)
      key.push_back({term.buffer, term.rank, term.slot, term.count});
    auto [it, isNew] = known.try_emplace(key, result.groups[sum.group].slots);
    sum.slot = it->second;
    sum.isFirst = isNew;
    if (isNew)
      result.groups[sum.group].slots += sum.terms.front().count;
  }
}

ForSwitches coll::findForSwitches(ProgramOp program, const Topology &topology,
                                  SlotUses &uses) {
  return SwitchFinder(program, topology, uses).find();
}
