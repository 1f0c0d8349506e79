//===- Tracer.cpp - What a rank has done ----------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tracer.h"

#include "sccl/ABI/KernelABI.h"

#include <algorithm>
#include <ctime>
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
static uint64_t ticks() { return hasCounter ? readCounter() : Tracer::now(); }

Tracer::Instant Tracer::instant() {
  Instant best = {0, 0};
  uint64_t least = ~uint64_t(0);
  // The try in which the least time has passed tells best.
  for (unsigned i = 0; i < 64; ++i) {
    uint64_t before = ticks(), time = now(), after = ticks();
    if (after - before < least)
      best = {before + (after - before) / 2, time};
    least = std::min(least, after - before);
  }
  return best;
}

/// Sets the times of `calls`, which are ticks, to nanoseconds.
void Tracer::convertTimes() {
  Instant last = instant();
  double rate = double(last.time - first.time) /
                double(std::max<uint64_t>(last.ticks - first.ticks, 1));
  for (Call &call : calls)
    call.time = first.time + uint64_t(double(call.time - first.ticks) * rate);
}

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

uint64_t Tracer::now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

void Tracer::record(bool start) {
  on = start;
  isIncomplete = false;
  calls.clear();
  notes.clear();
  events.clear();
  first = instant();
}

Status Tracer::read(const scclTraceEvent *&data, size_t &count) {
  if (isIncomplete)
    return {scclErrorOutOfMemory, "there was no memory for all events"};
  convertTimes();
  events = notes;
  for (size_t i = 0; i + 1 < calls.size(); ++i)
    if (!calls[i].isEnd())
      events.push_back(eventOf(calls[i], calls[i + 1].time));
  std::stable_sort(events.begin(), events.end(),
                   [](const scclTraceEvent &left, const scclTraceEvent &right) {
                     return left.begin < right.begin;
                   });
  notes = events;
  calls.clear();
  data = events.data();
  count = events.size();
  return {};
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
    tracer->add({kind, /*channel=*/0, peer, isPull, begin, now(), bytes,
                 /*flag=*/0, /*value=*/0});
}

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

Tracer::Listening::Listening(Tracer &tracer, uint64_t segment)
    : listens(tracer.on) {
  if (!listens)
    return;
  tracer.segment = segment;
  listener = &tracer;
}

Tracer::Listening::~Listening() {
  if (!listens)
    return;
  if (!listener->calls.empty() && !listener->calls.back().isEnd())
    listener->take({nullptr, 0, 0, ticks()});
  listener = nullptr;
}

void Tracer::onMark(const TraceMark *mark, uint64_t launch) {
  if (listener)
    listener->take({mark, launch, listener->segment, ticks()});
}

void Tracer::take(const Call &call) {
  try {
    calls.push_back(call);
    // What follows is in no cache: launches move more than those hold.
    __builtin_prefetch(calls.data() + calls.size() + 2, /*write=*/1);
  } catch (const std::bad_alloc &) {
    isIncomplete = true;
  }
}

/// The bytes of the chunks, as far as the segment reaches.
static uint64_t bytesOf(const TraceMark &mark, uint64_t segment) {
  uint64_t stride = chunkStride(segment, mark.chunksPerSegment);
  uint64_t begin = std::min(mark.position * stride, segment);
  uint64_t end = std::min(begin + mark.count * stride, segment);
  return (end - begin) * mark.times;
}

scclTraceEvent Tracer::eventOf(const Call &call, uint64_t end) {
  const TraceMark &mark = *call.mark;
  scclTraceEvent event = {};
  event.kind = scclTraceKind(mark.kind);
  event.channel = mark.channel;
  event.peer = mark.peer == TraceMark::noPeer ? -1 : int(mark.peer);
  event.isPull = mark.isPull;
  event.begin = call.time;
  event.end = end;
  if (mark.kind == TraceMark::Signal || mark.kind == TraceMark::Wait) {
    event.flag = uint64_t(mark.owner) << 32 | mark.offset;
    event.value = call.launch * mark.perLaunch + mark.value;
  } else {
    event.bytes = bytesOf(mark, call.segment);
  }
  return event;
}
