//===- CallCheck.cpp - Whether a call does what it says -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallLayout.h"
#include "Trace.h"

#include <algorithm>
#include <map>
#include <unordered_map>

using namespace sccl;
using namespace sccl::exchange;

// In place of data a cell holds whose input chunks have been summed up in it,
// and how often each. Equal sums are stored once, and known by a number.

namespace {
/// An input chunk of a rank.
struct Origin {
  uint32_t rank, chunk;
  auto operator<=>(const Origin &) const = default;
};

/// Sums of input chunks, ascending, with how often each is in it.
using Sum = std::vector<std::pair<Origin, uint32_t>>;

/// The number of a sum.
using SumId = uint32_t;

class Sums {
public:
  static constexpr SumId nothing = 0; ///< what has never been written

  SumId of(Sum sum);
  SumId add(SumId a, SumId b);
  const Sum &operator[](SumId id) const { return *list[id]; }

private:
  std::map<Sum, SumId> ids;
  std::vector<const Sum *> list = {nullptr};
  std::unordered_map<uint64_t, SumId> known;
};

/// Cells of all ranks.
struct Memory {
  std::vector<std::vector<SumId>> cells; ///< by rank
  /// The event that wrote last, if any did.
  std::vector<std::vector<std::optional<uint32_t>>> writers;
};
} // namespace

SumId Sums::of(Sum sum) {
  auto [at, isNew] = ids.try_emplace(std::move(sum), SumId(list.size()));
  if (isNew)
    list.push_back(&at->first);
  return at->second;
}

SumId Sums::add(SumId a, SumId b) {
  uint64_t key = uint64_t(std::min(a, b)) << 32 | std::max(a, b);
  if (auto at = known.find(key); at != known.end())
    return at->second;
  Sum sum;
  auto left = list[a]->begin(), right = list[b]->begin();
  while (left != list[a]->end() || right != list[b]->end())
    if (right == list[b]->end() ||
        (left != list[a]->end() && left->first < right->first)) {
      sum.push_back(*left++);
    } else if (left == list[a]->end() || right->first < left->first) {
      sum.push_back(*right++);
    } else {
      // Enough to see that it is not once.
      sum.emplace_back(left->first,
                       std::min(left->second + right->second, 1u << 16));
      ++left;
      ++right;
    }
  return known[key] = of(std::move(sum));
}

namespace {
class Execution {
public:
  Execution(const Trace &trace, Sums &sums, Memory &memory, Findings &findings)
      : trace(trace), sums(sums), memory(memory), findings(findings),
        made(trace.events.size()), isSent(trace.events.size()) {
    for (const Event &event : trace.events)
      if (event.from)
        isSent[*event.from] = true;
  }
  void run(uint32_t event);

private:
  /// Adds what a cell holds; complains if that is nothing.
  void addCell(uint32_t event, uint32_t cell, SumId &sum);
  void add(SumId more, SumId &sum) {
    sum = sum == Sums::nothing ? more : sums.add(sum, more);
  }

  const Trace &trace;
  Sums &sums;
  Memory &memory;
  Findings &findings;
  std::vector<std::vector<SumId>> made; ///< by event, for those that get it
  std::vector<bool> isSent;
  bool hasComplained = false;
};
} // namespace

void Execution::addCell(uint32_t event, uint32_t cell, SumId &sum) {
  const Event &now = trace.events[event];
  SumId held = memory.cells[now.rank][cell];
  if (held != Sums::nothing)
    return add(held, sum);
  if (!hasComplained)
    findings.add(now.place, "reads a chunk that nothing has been written to");
  hasComplained = true;
}

void Execution::run(uint32_t event) {
  const Event &now = trace.events[event];
  if (now.role != EventRole::Step)
    return;
  uint32_t count = now.reads    ? now.reads->count
                   : now.writes ? now.writes->count
                   : now.from   ? uint32_t(made[*now.from].size())
                                : 0;
  std::vector<SumId> values(count, Sums::nothing);
  hasComplained = false;
  for (uint32_t i = 0; i < count; ++i) {
    if (now.from && i < made[*now.from].size())
      if (SumId got = made[*now.from][i]; got != Sums::nothing)
        add(got, values[i]);
    if (now.reads)
      addCell(event, now.reads->first + i, values[i]);
    if (now.addsToWritten)
      addCell(event, now.writes->first + i, values[i]);
  }
  if (now.writes)
    for (uint32_t i = 0; i < count; ++i) {
      memory.cells[now.rank][now.writes->first + i] = values[i];
      memory.writers[now.rank][now.writes->first + i] = event;
    }
  // What is sent is kept until the receiver has it.
  if (isSent[event])
    made[event] = std::move(values);
  if (now.from)
    made[*now.from] = {};
}

/// What is in `memory` after all events, in an order of `orderEvents`. Says in
/// `findings` which events read what has never been written.
static void execute(const Trace &trace, const std::vector<uint32_t> &order,
                    Sums &sums, Memory &memory, Findings &findings) {
  memory.writers.resize(memory.cells.size());
  for (size_t rank = 0; rank < memory.cells.size(); ++rank)
    memory.writers[rank].resize(memory.cells[rank].size());
  Execution execution(trace, sums, memory, findings);
  for (uint32_t event : order)
    execution.run(event);
}

static std::string nameOf(const Origin &origin) {
  return "input chunk " + std::to_string(origin.chunk) + " of rank " +
         std::to_string(origin.rank);
}

/// How `is` differs from `wanted`, in words; empty if not at all.
static std::string difference(const Sum *is, const Sum &wanted) {
  if (!is)
    return "has never been written";
  auto has = is->begin();
  for (const auto &[origin, count] : wanted) {
    if (has != is->end() && has->first < origin)
      break;
    if (has == is->end() || origin < has->first)
      return "lacks " + nameOf(origin);
    if (has->second != count)
      return "has " + nameOf(origin) + " " + std::to_string(has->second) +
             " times";
    ++has;
  }
  if (has == is->end())
    return "";
  return "has " + nameOf(has->first) + ", which does not belong there";
}

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
