//===- CallLayout.h - The buffers of a call, and what they hold -*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_CALLLAYOUT_H
#define SCCL_LIB_EXCHANGE_CALLLAYOUT_H

#include "TraceSchedule.h"

#include "sccl/Exchange/FoundSchedule.h"
#include "sccl/Exchange/Place.h"

#include <algorithm>

namespace sccl::exchange {

/// What a call does, on buffers whose largest has `chunks` chunks.
struct Call {
  CollectiveKind kind;
  uint32_t ranks, chunks, root;
  bool inPlace;

  bool gathers() const {
    return kind == CollectiveKind::AllGather || kind == CollectiveKind::Gather;
  }
  bool scatters() const {
    return kind == CollectiveKind::ReduceScatter ||
           kind == CollectiveKind::Scatter;
  }
  /// True if a buffer has a part for each rank.
  bool isShared() const {
    return gathers() || scatters() || kind == CollectiveKind::AllToAll;
  }
  /// The C of the collective: chunks of a send buffer.
  uint32_t inputs() const { return gathers() ? chunks / ranks : chunks; }
  uint32_t outputs() const { return scatters() ? chunks / ranks : chunks; }
};

/// Where the buffers of each rank are, as cells: first those of the caller.
class CallLayout {
public:
  CallLayout(const Call &call, std::vector<uint32_t> scratchChunks)
      : call(call), scratchChunks(std::move(scratchChunks)) {}

  uint32_t numCells(uint32_t rank) const {
    return callerCells() + scratchChunks[rank];
  }
  uint32_t callerCells() const {
    return call.inPlace ? std::max(call.inputs(), call.outputs())
                        : call.inputs() + call.outputs();
  }
  /// In place, the smaller buffer is the rank's part of the larger one.
  uint32_t input(uint32_t rank, uint32_t chunk) const {
    return chunk + (call.inPlace && call.gathers() ? rank * call.inputs() : 0);
  }
  uint32_t output(uint32_t rank, uint32_t chunk) const {
    if (!call.inPlace)
      return call.inputs() + chunk;
    return chunk + (call.scatters() ? rank * call.outputs() : 0);
  }
  uint32_t scratch(uint32_t chunk) const { return callerCells() + chunk; }
  uint32_t scratchSize(uint32_t rank) const { return scratchChunks[rank]; }

  const Call call;

private:
  std::vector<uint32_t> scratchChunks; ///< by rank
};

/// A file's call that has been found right: what it does, in an order.
struct CheckedCall {
  CallLayout layout;
  Trace trace;
  std::vector<uint32_t> order;
};

/// Runs `trace`. Says in `findings` where it stops, races, or leaves a wrong
/// result, and returns nothing then. `rankPlaces` is where each rank is spoken
/// of.
std::optional<CheckedCall> checkCall(CallLayout layout, Trace trace,
                                     const std::vector<Place> &rankPlaces,
                                     Findings &findings);

/// The schedule that a call follows. Fails if none can say it.
Result<FoundSchedule> scheduleOfCall(const CheckedCall &call);

/// "LINE:COLUMN: message" of the first of `findings`.
Error firstError(const Findings &findings);

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_CALLLAYOUT_H
