//===- Events.cpp - What a litmus test executes ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Events.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace sccl;
using namespace sccl::litmus;

static bool isInBlock(const Thread &a, const Thread &b) {
  return a.gpu == b.gpu && a.block == b.block;
}

/// How often `thread` passes each barrier.
static std::map<unsigned, unsigned> barriersOf(const Thread &thread) {
  std::map<unsigned, unsigned> counts;
  for (const Operation &op : thread.code)
    if (op.kind == Kind::Barrier)
      ++counts[op.location];
  return counts;
}

/// All threads of a block take part in each of its barriers.
static std::optional<Error> checkBarriers(const Program &program) {
  for (const Thread &one : program.threads)
    for (const Thread &other : program.threads) {
      if (!isInBlock(one, other) || barriersOf(one) == barriersOf(other))
        continue;
      return Error{"threads " + one.name + " and " + other.name +
                   " of a block do not pass the same barriers"};
    }
  return std::nullopt;
}

Result<Events> Events::of(const Program &program) {
  size_t count = program.locations.size();
  for (const Thread &thread : program.threads)
    count += llvm::count_if(thread.code, [](const Operation &op) {
      return op.kind != Kind::Require;
    });
  if (count > maxEvents)
    return Error{std::to_string(count) + " accesses, fences and barriers, " +
                 "those of the initial values among them, but " +
                 std::to_string(maxEvents) + " is the limit"};
  if (std::optional<Error> error = checkBarriers(program))
    return *error;
  Events events(count);
  for (auto [index, location] : llvm::enumerate(program.locations)) {
    Event event;
    event.op.kind = Kind::Store;
    event.op.location = index;
    event.op.value = location.initial;
    events.list.push_back(event);
  }
  std::vector<std::vector<unsigned>> lastLoads;
  for (unsigned thread = 0; thread < program.threads.size(); ++thread)
    events.addThread(program, thread, lastLoads);
  for (const std::vector<Term> &terms : program.outcomes) {
    std::vector<Requirement> outcome;
    for (const Term &term : terms)
      outcome.push_back(
          {lastLoads[term.thread][term.reg], term.comparison, term.value});
    events.outcomes.push_back(std::move(outcome));
  }
  events.relate(program);
  events.relatePatterns();
  return events;
}

/// Adds to `lastLoads` the load that last writes each register.
void Events::addThread(const Program &program, unsigned thread,
                       std::vector<std::vector<unsigned>> &lastLoads) {
  const Thread &from = program.threads[thread];
  std::vector<unsigned> loads(from.registers.size());
  std::vector<unsigned> required; // loads that what follows depends on
  for (const Operation &op : from.code) {
    if (op.kind == Kind::Require) {
      requirements.push_back({loads[op.reg], op.comparison, op.value});
      required.push_back(loads[op.reg]);
      continue;
    }
    unsigned index = list.size();
    Event event;
    event.op = op;
    event.thread = thread;
    if (event.isLoad())
      loads[op.reg] = index;
    if (event.isStore()) {
      if (op.storesRegister)
        event.source = loads[op.reg];
      for (unsigned load : required)
        dependency.add(load, index);
    }
    if (event.source)
      dependency.add(*event.source, index);
    list.push_back(event);
  }
  lastLoads.push_back(std::move(loads));
}

static bool reaches(Scope scope, const Thread &from, const Thread &to) {
  return scope == Scope::System ||
         (scope == Scope::GPU ? from.gpu == to.gpu : isInBlock(from, to));
}

static bool areOfDifferentProxies(const Event &a, const Event &b) {
  return a.isAccess() && b.isAccess() && a.thread && b.thread &&
         a.op.isMulticast != b.op.isMulticast;
}

/// Both are of one thread, or each is strong with a scope that has the thread
/// of the other in it; and accesses are to the same location, by one proxy.
bool Events::areMorallyStrong(const Program &program, const Event &a,
                              const Event &b) const {
  if (!a.thread || !b.thread)
    return false;
  if (a.isAccess() && b.isAccess() && a.op.location != b.op.location)
    return false;
  if (areOfDifferentProxies(a, b))
    return false;
  if (a.thread == b.thread)
    return true;
  const Thread &one = program.threads[*a.thread];
  const Thread &other = program.threads[*b.thread];
  return a.isStrong() && b.isStrong() && reaches(a.op.scope, one, other) &&
         reaches(b.op.scope, other, one);
}

void Events::relate(const Program &program) {
  std::map<std::pair<unsigned, unsigned>, unsigned> passed;
  std::vector<unsigned> rounds(list.size());
  for (auto [i, event] : llvm::enumerate(list))
    if (event.op.kind == Kind::Barrier)
      rounds[i] = passed[{*event.thread, event.op.location}]++;
  for (unsigned i = 0; i < list.size(); ++i)
    for (unsigned j = 0; j < list.size(); ++j) {
      const Event &a = list[i], &b = list[j];
      if (i == j)
        continue;
      if (!a.thread && b.thread)
        initial.add(i, j);
      if (a.isAccess() && b.isAccess() && a.op.location == b.op.location)
        sameLocation.add(i, j);
      if (sameLocation.has(i, j) && areOfDifferentProxies(a, b))
        aliases.add(i, j);
      bool areBarriers =
          a.op.kind == Kind::Barrier && b.op.kind == Kind::Barrier;
      if (a.thread && a.thread == b.thread && i < j)
        programOrder.add(i, j);
      if (areBarriers && a.thread != b.thread && rounds[i] == rounds[j] &&
          a.op.location == b.op.location &&
          isInBlock(program.threads[*a.thread], program.threads[*b.thread]))
        barrier.add(i, j);
      else if (!areBarriers && areMorallyStrong(program, a, b))
        morallyStrong.add(i, j);
    }
}

/// A release pattern is a releasing store alone or followed by a strong one to
/// the same location, or a fence followed by a strong store; an acquire pattern
/// is the mirror image.
void Events::relatePatterns() {
  for (unsigned i = 0; i < list.size(); ++i)
    for (unsigned j = 0; j < list.size(); ++j) {
      const Event &first = list[i], &last = list[j];
      bool isHere = i == j || (programOrder.has(i, j) &&
                               sameLocation.has(i, j) && !aliases.has(i, j));
      bool follows = programOrder.has(i, j);
      if (last.isStore() && last.isStrong() &&
          ((first.op.order == Order::Release && isHere) ||
           (first.isFence() && follows)))
        releasePattern.add(i, j);
      if (first.isLoad() && first.isStrong() &&
          ((last.op.order == Order::Acquire && isHere) ||
           (last.isFence() && follows)))
        acquirePattern.add(i, j);
    }
}
