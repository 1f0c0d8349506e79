//===- TraceRecords.cpp - What channels have told -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TraceRecords.h"

#include "sccl/ABI/KernelABI.h"

#include <algorithm>

using namespace sccl;

/// The bytes of the chunks, as far as the segment reaches.
static uint64_t bytesOf(const TraceMark &mark, uint64_t segment) {
  uint64_t stride = chunkStride(segment, mark.chunksPerSegment);
  uint64_t begin = std::min(mark.position * stride, segment);
  uint64_t end = std::min(begin + mark.count * stride, segment);
  return (end - begin) * mark.times;
}

scclTraceEvent sccl::eventOf(const TraceMark &mark, uint64_t launch,
                             uint64_t segment) {
  scclTraceEvent event = {};
  event.kind = scclTraceKind(mark.kind);
  event.channel = mark.channel;
  event.peer = mark.peer == TraceMark::noPeer ? -1 : int(mark.peer);
  event.isPull = mark.isPull;
  if (mark.kind == TraceMark::Signal || mark.kind == TraceMark::Wait) {
    event.flag = uint64_t(mark.owner) << 32 | mark.offset;
    event.value = launch * mark.perLaunch + mark.value;
  } else {
    event.bytes = bytesOf(mark, segment);
  }
  return event;
}

/// Adds what a channel did in one launch, unless that has not ended.
static void addRecord(const TraceTable &table, const TraceLine &line,
                      const uint64_t *words,
                      std::vector<scclTraceEvent> &events) {
  const uint64_t *times = words + traceTimes / sizeof(uint64_t);
  bool isWhole = words[1] != 0 &&
                 std::find(times, times + line.marks, 0) == times + line.marks;
  if (!isWhole)
    return;
  for (uint32_t i = 0; i + 1 < line.marks; ++i) {
    scclTraceEvent event =
        eventOf(table.marks[line.firstMark + i], words[0], words[1]);
    event.begin = times[i];
    event.end = std::max(times[i], times[i + 1]);
    events.push_back(event);
  }
}

bool sccl::readRecords(const TraceTable &table, const ReadMemory &read,
                       std::vector<scclTraceEvent> &events, uint64_t &lost) {
  std::vector<uint64_t> words;
  for (const TraceLine &line : table.lines) {
    uint64_t records = std::min(line.launches, line.capacity);
    lost = std::max(lost, line.launches - records);
    if (line.buffer == 0 || records == 0)
      continue;
    words.resize(records * (line.stride / sizeof(uint64_t)));
    if (!read(words.data(), line.buffer, records * line.stride))
      return false;
    for (uint64_t i = 0; i < records; ++i)
      addRecord(table, line,
                words.data() + i * (line.stride / sizeof(uint64_t)), events);
  }
  return true;
}

void sccl::putOnHostClock(std::vector<scclTraceEvent> &events,
                          double nanosecondsPerTick, uint64_t from,
                          uint64_t to) {
  if (events.empty())
    return;
  uint64_t first = events.front().begin, last = first;
  for (const scclTraceEvent &event : events) {
    first = std::min(first, event.begin);
    last = std::max(last, event.end);
  }
  auto passed = [&](uint64_t time) {
    return uint64_t(double(time - first) * nanosecondsPerTick);
  };
  uint64_t unused = std::max(to - from, passed(last)) - passed(last);
  uint64_t begin = from + unused / 2;
  for (scclTraceEvent &event : events) {
    event.begin = begin + passed(event.begin);
    event.end = begin + passed(event.end);
  }
}
