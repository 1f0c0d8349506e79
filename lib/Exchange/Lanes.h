//===- Lanes.h - Events of many threads in the making -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_LANES_H
#define SCCL_LIB_EXCHANGE_LANES_H

#include "Trace.h"

namespace sccl::exchange {

/// Events that are added to lanes of ranks, in any order, and become a trace
/// when all are there. Until then they have numbers of their own.
class Lanes {
public:
  uint32_t addLane(uint32_t rank) {
    lanes.push_back({rank, {}});
    return uint32_t(lanes.size() - 1);
  }
  uint32_t add(uint32_t lane, Event event) {
    event.rank = lanes[lane].rank;
    lanes[lane].events.push_back(uint32_t(events.size()));
    events.push_back(std::move(event));
    return uint32_t(events.size() - 1);
  }
  /// The last event of a lane.
  std::optional<uint32_t> last(uint32_t lane) const {
    if (lanes[lane].events.empty())
      return std::nullopt;
    return lanes[lane].events.back();
  }
  /// The trace, and the numbers of all events in it.
  std::pair<Trace, std::vector<uint32_t>> finish(uint32_t ranks) &&;

  std::vector<Event> events;

private:
  struct Lane {
    uint32_t rank;
    std::vector<uint32_t> events;
  };
  std::vector<Lane> lanes;
};

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_LANES_H
