//===- Graphs.cpp - Events and graphs -------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stream that is captured records its work in place of doing it; a graph that
// is launched does it in a stream. As with real drivers, a captured stream may
// not wait for what is outside of the graph, and while one is captured, threads
// may not allocate or synchronize unless they have said that they know.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include <chrono>

using namespace fake;

static std::shared_ptr<Event> eventOf(void *event) {
  std::lock_guard lock(state().mutex);
  for (const std::shared_ptr<Event> &known : state().events)
    if (known.get() == event)
      return known;
  return nullptr;
}

EXPORT int NAME(cuEventCreate, hipEventCreateWithFlags)(void **event,
                                                        unsigned) {
  COUNTED(cuEventCreate, hipEventCreateWithFlags);
  if (currentDevice() < 0)
    return noContext;
  auto made = std::make_shared<Event>();
  *event = made.get();
  std::lock_guard lock(state().mutex);
  state().events.insert(std::move(made));
  return 0;
}
EXPORT int NAME(cuEventDestroy_v2, hipEventDestroy)(void *event) {
  COUNTED(cuEventDestroy_v2, hipEventDestroy);
  std::shared_ptr<Event> known = eventOf(event);
  if (!known)
    return invalidHandle;
  std::lock_guard lock(state().mutex);
  state().events.erase(known);
  return 0;
}
EXPORT int NAME(cuEventRecord, hipEventRecord)(void *event, void *stream) {
  COUNTED(cuEventRecord, hipEventRecord);
  Stream *known = streamOf(stream);
  std::shared_ptr<Event> recorded = eventOf(event);
  if (!known || !recorded)
    return invalidHandle;
  uint64_t number;
  {
    std::scoped_lock lock(recorded->mutex, known->mutex);
    number = ++recorded->recorded;
    recorded->capture = known->recorded;
    recorded->stream = known;
  }
  known->push([recorded, number] {
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    recorded->seconds = std::chrono::duration<double>(now).count();
    recorded->happen(number);
  });
  return 0;
}
EXPORT int NAME(cuEventQuery, hipEventQuery)(void *event) {
  COUNTED(cuEventQuery, hipEventQuery);
  std::shared_ptr<Event> known = eventOf(event);
  if (!known)
    return invalidHandle;
  std::lock_guard lock(known->mutex);
  if (known->capture)
    return captureIsolation;
  return known->happened == known->recorded ? 0 : notReady;
}
/// A stream waits for something of a capture, which `from` has done there, and
/// so becomes part of it. All is done in the order of calls.
static int takePart(Stream &stream, void *capture, Stream *from) {
  std::scoped_lock lock(state().mutex, stream.mutex);
  std::map<Stream *, bool> &forked = state().forked[capture];
  if (stream.recorded && stream.recorded != capture)
    return captureIsolation;
  if (stream.recorded) {
    if (forked.count(from))
      forked[from] = true;
    else if (forked.count(&stream))
      forked[&stream] = false;
    return 0;
  }
  stream.recorded = static_cast<decltype(stream.recorded)>(capture);
  forked[&stream] = false;
  return 0;
}

EXPORT int NAME(cuStreamWaitEvent, hipStreamWaitEvent)(void *stream,
                                                       void *event, unsigned) {
  COUNTED(cuStreamWaitEvent, hipStreamWaitEvent);
  Stream *known = streamOf(stream);
  std::shared_ptr<Event> awaited = eventOf(event);
  if (!known || !awaited)
    return invalidHandle;
  if (void *capture = awaited->capture)
    return takePart(*known, capture, static_cast<Stream *>(awaited->stream));
  if (known->isCapturing())
    return captureIsolation;
  uint64_t number;
  {
    std::lock_guard lock(awaited->mutex);
    number = awaited->recorded;
  }
  known->push([awaited, number] { awaited->await(number); });
  return 0;
}

namespace {
struct Graph {
  std::vector<std::function<void()>> work;
};
} // namespace

EXPORT int NAME(cuThreadExchangeStreamCaptureMode,
                hipThreadExchangeStreamCaptureMode)(int *mode) {
  COUNTED(cuThreadExchangeStreamCaptureMode,
          hipThreadExchangeStreamCaptureMode);
  std::swap(*mode, captureMode);
  return 0;
}
EXPORT int NAME(cuStreamGetCaptureInfo,
                hipStreamGetCaptureInfo)(void *stream, int *status,
                                         unsigned long long *capture) {
  COUNTED(cuStreamGetCaptureInfo, hipStreamGetCaptureInfo);
  Stream *known = streamOf(stream);
  if (!known)
    return invalidHandle;
  std::lock_guard lock(known->mutex);
  *status = known->recorded != nullptr;
  *capture = uintptr_t(known->recorded);
  return 0;
}
EXPORT int NAME(cuStreamBeginCapture_v2, hipStreamBeginCapture)(void *stream,
                                                                int) {
  COUNTED(cuStreamBeginCapture_v2, hipStreamBeginCapture);
  Stream *known = streamOf(stream);
  if (!stream || !known || known->isCapturing())
    return invalidHandle;
  std::lock_guard lock(known->mutex);
  known->recorded = new std::vector<std::function<void()>>;
  ++state().captures;
  return 0;
}
/// Ends the part of other streams in a capture; false if one was not waited
/// for.
static bool endForks(void *capture) {
  std::lock_guard lock(state().mutex);
  bool areJoined = true;
  for (auto [stream, isJoined] : state().forked[capture]) {
    std::lock_guard lock(stream->mutex);
    stream->recorded = nullptr;
    areJoined &= isJoined;
  }
  state().forked.erase(capture);
  for (const std::shared_ptr<Event> &event : state().events)
    if (event->capture == capture)
      event->capture = nullptr;
  return areJoined;
}

EXPORT int NAME(cuStreamEndCapture, hipStreamEndCapture)(void *stream,
                                                         Graph **graph) {
  COUNTED(cuStreamEndCapture, hipStreamEndCapture);
  Stream *known = streamOf(stream);
  if (!known || !known->isCapturing())
    return invalidHandle;
  if (!endForks(known->recorded))
    return captureUnjoined;
  std::lock_guard lock(known->mutex);
  *graph = new Graph{std::move(*known->recorded)};
  delete known->recorded;
  known->recorded = nullptr;
  --state().captures;
  return 0;
}
EXPORT int NAME(cuGraphInstantiateWithFlags,
                hipGraphInstantiateWithFlags)(Graph **executable,
                                              const Graph *graph,
                                              unsigned long long) {
  COUNTED(cuGraphInstantiateWithFlags, hipGraphInstantiateWithFlags);
  *executable = new Graph(*graph);
  return 0;
}
EXPORT int NAME(cuGraphLaunch, hipGraphLaunch)(const Graph *executable,
                                               void *stream) {
  COUNTED(cuGraphLaunch, hipGraphLaunch);
  Stream *known = streamOf(stream);
  if (!known)
    return invalidHandle;
  for (const std::function<void()> &item : executable->work)
    known->push(item);
  return 0;
}
EXPORT int NAME(cuGraphExecDestroy, hipGraphExecDestroy)(Graph *graph) {
  COUNTED(cuGraphExecDestroy, hipGraphExecDestroy);
  delete graph;
  return 0;
}
EXPORT int NAME(cuGraphDestroy, hipGraphDestroy)(Graph *graph) {
  COUNTED(cuGraphDestroy, hipGraphDestroy);
  delete graph;
  return 0;
}
