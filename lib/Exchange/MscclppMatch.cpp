//===- MscclppMatch.cpp - Which signal a wait waits for -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MscclppTrace.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::exchange;

static void putBefore(const CounterUse &signal, const CounterUse &wait,
                      std::vector<Event> &events, RelaxedPairs &relaxed) {
  Event &event = events[wait.event];
  bool isRelaxed = signal.isRelaxed || wait.isRelaxed;
  (isRelaxed ? event.follows : event.after).push_back(signal.event);
  if (isRelaxed)
    relaxed.emplace_back(signal.event, wait.event);
}

static bool isOneBlock(const std::vector<CounterUse> &uses) {
  return std::ranges::all_of(uses, [&](const CounterUse &use) {
    return use.block == uses.front().block;
  });
}

void exchange::matchCounter(const Counter &counter, std::vector<Event> &events,
                            RelaxedPairs &relaxed, Findings &findings) {
  const auto &[signals, waits, initial] = counter;
  auto placeOf = [&](const CounterUse &use) { return events[use.event].place; };
  size_t available = signals.size() + initial;
  if (waits.size() > available)
    return findings.add(placeOf(waits[available]),
                        "deadlock: waits for a signal that nobody gives");
  if (waits.size() < available)
    return findings.add(
        signals.empty() ? Place() : placeOf(signals.back()),
        "nobody waits for this signal, so that the next call would take it "
        "for one of its own");
  if (isOneBlock(signals) && isOneBlock(waits)) {
    for (size_t i = initial; i < waits.size(); ++i)
      putBefore(signals[i - initial], waits[i], events, relaxed);
    return;
  }
  // Of several blocks, all have given their signal when there are no more.
  bool isLast = waits.size() == 1 && initial == 0;
  if (!isLast)
    return findings.add(placeOf(waits.front()),
                        "not known: several blocks give or take what this "
                        "waits for");
  for (const CounterUse &signal : signals)
    putBefore(signal, waits.front(), events, relaxed);
}
