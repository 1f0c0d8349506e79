//===- Tracer.cpp - What a rank has done ----------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tracer.h"

#include "TraceRecords.h"

#include <algorithm>
#include <new>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

using namespace sccl;

/// Looked up at each mark: a call would cost as much as the mark.
__attribute__((
    tls_model("initial-exec"))) static thread_local Tracer *listener = nullptr;

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

#if defined(__x86_64__)
/// Whether the counter of the CPU runs steadily, and alike on all its cores.
static bool findCounter() {
  constexpr unsigned leaf = 0x80000007, invariant = 1 << 8;
  unsigned a, b, c, d;
  return __get_cpuid(leaf, &a, &b, &c, &d) && (d & invariant);
}
static const bool hasCounter = findCounter();
static uint64_t readCounter() { return __builtin_ia32_rdtsc(); }
#else
static constexpr bool hasCounter = false;
static uint64_t readCounter() { return 0; }
#endif

/// The counter, or nanoseconds where there is none. The clock takes more than
/// twice as long, as its code and data are seldom in the cache.
static uint64_t ticks() { return hasCounter ? readCounter() : traceClock(); }

Tracer::Instant Tracer::instant() {
  Instant best = {0, 0};
  uint64_t least = ~uint64_t(0);
  // The try in which the least time has passed tells best.
  for (unsigned i = 0; i < 64; ++i) {
    uint64_t before = ticks(), time = traceClock(), after = ticks();
    if (after - before < least)
      best = {before + (after - before) / 2, time};
    least = std::min(least, after - before);
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

void Tracer::record(bool start) {
  on = start;
  isIncomplete = false;
  forgetCalls();
  if (!on)
    blocks.clear();
  notes.clear();
  events.clear();
  first = instant();
}

Status Tracer::read(const std::vector<scclTraceEvent> &more,
                    const scclTraceEvent *&data, size_t &count) {
  if (isIncomplete)
    return {scclErrorOutOfMemory, "there was no memory for all events"};
  Instant now = instant();
  events = notes;
  for (size_t i = 0; i < parts.size(); ++i)
    addEventsOf(parts[i],
                i + 1 < parts.size() ? parts[i + 1].first : numCalls(), now);
  notes = events;
  events.insert(events.end(), more.begin(), more.end());
  std::stable_sort(events.begin(), events.end(),
                   [](const scclTraceEvent &left, const scclTraceEvent &right) {
                     return left.begin < right.begin;
                   });
  forgetCalls();
  data = events.data();
  count = events.size();
  return {};
}

/// Those between this part's calls. What is between them counts from `first` to
/// `now`, in which the counter has gone steadily.
void Tracer::addEventsOf(const Part &part, size_t end, const Instant &now) {
  double rate = double(now.time - first.time) /
                double(std::max<uint64_t>(now.ticks - first.ticks, 1));
  auto timeOf = [&](const Call &call) {
    return first.time + uint64_t(double(call.ticks - first.ticks) * rate);
  };
  for (size_t i = part.first; i < end && i + 1 < numCalls(); ++i) {
    if (call(i).isEnd())
      continue;
    scclTraceEvent event = eventOf(*call(i).mark, part.launch, part.segment);
    event.begin = timeOf(call(i));
    event.end = timeOf(call(i + 1));
    events.push_back(event);
  }
}

void Tracer::add(const scclTraceEvent &event) {
  try {
    notes.push_back(event);
  } catch (const std::bad_alloc &) {
    isIncomplete = true;
  }
}

void Tracer::note(Tracer *tracer, scclTraceKind kind, uint64_t begin, int peer,
                  bool isPull, uint64_t bytes) {
  if (tracer && tracer->on)
    tracer->add({kind, /*channel=*/0, peer, isPull, begin, traceClock(), bytes,
                 /*flag=*/0, /*value=*/0});
}

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

Tracer::Listening::Listening(Tracer &tracer, uint64_t segment)
    : listens(tracer.on && tracer.addPart(/*launch=*/0, segment)) {
  if (listens)
    listener = &tracer;
}

Tracer::Listening::~Listening() {
  if (!listens)
    return;
  size_t number = listener->numCalls();
  if (number != 0 && !listener->call(number - 1).isEnd())
    listener->take(/*mark=*/nullptr, listener->parts.back().launch);
  listener = nullptr;
}

void Tracer::onMark(const TraceMark *mark, uint64_t launch) {
  if (listener)
    listener->take(mark, launch);
}

void Tracer::take(const TraceMark *mark, uint64_t launch) {
  if (launch != parts.back().launch && !addPart(launch, parts.back().segment))
    return;
  if (next == last && !makeRoom())
    return;
  *next++ = {mark, ticks()};
  // What follows is in no cache: launches move more than those hold.
  __builtin_prefetch(next + 4, /*write=*/1);
}

/// Goes on with the next block; there may be one from when others were read.
bool Tracer::makeRoom() {
  try {
    if (filled == blocks.size())
      blocks.emplace_back(new Call[blockSize]);
  } catch (const std::bad_alloc &) {
    isIncomplete = true;
    return false;
  }
  next = blocks[filled++].get();
  last = next + blockSize;
  return true;
}

/// False if there is no memory.
bool Tracer::addPart(uint64_t launch, uint64_t segment) {
  size_t first = numCalls();
  if (!parts.empty() && parts.back().first == first)
    parts.pop_back(); // nothing was in it
  try {
    parts.push_back({first, launch, segment});
  } catch (const std::bad_alloc &) {
    isIncomplete = true;
  }
  return !isIncomplete;
}

void Tracer::forgetCalls() {
  parts.clear();
  filled = 0;
  next = last = nullptr;
}
