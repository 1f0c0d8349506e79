//===- Contributions.cpp - Running a trace on names of chunks -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Contributions.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::exchange;

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

void exchange::execute(const Trace &trace, const std::vector<uint32_t> &order,
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

std::string exchange::difference(const Sum *is, const Sum &wanted) {
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
