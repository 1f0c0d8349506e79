//===- Marks.cpp - What traced kernels tell, on host memory ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Code for the host calls a hook at its marks (TraceMark.h). Here the hook
// writes down what code for GPUs would have, into the table that the launch
// got (TraceTable.h). One thread of the host executes all channels of a rank,
// and does not wait for what it has waited for before: such marks get the time
// of the next one of their channel.
//
// The clocks of devices are seconds apart, and those of HIP tick every 10 ns.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include "sccl/ABI/TraceTable.h"

#include <ctime>

using namespace fake;
using namespace sccl;

namespace {
/// Of the launch that this thread executes.
struct Teller {
  char *table = nullptr;
  int device = 0;
  uint64_t segment = 0;
  bool hasBegun = false;
  std::vector<uint32_t> next; ///< by line: the mark to come
};
} // namespace

static thread_local Teller teller;

static uint64_t clockOf(int device) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  uint64_t time = (uint64_t(now.tv_sec) + 7 * (device + 1)) * 1000000000 +
                  uint64_t(now.tv_nsec);
  return isCUDA ? time : time / 10;
}

static TraceLine *lines() {
  return reinterpret_cast<TraceLine *>(teller.table + traceLineOffset(0));
}
static const TraceMark *marks() {
  return reinterpret_cast<const TraceMark *>(
      teller.table + traceLineOffset(teller.next.size()));
}

static void begin(uint64_t launch) {
  teller.hasBegun = true;
  for (size_t i = 0; i < teller.next.size(); ++i) {
    TraceLine &line = lines()[i];
    bool isRoom = line.launches < line.capacity;
    line.place = line.buffer != 0 && isRoom
                     ? line.buffer + line.launches * line.stride
                     : 0;
    line.launches += line.buffer != 0;
    if (line.place == 0)
      continue;
    auto *record = reinterpret_cast<uint64_t *>(line.place);
    record[0] = launch;
    record[1] = teller.segment;
  }
}

/// Writes the time of marks of a line, up to the one at `last`.
static void tell(size_t number, uint32_t last, uint64_t time) {
  const TraceLine &line = lines()[number];
  auto *times = reinterpret_cast<uint64_t *>(line.place + traceTimes);
  for (; teller.next[number] <= last; ++teller.next[number])
    if (line.place != 0)
      times[teller.next[number]] = time;
}

static void onMark(const TraceMark *mark, uint64_t launch) {
  if (!teller.table)
    return;
  if (!teller.hasBegun)
    begin(launch);
  uint64_t time = clockOf(teller.device);
  if (mark->kind == TraceMark::End) {
    for (size_t i = 0; i < teller.next.size(); ++i)
      tell(i, lines()[i].marks - 1, time);
    return;
  }
  const TraceLine &line = lines()[mark->channel];
  for (uint32_t i = teller.next[mark->channel]; i < line.marks; ++i)
    if (std::memcmp(&marks()[line.firstMark + i], mark, sizeof(*mark)) == 0)
      return tell(mark->channel, i, time);
}

void fake::listen(void *library) {
  if (void *hook = dlsym(library, traceVariable))
    *static_cast<TraceHook *>(hook) = onMark;
}

void fake::beginLaunch(const Arguments &values, int device) {
  constexpr unsigned segment = 6, table = 8;
  teller = {};
  auto *place = reinterpret_cast<char *>(values[table]);
  TraceHeader header;
  if (!place)
    return;
  std::memcpy(&header, place, sizeof(header));
  if (header.magic != TraceHeader::expectedMagic)
    return;
  teller.table = place;
  teller.device = device;
  teller.segment = values[segment];
  teller.next.resize(header.lines);
}
