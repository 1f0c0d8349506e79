//===- Trace.h - What blocks of ranks do, in which order --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What formats of other tools have in common: thread blocks of ranks do one
// event after the other, and an event may need others of other blocks. Each
// event reads and writes chunks of its own rank, and may get values from an
// event of another.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_TRACE_H
#define SCCL_LIB_EXCHANGE_TRACE_H

#include "sccl/Exchange/Place.h"

#include <optional>

namespace sccl::exchange {

/// Cells of a rank, one per chunk of its buffers.
struct Cells {
  uint32_t first, count;
};

enum class EventRole : uint8_t {
  Step,
  Begin, ///< of the call on a rank; touches nothing
  End,   ///< of it: from then on the caller may write to what it writes to
};

struct Event {
  Place place;
  uint32_t rank, block; ///< the block counts over all ranks
  /// What it makes is the sum of what these hold, those that are there: values
  /// of another event, and cells.
  std::optional<uint32_t> from;
  std::optional<Cells> reads;
  bool addsToWritten = false; ///< what it writes to is read as well
  std::optional<Cells> writes;
  std::vector<uint32_t> after; ///< further events that come before
  /// Events that end before it ends, but may still touch memory when it begins.
  std::vector<uint32_t> follows;
  EventRole role = EventRole::Step;
  /// Events with the same number, if it is not 0, are of the same threads, each
  /// of which has words of its own and goes on from one event to the next.
  uint32_t words = 0;
};

/// Events block by block, those of a block in their order.
struct Trace {
  std::vector<Event> events;
  std::vector<uint32_t> firstOfBlock; ///< and the number of events at the end
  std::vector<uint32_t> firstBlockOfRank; ///< and the number of blocks

  uint32_t numRanks() const { return uint32_t(firstBlockOfRank.size() - 1); }
  uint32_t numBlocks() const { return uint32_t(firstOfBlock.size() - 1); }
  bool isFirst(uint32_t event) const {
    return firstOfBlock[events[event].block] == event;
  }
  /// Calls `visit` with each event that comes directly before `event`.
  template <typename Visit> void before(uint32_t event, Visit visit) const {
    if (!isFirst(event))
      visit(event - 1);
    if (events[event].from)
      visit(*events[event].from);
    for (uint32_t other : events[event].after)
      visit(other);
  }
  /// The same, and with each event that it follows.
  template <typename Visit> void needed(uint32_t event, Visit visit) const {
    before(event, visit);
    for (uint32_t other : events[event].follows)
      visit(other);
  }
};

/// An order of all events in which each comes after what it needs. Says in
/// `findings` which blocks wait for each other if there is none.
std::optional<std::vector<uint32_t>> orderEvents(const Trace &trace,
                                                 Findings &findings);

/// Says which events touch a cell at once, of which one writes it. `order` is
/// of `orderEvents`; `cells` the number of cells of each rank. Says as well if
/// there are too many events to tell.
void findRaces(const Trace &trace, const std::vector<uint32_t> &order,
               const std::vector<uint32_t> &cells, Findings &findings);

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_TRACE_H
