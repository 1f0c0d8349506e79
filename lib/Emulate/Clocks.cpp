//===- Clocks.cpp - What a thread knows of the others ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Clocks.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

using namespace sccl::emulate;

/// By thread, as `partial` is sorted.
static bool isBefore(const Moment &a, const Moment &b) {
  return std::tie(a.team, a.thread) < std::tie(b.team, b.thread);
}

/// Of one thread.
static const Moment &later(const Moment &a, const Moment &b) {
  return std::tie(a.interval, a.position) < std::tie(b.interval, b.position)
             ? b
             : a;
}

bool Moments::has(const Moment &moment) const {
  if (moment.interval < complete[moment.team])
    return true;
  const auto *known = llvm::lower_bound(partial, moment, isBefore);
  return known != partial.end() && !isBefore(moment, *known) &&
         known->interval == moment.interval &&
         known->position >= moment.position;
}

void Moments::add(const Moment &moment) {
  if (moment.interval < complete[moment.team])
    return;
  auto *known = llvm::lower_bound(partial, moment, isBefore);
  if (known != partial.end() && !isBefore(moment, *known))
    *known = later(*known, moment);
  else
    partial.insert(known, moment);
}

void Moments::addBefore(uint32_t team, uint32_t interval) {
  complete[team] = std::max(complete[team], interval);
  llvm::erase_if(partial, [&](const Moment &known) {
    return known.interval < complete[known.team];
  });
}

void Moments::join(const Moments &other) {
  for (size_t team = 0; team < complete.size(); ++team)
    complete[team] = std::max(complete[team], other.complete[team]);
  llvm::SmallVector<Moment, 2> both;
  auto take = [&](const Moment &moment) {
    if (moment.interval >= complete[moment.team])
      both.push_back(moment);
  };
  const auto *mine = partial.begin(), *theirs = other.partial.begin();
  while (mine != partial.end() || theirs != other.partial.end())
    if (theirs == other.partial.end() ||
        (mine != partial.end() && isBefore(*mine, *theirs)))
      take(*mine++);
    else if (mine == partial.end() || isBefore(*theirs, *mine))
      take(*theirs++);
    else
      take(later(*mine++, *theirs++));
  partial = std::move(both);
}

void Clock::join(const Clock &other) {
  all.join(other.all);
  if (!other.fenced || other.fenced == fenced)
    return;
  if (!fenced) {
    fenced = other.fenced;
    return;
  }
  auto both = std::make_shared<Moments>(*fenced);
  both->join(*other.fenced);
  fenced = std::move(both);
}

void Actor::acquire(const Clock &clock) {
  if (!own)
    own = std::make_unique<Clock>(team->clock);
  own->join(clock);
  if (acquired)
    acquired->join(clock);
}

void Actor::fenceAliases() {
  if (!own)
    own = std::make_unique<Clock>(team->clock);
  own->add(now());
  own->fenceAliases();
}

Clock Actor::released() const {
  Clock clock = this->clock();
  clock.add(now());
  return clock;
}
