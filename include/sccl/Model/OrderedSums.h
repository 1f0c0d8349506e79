//===- OrderedSums.h - Sums in one order on all ranks -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule says what a rank adds to its value of a chunk in which step, and
// leaves the order within a step open. Ranks that complete the same sum add it
// up in one order, and so end with the same bits, if
//
//   - what arrives waits until the value is sent on, or all of it is there, and
//   - then the value itself and what has waited are added in the order of the
//     least ranks that have contributed to each.
//
// Then all ranks agree that get the same partial sums, be it each rank's input,
// a box's sum, or half of all ranks'. If they get others, as in most schedules
// that engines find for few steps, no order makes them agree.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_ORDEREDSUMS_H
#define SCCL_MODEL_ORDEREDSUMS_H

#include "sccl/Model/Collective.h"
#include "sccl/Model/Schedule.h"

#include <algorithm>

namespace sccl {

/// Says which arrivals wait. Nothing waits in a collective that does not
/// reduce, nor for a chunk that one rank sums up and others copy.
class OrderedSums {
public:
  /// Nothing waits.
  OrderedSums() = default;
  /// Takes sends of `collective`, which has to outlive this, by enter().
  explicit OrderedSums(const Collective &collective);
  /// Takes those of `schedule`.
  OrderedSums(const Collective &collective, const Schedule &schedule);

  /// False if nothing waits, whatever is sent.
  bool isNeeded() const { return !endsInSum.empty(); }

  /// Enters a send, if that is needed, after those of earlier steps. After the
  /// last one comes finish().
  void enter(const Send &send);
  void finish();

  /// True if several ranks form one sum, so that only a program tells whether
  /// they do so in one order.
  bool mayDiffer() const {
    return sendsKept || std::ranges::any_of(
                            sumsOf, [](uint32_t ranks) { return ranks > 1; });
  }
  /// True if `rank` sums up `chunk` in the common order.
  bool isOrdered(unsigned rank, uint32_t chunk) const {
    return isNeeded() && sumsOf[chunk] > 1 && endsInSum[placeOf(rank, chunk)];
  }
  /// True if what `send` brings waits.
  bool waits(const Send &send) const {
    return send.action == SendAction::Reduce && isOrdered(send.dst, send.chunk);
  }

private:
  size_t placeOf(unsigned rank, uint32_t chunk) const {
    return size_t(rank) * collective->numChunks() + chunk;
  }

  const Collective *collective = nullptr;
  std::vector<bool> endsInSum;  ///< by place, of a chunk at a rank
  std::vector<uint32_t> sumsOf; ///< ranks that complete one, by chunk
  bool sendsKept = false;       ///< sums of what ranks keep are sent
};

} // namespace sccl

#endif // SCCL_MODEL_ORDEREDSUMS_H
