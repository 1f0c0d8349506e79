//===- Timing.cpp - What only measurements call ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Events and graphs of the CUDA driver, for sccl-bench-gpu. Times are those of
// the host.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include <chrono>

using namespace fake;

EXPORT int cuDeviceGetName(char *text, int size, int) {
  COUNTED(cuDeviceGetName, cuDeviceGetName);
  std::snprintf(text, size, "fake device");
  return 0;
}
EXPORT int cuCtxSetCurrent(void *context) {
  COUNTED(cuCtxSetCurrent, cuCtxSetCurrent);
  contextStack.assign(1, static_cast<Context *>(context));
  return 0;
}
EXPORT int cuMemGetInfo_v2(size_t *available, size_t *all) {
  COUNTED(cuMemGetInfo_v2, cuMemGetInfo_v2);
  *available = *all = setting("SCCL_FAKE_MEMORY", 64 << 20);
  return 0;
}
EXPORT int cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  COUNTED(cuMemHostAlloc, cuMemHostAlloc);
  *memory = std::calloc(bytes, 1);
  return *memory ? 0 : outOfMemory;
}

namespace {
struct Event {
  std::atomic<double> seconds = 0;
};
struct Graph {
  std::vector<std::function<void()>> work;
};
} // namespace

EXPORT int cuEventCreate(void **event, unsigned) {
  COUNTED(cuEventCreate, cuEventCreate);
  *event = new Event;
  return 0;
}
EXPORT int cuEventRecord(Event *event, void *stream) {
  COUNTED(cuEventRecord, cuEventRecord);
  Stream *known = streamOf(stream);
  if (!known)
    return invalidHandle;
  known->push([event] {
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    event->seconds = std::chrono::duration<double>(now).count();
  });
  return 0;
}
EXPORT int cuEventElapsedTime(float *milliseconds, Event *begin, Event *end) {
  COUNTED(cuEventElapsedTime, cuEventElapsedTime);
  *milliseconds = float((end->seconds - begin->seconds) * 1e3);
  return 0;
}

EXPORT int cuStreamBeginCapture_v2(void *stream, int) {
  COUNTED(cuStreamBeginCapture_v2, cuStreamBeginCapture_v2);
  Stream *known = streamOf(stream);
  if (!known || known->recorded)
    return invalidHandle;
  known->recorded = new std::vector<std::function<void()>>;
  return 0;
}
EXPORT int cuStreamEndCapture(void *stream, Graph **graph) {
  COUNTED(cuStreamEndCapture, cuStreamEndCapture);
  Stream *known = streamOf(stream);
  if (!known || !known->recorded)
    return invalidHandle;
  *graph = new Graph{std::move(*known->recorded)};
  delete known->recorded;
  known->recorded = nullptr;
  return 0;
}
EXPORT int cuGraphInstantiateWithFlags(Graph **executable, const Graph *graph,
                                       unsigned long long) {
  COUNTED(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags);
  *executable = new Graph(*graph);
  return 0;
}
EXPORT int cuGraphLaunch(const Graph *executable, void *stream) {
  COUNTED(cuGraphLaunch, cuGraphLaunch);
  Stream *known = streamOf(stream);
  if (!known)
    return invalidHandle;
  for (const std::function<void()> &item : executable->work)
    known->push(item);
  return 0;
}
EXPORT int cuGraphExecDestroy(Graph *graph) {
  COUNTED(cuGraphExecDestroy, cuGraphExecDestroy);
  delete graph;
  return 0;
}
EXPORT int cuGraphDestroy(Graph *graph) {
  COUNTED(cuGraphDestroy, cuGraphDestroy);
  delete graph;
  return 0;
}
