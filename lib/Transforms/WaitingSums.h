//===- WaitingSums.h - Arrivals that wait for the rest of a sum -*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TRANSFORMS_WAITINGSUMS_H
#define SCCL_TRANSFORMS_WAITINGSUMS_H

#include "PairTable.h"

#include "sccl/Model/OrderedSums.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>

namespace sccl::coll {

/// A value of a chunk at a rank.
struct ChunkValue {
  static constexpr uint32_t absent = ~0u;
  uint32_t slot = absent;    ///< packed
  unsigned contributors = 0; ///< the number of ranks that are in it
  SumPart part = {0};        ///< which they are
};

inline std::vector<SumPart> partsOf(llvm::ArrayRef<ChunkValue> values) {
  std::vector<SumPart> parts;
  for (const ChunkValue &value : values)
    parts.push_back(value.part);
  return parts;
}

/// What ranks keep apart until they sum it up in the order of OrderedSums.h,
/// and where it lands, so that one reduction can have all of it as terms.
class WaitingSums {
public:
  /// Nothing waits before there is an order.
  void setOrder(OrderedSums found) { ordered = std::move(found); }
  const OrderedSums &order() const { return ordered; }
  bool waits(const Send &send) const { return ordered.waits(send); }

  /// The slot of scratch for `part` of the sum of `chunk` at `rank`; `allocate`
  /// returns the first of some number of new slots of the rank.
  uint32_t placeOf(unsigned rank, unsigned chunk, SumPart part,
                   const Collective &collective, const PairTable &pairs,
                   llvm::function_ref<uint32_t(uint32_t count)> allocate);

  void add(size_t pair, unsigned step, ChunkValue part) {
    Parts &parts = waiting[pair];
    parts.step = step;
    parts.values.push_back(part);
  }
  /// True if something waits at `pair`.
  bool contains(size_t pair) const { return waiting.contains(pair); }

  struct Parts {
    unsigned step; ///< in which the last of them has come
    std::vector<ChunkValue> values;
  };
  /// What waits at `pair`, by the least contributors.
  Parts take(size_t pair);
  /// What waits at `pair` from now on gets new places, since no slot is written
  /// twice.
  void leavePlaces(size_t pair) { places.erase(pair); }

private:
  /// Of each rank, places for its parts of the sums of `chunks` neighbours.
  struct Places {
    uint32_t slot;
    unsigned chunk, chunks;
  };
  OrderedSums ordered;
  std::map<size_t, Parts> waiting; ///< by pair
  std::map<size_t, Places> places; ///< likewise
};

} // namespace sccl::coll

#endif // SCCL_TRANSFORMS_WAITINGSUMS_H
