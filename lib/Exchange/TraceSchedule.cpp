//===- TraceSchedule.cpp - The schedule that a trace follows --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TraceSchedule.h"

#include <algorithm>
#include <map>
#include <set>

using namespace sccl;
using namespace sccl::exchange;

namespace {
constexpr uint32_t none = ~0u;

/// What a cell holds: a version of its rank's value of a chunk, or one that has
/// come from another rank and is not part of any yet.
struct Held {
  uint32_t rank = none, chunk = none, version = 0;
  uint32_t message = none; ///< the event that sent it, if it has come
  bool hasCome() const { return message != none; }
};

/// A send, and which version it takes from where.
struct Move {
  Send send;
  uint32_t maker;   ///< the move that made what is sent, or `none`
  uint32_t before;  ///< the move that made what it changes, or `none`
  uint32_t version; ///< that it sends
};

class ScheduleMaker {
public:
  ScheduleMaker(const Trace &trace, const TraceTask &task)
      : trace(trace), combining(task.collective.combining()),
        made(trace.events.size()), isSent(trace.events.size()) {
    for (uint32_t count : task.cells) {
      cells.emplace_back(count);
      writers.emplace_back(count, none);
    }
    for (const ChunkCell &input : task.inputs) {
      cells[input.rank][input.cell] = {input.rank, input.chunk};
      inputs.insert({input.rank, input.chunk});
    }
    for (const Event &event : trace.events)
      if (event.from)
        isSent[*event.from] = true;
  }
  bool run(uint32_t event);
  bool finish(const std::vector<ChunkCell> &outputs);
  Result<Schedule> schedule() const;
  const std::string &mistake() const { return problem; }

private:
  using ChunkOf = std::pair<uint32_t, uint32_t>; ///< rank and chunk
  struct Versions {
    std::vector<uint32_t> makers; ///< of versions 1, 2, ...
  };

  bool fail(const Event &event, const char *what) {
    problem = event.place.str() + ": " + what;
    return false;
  }
  uint32_t current(uint32_t rank, uint32_t chunk) {
    return uint32_t(versions[{rank, chunk}].makers.size());
  }
  /// The move that made a version; `none` for inputs.
  uint32_t makerOf(uint32_t rank, uint32_t chunk, uint32_t version) {
    return version == 0 ? none : versions[{rank, chunk}].makers[version - 1];
  }
  /// A send of `held` into `rank`; false if it was sent elsewhere already.
  bool deliver(const Event &event, const Held &held, uint32_t rank,
               SendAction action, Held &result);
  /// What has come becomes the rank's value.
  bool own(const Event &event, uint32_t rank, Held &held);
  bool add(const Event &event, uint32_t rank, Held &sum, Held &more);
  bool combine(uint32_t event, uint32_t i, Held &result);

  const Trace &trace;
  const bool combining;
  std::vector<std::vector<Held>> cells;
  std::vector<std::vector<uint32_t>> writers; ///< of cells, the last
  std::vector<std::vector<Held>> made;        ///< by event
  std::vector<bool> isSent;
  std::map<ChunkOf, Versions> versions;
  /// What became of messages, by event and chunk, and by which action.
  std::map<std::pair<uint32_t, uint32_t>, std::pair<Held, SendAction>>
      delivered;
  /// What ranks have had from the start.
  std::set<ChunkOf> inputs;
  std::vector<Move> moves;
  std::string problem;
};
} // namespace

bool ScheduleMaker::deliver(const Event &event, const Held &held, uint32_t rank,
                            SendAction action, Held &result) {
  auto [at, isNew] = delivered.try_emplace({held.message, held.chunk});
  auto &[became, how] = at->second;
  if (!isNew) {
    if (action == SendAction::Reduce || how == SendAction::Reduce)
      return fail(event, "adds a value that is used elsewhere, too");
    result = became;
    return true;
  }
  how = action;
  uint32_t before = current(rank, held.chunk);
  if (!combining && (before > 0 || inputs.contains({rank, held.chunk}))) {
    result = became = {rank, held.chunk, before}; // it has that already
    return true;
  }
  // The version that is current when it is sent, or an input.
  SendPayload payload = SendPayload::Current;
  if (combining && held.version == 0 && current(held.rank, held.chunk) > 0)
    payload = SendPayload::Input;
  moves.push_back({{held.chunk, held.rank, rank, action, payload},
                   makerOf(held.rank, held.chunk, held.version),
                   makerOf(rank, held.chunk, before),
                   held.version});
  versions[{rank, held.chunk}].makers.push_back(uint32_t(moves.size() - 1));
  result = became = {rank, held.chunk, before + 1};
  return true;
}

bool ScheduleMaker::own(const Event &event, uint32_t rank, Held &held) {
  return !held.hasCome() || deliver(event, held, rank, SendAction::Copy, held);
}

/// Adds `more` to `sum`, at least one of which has come.
bool ScheduleMaker::add(const Event &event, uint32_t rank, Held &sum,
                        Held &more) {
  if (sum.chunk != more.chunk)
    return fail(event, "adds different chunks");
  if (!more.hasCome())
    std::swap(sum, more);
  if (!more.hasCome())
    return fail(event, "adds two values of its own rank");
  if (!own(event, rank, sum))
    return false;
  if (sum.version != current(rank, sum.chunk))
    return fail(event, "adds to a value that its rank has passed on and "
                       "changed since");
  return deliver(event, more, rank, SendAction::Reduce, sum);
}

/// What event number `number` makes of its chunk `i`.
bool ScheduleMaker::combine(uint32_t number, uint32_t i, Held &result) {
  const Event &event = trace.events[number];
  std::vector<Held> parts;
  if (event.from) {
    Held come = made[*event.from][i];
    come.message = *event.from;
    parts.push_back(come);
  }
  if (event.reads)
    parts.push_back(cells[event.rank][event.reads->first + i]);
  if (event.addsToWritten)
    parts.push_back(cells[event.rank][event.writes->first + i]);
  if (parts.empty())
    return true;
  result = parts[0];
  for (size_t k = 1; k < parts.size(); ++k)
    if (!add(event, event.rank, result, parts[k]))
      return false;
  if (!isSent[number])
    return true;
  // What is sent on belongs to the rank, and so does where it was read.
  if (!own(event, event.rank, result))
    return false;
  if (event.reads && parts.size() == 1)
    cells[event.rank][event.reads->first + i] = result;
  return true;
}

bool ScheduleMaker::run(uint32_t number) {
  const Event &event = trace.events[number];
  if (event.role != EventRole::Step)
    return true;
  uint32_t count = numChunks(event, made);
  std::vector<Held> values(count);
  for (uint32_t i = 0; i < count; ++i)
    if (!combine(number, i, values[i]))
      return false;
  if (event.writes) {
    std::ranges::copy(values, cells[event.rank].begin() + event.writes->first);
    std::fill_n(writers[event.rank].begin() + event.writes->first, count,
                number);
  }
  if (isSent[number])
    made[number] = std::move(values);
  return true;
}

bool ScheduleMaker::finish(const std::vector<ChunkCell> &outputs) {
  for (const ChunkCell &output : outputs) {
    uint32_t writer = writers[output.rank][output.cell];
    Event last = writer == none ? Event{} : trace.events[writer];
    Held &held = cells[output.rank][output.cell];
    if (!own(last, output.rank, held))
      return false;
    if (combining && held.version != current(output.rank, output.chunk))
      return fail(last, "an output is not the last value of its rank");
  }
  return true;
}

/// Earliest steps: a send follows what it sends, and what changes a value comes
/// no earlier than what sends it, in the same step at best.
Result<Schedule> ScheduleMaker::schedule() const {
  struct Order {
    uint32_t first, second, distance;
  };
  std::vector<Order> orders;
  for (uint32_t move = 0; move < moves.size(); ++move) {
    const auto &[send, maker, before, version] = moves[move];
    if (maker != none)
      orders.push_back({maker, move, 1});
    bool copies =
        send.action == SendAction::Copy ||
        (before != none && moves[before].send.action == SendAction::Copy);
    if (before != none)
      orders.push_back({before, move, copies ? 1u : 0u});
    auto ofSource = versions.find({send.src, send.chunk});
    if (send.payload == SendPayload::Current && ofSource != versions.end() &&
        version < ofSource->second.makers.size())
      orders.push_back({move, ofSource->second.makers[version], 0});
  }
  std::vector<uint32_t> steps(moves.size());
  for (size_t pass = 0; pass <= moves.size(); ++pass) {
    bool isChanged = false;
    for (auto [first, second, distance] : orders)
      if (steps[second] < steps[first] + distance) {
        steps[second] = steps[first] + distance;
        isChanged = true;
      }
    if (isChanged)
      continue;
    Schedule schedule;
    for (uint32_t move = 0; move < moves.size(); ++move) {
      if (steps[move] >= schedule.steps.size())
        schedule.steps.resize(steps[move] + 1);
      schedule.steps[steps[move]].sends.push_back(moves[move].send);
    }
    schedule.normalize();
    return schedule;
  }
  return Error{"no steps follow each other as its sends do"};
}

Result<Schedule> exchange::scheduleOfValues(const Trace &trace,
                                            const std::vector<uint32_t> &order,
                                            const TraceTask &task) {
  ScheduleMaker maker(trace, task);
  for (uint32_t event : order)
    if (!maker.run(event))
      return Error{maker.mistake()};
  if (!maker.finish(task.outputs))
    return Error{maker.mistake()};
  return maker.schedule();
}
