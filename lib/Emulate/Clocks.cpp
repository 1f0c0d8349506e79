//===- Clocks.cpp - What a thread knows of the others ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Clocks.h"

#include <algorithm>

using namespace sccl::emulate;

bool Moments::has(const Moment &moment) const {
  if (moment.interval < complete[moment.team])
    return true;
  return llvm::any_of(partial, [&](const Moment &known) {
    return known.thread == moment.thread && known.team == moment.team &&
           known.interval == moment.interval &&
           known.position >= moment.position;
  });
}

void Moments::add(const Moment &moment) {
  if (moment.interval < complete[moment.team])
    return;
  for (Moment &known : partial) {
    if (known.thread != moment.thread || known.team != moment.team)
      continue;
    if (std::pair(known.interval, known.position) <
        std::pair(moment.interval, moment.position))
      known = moment;
    return;
  }
  partial.push_back(moment);
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
  llvm::erase_if(partial, [&](const Moment &known) {
    return known.interval < complete[known.team];
  });
  for (const Moment &moment : other.partial)
    add(moment);
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
