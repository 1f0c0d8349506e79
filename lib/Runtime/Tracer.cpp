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

using namespace sccl;

static thread_local Tracer *listener = nullptr;

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
}

Status Tracer::read(const scclTraceEvent *&first, size_t &count) {
  if (isIncomplete)
    return {scclErrorOutOfMemory, "there was no memory for all events"};
  events = notes;
  for (size_t i = 0; i + 1 < calls.size(); ++i)
    if (!calls[i].isEnd())
      events.push_back(eventOf(calls[i], calls[i + 1].time));
  std::stable_sort(events.begin(), events.end(),
                   [](const scclTraceEvent &left, const scclTraceEvent &right) {
                     return left.begin < right.begin;
                   });
  first = events.data();
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
    listener->take({nullptr, 0, 0, now()});
  listener = nullptr;
}

void Tracer::onMark(const TraceMark *mark, uint64_t launch) {
  if (listener)
    listener->take({mark, launch, listener->segment, now()});
}

void Tracer::take(const Call &call) {
  try {
    calls.push_back(call);
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
