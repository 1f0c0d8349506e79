//===- Joins.cpp - When the threads of a block must join ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Joins.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

/// True if [a, a + aCount) and [b, b + bCount) have a slot in common.
static bool overlap(int64_t a, int64_t aCount, int64_t b, int64_t bCount) {
  return a < b + bCount && b < a + aCount;
}

bool Accesses::Access::overlaps(const Access &other) const {
  auto extent = [](const Access &access) {
    return (access.times - 1) * access.stride + access.count;
  };
  if (!overlap(slot, extent(*this), other.slot, extent(other)))
    return false;
  if (times > other.times)
    return other.overlaps(*this);
  for (int64_t i = 0; i < times; ++i) {
    // The first repetition of the other one that ends behind this one's begin.
    int64_t begin = slot + i * stride,
            behind = begin - other.slot - other.count;
    int64_t first =
        behind < 0 || other.stride == 0 ? 0 : behind / other.stride + 1;
    if (first < other.times &&
        overlap(begin, count, other.slot + first * other.stride, other.count))
      return true;
  }
  return false;
}

/// True if both begin at the same slots, as far as they have any in common.
bool Accesses::Access::begins(const Access &other) const {
  return slot == other.slot && (times == 1) == (other.times == 1) &&
         stride == other.stride;
}

std::pair<Buffer, Accesses::Access> Accesses::placeOf(const SlotRange &range,
                                                      bool isWrite,
                                                      bool hasLLBeside) const {
  Access access = {range.slot,   range.count, range.times,
                   range.stride, isWrite,     hasLLBeside};
  if (inPlaceOffsets.empty() || range.buffer != Buffer::Input)
    return {range.buffer, access};
  access.slot += inPlaceOffsets[range.rank];
  return {Buffer::Output, access};
}

bool Accesses::hasLL(const Transfer &transfer) const {
  return holdsLL(program, transfer.write) ||
         llvm::any_of(transfer.reads, [&](const SlotRange &read) {
           return holdsLL(program, read);
         });
}

void Accesses::note(const SlotRange &range, bool isWrite, bool hasLLBeside) {
  if (holdsLL(program, range))
    return;
  auto [buffer, access] = placeOf(range, isWrite, hasLLBeside);
  accesses[{range.rank, buffer}].push_back(access);
}

void Accesses::add(const Transfer &transfer) {
  auto [from, read] = placeOf(transfer.reads[0], false, false);
  auto [to, written] = placeOf(transfer.write, false, false);
  // Onto itself nothing is copied.
  if (transfer.reads.size() == 1 &&
      transfer.reads[0].rank == transfer.write.rank && from == to &&
      read.begins(written))
    return;
  bool ll = hasLL(transfer);
  for (const SlotRange &each : transfer.reads)
    note(each, /*isWrite=*/false, ll);
  note(transfer.write, /*isWrite=*/true, ll);
}

bool Accesses::conflicts(const SlotRange &range, bool isWrite,
                         bool hasLLBeside) const {
  if (holdsLL(program, range))
    return false;
  auto [buffer, access] = placeOf(range, isWrite, hasLLBeside);
  auto found = accesses.find({range.rank, buffer});
  if (found == accesses.end())
    return false;
  return llvm::any_of(found->second, [&, &access = access](const Access &old) {
    bool sameThreads =
        access.hasLLBeside && old.hasLLBeside && access.begins(old);
    return (isWrite || old.isWrite) && !sameThreads && access.overlaps(old);
  });
}

bool Accesses::conflictWith(const Transfer &transfer) const {
  bool ll = hasLL(transfer);
  return conflicts(transfer.write, /*isWrite=*/true, ll) ||
         llvm::any_of(transfer.reads, [&](const SlotRange &read) {
           return conflicts(read, /*isWrite=*/false, ll);
         });
}

bool Accesses::conflictsWithItself(const Transfer &transfer) const {
  if (transfer.times == 1 || holdsLL(program, transfer.write))
    return false;
  auto [to, written] = placeOf(transfer.write, false, false);
  return llvm::any_of(
      transfer.reads, [&, to = to, &written = written](const SlotRange &range) {
        auto [from, read] = placeOf(range, false, false);
        return range.rank == transfer.write.rank && from == to &&
               !read.begins(written) && read.overlaps(written);
      });
}
