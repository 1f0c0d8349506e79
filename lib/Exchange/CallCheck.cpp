//===- CallCheck.cpp - Whether a call does what it says -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallLayout.h"
#include "Contributions.h"

using namespace sccl;
using namespace sccl::exchange;

/// What an output chunk must hold; nothing if it does not matter.
static std::optional<Sum> wantedAt(const Call &call, uint32_t rank,
                                   uint32_t chunk) {
  uint32_t part = call.chunks / call.ranks;
  auto sumOf = [&](uint32_t input) {
    Sum sum;
    for (uint32_t source = 0; source < call.ranks; ++source)
      sum.push_back({{source, input}, 1});
    return sum;
  };
  switch (call.kind) {
  case CollectiveKind::AllReduce:
    return sumOf(chunk);
  case CollectiveKind::ReduceScatter:
    return sumOf(rank * part + chunk);
  case CollectiveKind::Reduce:
    return rank == call.root ? std::optional(sumOf(chunk)) : std::nullopt;
  case CollectiveKind::AllGather:
    return Sum{{{chunk / part, chunk % part}, 1}};
  case CollectiveKind::Gather:
    return rank == call.root
               ? std::optional(Sum{{{chunk / part, chunk % part}, 1}})
               : std::nullopt;
  case CollectiveKind::AllToAll:
    return Sum{{{chunk / part, rank * part + chunk % part}, 1}};
  case CollectiveKind::Broadcast:
    return Sum{{{call.root, chunk}, 1}};
  case CollectiveKind::Scatter:
    return Sum{{{call.root, rank * part + chunk}, 1}};
  default:
    return std::nullopt;
  }
}

static Memory initialMemory(const CallLayout &layout, Sums &sums) {
  Memory memory;
  for (uint32_t rank = 0; rank < layout.call.ranks; ++rank) {
    std::vector<SumId> &cells =
        memory.cells.emplace_back(layout.numCells(rank), Sums::nothing);
    for (uint32_t chunk = 0; chunk < layout.call.inputs(); ++chunk)
      cells[layout.input(rank, chunk)] = sums.of({{{rank, chunk}, 1}});
  }
  return memory;
}

static void checkResults(const CallLayout &layout, const Sums &sums,
                         const Memory &memory, const Trace &trace,
                         const std::vector<Place> &rankPlaces,
                         Findings &findings) {
  for (uint32_t rank = 0; rank < layout.call.ranks; ++rank)
    for (uint32_t chunk = 0; chunk < layout.call.outputs(); ++chunk) {
      std::optional<Sum> wanted = wantedAt(layout.call, rank, chunk);
      if (!wanted)
        continue;
      uint32_t cell = layout.output(rank, chunk);
      SumId held = memory.cells[rank][cell];
      std::string wrong =
          difference(held == Sums::nothing ? nullptr : &sums[held], *wanted);
      if (wrong.empty())
        continue;
      std::optional<uint32_t> writer = memory.writers[rank][cell];
      findings.add(writer ? trace.events[*writer].place : rankPlaces[rank],
                   "output chunk " + std::to_string(chunk) + " of rank " +
                       std::to_string(rank) + " " + wrong);
    }
}

std::optional<CheckedCall>
exchange::checkCall(CallLayout layout, Trace trace,
                    const std::vector<Place> &rankPlaces, Findings &findings) {
  if (!findings.empty())
    return std::nullopt;
  std::optional<std::vector<uint32_t>> order = orderEvents(trace, findings);
  if (!order)
    return std::nullopt;
  std::vector<uint32_t> cells;
  for (uint32_t rank = 0; rank < layout.call.ranks; ++rank)
    cells.push_back(layout.numCells(rank));
  findRaces(trace, *order, cells, findings);
  Sums sums;
  Memory memory = initialMemory(layout, sums);
  execute(trace, *order, sums, memory, findings);
  if (findings.empty())
    checkResults(layout, sums, memory, trace, rankPlaces, findings);
  if (!findings.empty())
    return std::nullopt;
  return CheckedCall{std::move(layout), std::move(trace), std::move(*order)};
}
