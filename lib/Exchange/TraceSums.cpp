//===- TraceSums.cpp - The partial sums of a trace ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TraceSums.h"

#include "sccl/Model/PartialSums.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace sccl;
using namespace sccl::exchange;

namespace {
/// What a cell holds, in terms of its rank.
struct HeldSum {
  static constexpr uint32_t none = ~0u;
  uint32_t chunk = none;
  PartialSum sum = {};
  std::vector<uint32_t> ranks = {}; ///< whose inputs are in it, ascending
};

class SumMaker {
public:
  SumMaker(const Trace &trace, const TraceTask &task)
      : trace(trace), made(trace.events.size()), isSent(trace.events.size()) {
    for (uint32_t count : task.cells)
      cells.emplace_back(count);
    for (const ChunkCell &input : task.inputs) {
      cells[input.rank][input.cell] = {input.chunk, {true, {}}, {input.rank}};
      remember(input.rank, cells[input.rank][input.cell]);
    }
    for (const Event &event : trace.events)
      if (event.from)
        isSent[*event.from] = true;
  }
  bool run(uint32_t number);
  Result<Schedule> schedule(const TraceTask &task);
  std::string problem;

private:
  unsigned firstStepAfter(const PartialSum &sum) const;
  void remember(uint32_t rank, const HeldSum &held);
  HeldSum receive(const Event &event, uint32_t i);
  bool add(const Event &event, const HeldSum &more, HeldSum &sum);
  bool makeOne(const Event &event, uint32_t i, HeldSum &result);

  const Trace &trace;
  std::vector<std::vector<HeldSum>> cells; ///< by rank
  std::vector<std::vector<HeldSum>> made;  ///< by event, in terms of its rank
  std::vector<bool> isSent;
  bool separateReplacing(const std::vector<SumResult> &results,
                         const Collective &collective);
  std::vector<SumMessage> messages;
  /// By rank, chunk and whose inputs are in it, what is there the earliest.
  std::map<std::tuple<uint32_t, uint32_t, std::vector<uint32_t>>, PartialSum>
      known;
};
} // namespace

/// The step before which all of `sum` has arrived.
unsigned SumMaker::firstStepAfter(const PartialSum &sum) const {
  unsigned step = 0;
  for (size_t part : sum.parts)
    step = std::max(step, messages[part].step + 1);
  return step;
}

void SumMaker::remember(uint32_t rank, const HeldSum &held) {
  auto [at, isNew] =
      known.try_emplace({rank, held.chunk, held.ranks}, held.sum);
  if (!isNew && firstStepAfter(held.sum) < firstStepAfter(at->second))
    at->second = held.sum;
}

/// What another event sends is a message, in the earliest step, unless its
/// receiver has the same sum by then.
HeldSum SumMaker::receive(const Event &event, uint32_t i) {
  const HeldSum &come = made[*event.from][i];
  unsigned step = firstStepAfter(come.sum);
  auto own = known.find({event.rank, come.chunk, come.ranks});
  if (own != known.end() && firstStepAfter(own->second) <= step + 1)
    return {come.chunk, own->second, come.ranks};
  messages.push_back(
      {step, come.chunk, trace.events[*event.from].rank, event.rank, come.sum});
  return {come.chunk, {false, {messages.size() - 1}}, come.ranks};
}

bool SumMaker::add(const Event &event, const HeldSum &more, HeldSum &sum) {
  if (sum.chunk == HeldSum::none)
    sum.chunk = more.chunk;
  std::vector<size_t> parts;
  std::ranges::set_union(sum.sum.parts, more.sum.parts,
                         std::back_inserter(parts));
  bool isTwice = (sum.sum.own && more.sum.own) ||
                 parts.size() < sum.sum.parts.size() + more.sum.parts.size();
  if (isTwice || more.chunk != sum.chunk) {
    problem = event.place.str() +
              (isTwice ? ": adds a value twice" : ": adds different chunks");
    return false;
  }
  sum.sum.parts = std::move(parts);
  sum.sum.own |= more.sum.own;
  std::vector<uint32_t> ranks;
  std::ranges::set_union(sum.ranks, more.ranks, std::back_inserter(ranks));
  sum.ranks = std::move(ranks);
  return true;
}

/// What `event` makes of its chunk `i`.
bool SumMaker::makeOne(const Event &event, uint32_t i, HeldSum &result) {
  if (event.from && !add(event, receive(event, i), result))
    return false;
  const std::vector<HeldSum> &own = cells[event.rank];
  if (event.reads && !add(event, own[event.reads->first + i], result))
    return false;
  return !event.addsToWritten ||
         add(event, own[event.writes->first + i], result);
}

bool SumMaker::run(uint32_t number) {
  const Event &event = trace.events[number];
  if (event.role != EventRole::Step)
    return true;
  uint32_t count = numChunks(event, made);
  std::vector<HeldSum> values(count);
  for (uint32_t i = 0; i < count; ++i) {
    if (!makeOne(event, i, values[i]))
      return false;
    remember(event.rank, values[i]);
  }
  if (event.writes)
    std::ranges::copy(values, cells[event.rank].begin() + event.writes->first);
  if (isSent[number])
    made[number] = std::move(values);
  return true;
}

/// Lets what takes the place of an input come one step before the rest of the
/// result, if they would come at once. True if a step has changed.
bool SumMaker::separateReplacing(const std::vector<SumResult> &results,
                                 const Collective &collective) {
  bool isChanged = false;
  for (const SumResult &result : results) {
    const std::vector<size_t> &parts = result.sum.parts;
    if (result.sum.own || parts.size() < 2 ||
        !collective.pre().contains(result.rank, result.chunk))
      continue;
    auto stepOf = [&](size_t part) { return messages[part].step; };
    size_t first = *std::ranges::min_element(parts, {}, stepOf);
    for (size_t part : parts)
      if (part != first && stepOf(part) == stepOf(first)) {
        ++messages[part].step;
        isChanged = true;
      }
  }
  for (SumMessage &message : messages)
    message.step = std::max(message.step, firstStepAfter(message.sum));
  return isChanged;
}

Result<Schedule> SumMaker::schedule(const TraceTask &task) {
  std::vector<SumResult> results;
  for (const ChunkCell &output : task.outputs)
    results.push_back(
        {output.rank, output.chunk, cells[output.rank][output.cell].sum});
  for (size_t pass = 0; pass < messages.size(); ++pass)
    if (!separateReplacing(results, task.collective))
      break;
  auto sends = writePartialSums(task.collective, messages, results);
  if (!sends)
    return Error{
        "its ranks work on more partial sums than a schedule can name"};
  Schedule schedule;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!(*sends)[i])
      continue;
    if (messages[i].step >= schedule.steps.size())
      schedule.steps.resize(messages[i].step + 1);
    schedule.steps[messages[i].step].sends.push_back(*(*sends)[i]);
  }
  schedule.normalize();
  return schedule;
}

Result<Schedule> exchange::scheduleOfSums(const Trace &trace,
                                          const std::vector<uint32_t> &order,
                                          const TraceTask &task) {
  SumMaker maker(trace, task);
  for (uint32_t event : order)
    if (!maker.run(event))
      return Error{maker.problem};
  return maker.schedule(task);
}
