//===- HostStaging.cpp - Messages of buffers on a GPU ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostStaging.h"

#include "Runtime/TimeLimit.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>

using namespace sccl;

/// Slices begin at these bytes of a segment, which no element crosses.
static constexpr uint64_t sliceAlignment = 64;
/// Drivers map whole pages.
static constexpr uint64_t pageBytes = 4096;

Status HostStaging::open(const scclConfig &config,
                         std::unique_ptr<HostStaging> &result) {
  std::unique_ptr<Device> gpu;
  if (Status status = createDevice(config, gpu); !status.ok())
    return status;
  result.reset(new HostStaging(std::move(gpu), config.timeoutSeconds));
  return {};
}

/// The most bytes that a slice of a segment has, the same on all ranks, which
/// launch as many slices: for the rank with the most segments 16 MiB, some
/// 0.3 ms of a network, but no less than 64 KiB of each.
static uint64_t mostSliceBytes(const plan::Manifest &plan) {
  constexpr uint64_t sliceBytes = 16 << 20, leastBytes = 64 << 10;
  uint64_t segments = 1;
  for (const plan::RankLayout &layout : plan.layout)
    segments = std::max<uint64_t>(
        segments, layout.inputSegments + uint64_t(layout.outputSegments));
  return std::max(sliceBytes / segments / sliceAlignment * sliceAlignment,
                  leastBytes);
}

uint64_t HostStaging::bytesOfSlices(const JoinedPlan::Flight &flight,
                                    const plan::Manifest &plan) {
  // All slices but the last are alike.
  uint64_t slices = llvm::divideCeil(flight.segmentBytes, mostSliceBytes(plan));
  return llvm::alignTo(llvm::divideCeil(flight.segmentBytes, slices),
                       sliceAlignment);
}

JoinedPlan::Flight HostStaging::sliceOf(const JoinedPlan::Flight &flight,
                                        uint64_t bytes) {
  JoinedPlan::Flight slice = flight;
  uint64_t elementBytes = flight.segmentBytes / flight.request.count;
  slice.segmentBytes = bytes;
  slice.request.count = bytes / elementBytes;
  return slice;
}

Status HostStaging::reserve(const plan::Manifest &plan, unsigned rank) {
  const plan::RankLayout &layout = plan.layout[rank];
  uint64_t needed = 2 * mostSliceBytes(plan) *
                    (layout.inputSegments + uint64_t(layout.outputSegments));
  if (needed <= bytes)
    return {};
  blocks.reserve(blocks.size() + 1);
  needed = llvm::alignTo(needed, pageBytes);
  HostMemory memory(static_cast<char *>(std::aligned_alloc(pageBytes, needed)));
  if (!memory)
    return {scclErrorOutOfMemory,
            "no memory for " + std::to_string(needed) +
                " bytes on the way between GPU and messages"};
  void *mapped = nullptr;
  Status status = gpu->mapHostMemory(memory.get(), needed, &mapped);
  // Even if it has failed then, the driver may know the memory.
  blocks.push_back(std::move(memory));
  if (status.ok())
    bytes = needed;
  return status;
}

Status HostStaging::mapWord(uint64_t *&word, uint64_t *&onDevice) {
  page.reset(static_cast<char *>(std::aligned_alloc(pageBytes, pageBytes)));
  if (!page)
    return {scclErrorOutOfMemory, "no memory for a page of the host"};
  std::memset(page.get(), 0, pageBytes);
  word = reinterpret_cast<uint64_t *>(page.get());
  void *mapped = nullptr;
  Status status = gpu->mapHostMemory(word, pageBytes, &mapped);
  onDevice = static_cast<uint64_t *>(mapped);
  return status;
}

void HostStaging::abandon(bool onDevice) {
  for (HostMemory &memory : blocks)
    (void)memory.release();
  for (std::unique_ptr<DeviceBuffer> &buffer : buffers)
    if (onDevice)
      (void)buffer.release();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

Status HostStaging::checkStream(void *stream) const {
  bool isCaptured = false;
  Status status = gpu->isCaptured(stream, isCaptured);
  if (!status.ok() || !isCaptured)
    return status;
  return {scclErrorUnsupported,
          "the stream is captured, and a graph cannot exchange messages"};
}

Status HostStaging::copySlice(const Segments &segments, const Slice &slice,
                              char *onHost, bool toHost, void *stream) {
  for (unsigned i = 0; i < segments.count; ++i) {
    char *onDevice = segments.memory + i * segments.distance + slice.at;
    char *staged = onHost + i * slice.bytes;
    Status status = gpu->copy(toHost ? staged : onDevice,
                              toHost ? onDevice : staged, slice.bytes, stream);
    if (!status.ok())
      return status;
  }
  return {};
}

/// Returns when the stream has nothing to do. That may take as long as the
/// caller's kernels before it do.
Status HostStaging::awaitStream(void *stream,
                                llvm::function_ref<Status()> look) {
  while (true) {
    bool done = false;
    if (Status status = gpu->poll(stream, done); !status.ok() || done)
      return status;
    if (Status status = look(); !status.ok())
      return status;
    Patience::pause();
  }
}

/// Slice i is in half i % 2 of the memory, its input before its output. What
/// the stream does while the messages of slice i are under way is done before
/// those of the next begin, so the other half is free for it.
Status HostStaging::runSlices(const JoinedPlan::Flight &flight,
                              const plan::RankLayout &layout,
                              uint64_t sliceBytes, const Steps &steps) {
  const LaunchRequest &request = flight.request;
  uint64_t segment = flight.segmentBytes;
  uint64_t slices = llvm::divideCeil(segment, sliceBytes);
  Segments input = {const_cast<char *>(static_cast<const char *>(request.send)),
                    layout.inputSegments, segment};
  Segments output = {static_cast<char *>(request.recv), layout.outputSegments,
                     segment};
  auto placeOf = [&](uint64_t i) -> Slice {
    return {i * sliceBytes, std::min(sliceBytes, segment - i * sliceBytes)};
  };
  auto inputOf = [&](uint64_t i) {
    return blocks.back().get() + i % 2 * (bytes / 2);
  };
  auto outputOf = [&](uint64_t i) {
    return inputOf(i) + input.count * placeOf(i).bytes;
  };
  auto fetch = [&](uint64_t i) {
    return copySlice(input, placeOf(i), inputOf(i), /*toHost=*/true,
                     request.stream);
  };
  auto give = [&](uint64_t i) {
    return copySlice(output, placeOf(i), outputOf(i), /*toHost=*/false,
                     request.stream);
  };
  Status status = fetch(0);
  for (uint64_t i = 0; status.ok() && i < slices; ++i) {
    status = awaitStream(request.stream, steps.look);
    if (status.ok() && i + 1 < slices)
      status = fetch(i + 1);
    if (status.ok() && i != 0)
      status = give(i - 1);
    if (!status.ok())
      break;
    JoinedPlan::Flight slice = sliceOf(flight, placeOf(i).bytes);
    slice.isInPlace = false;
    slice.request.send = inputOf(i);
    slice.request.recv = outputOf(i);
    status = steps.exchange(slice);
  }
  if (status.ok())
    status = give(slices - 1);
  return status.ok() ? awaitStream(request.stream, steps.look) : status;
}

Status HostStaging::launch(const JoinedPlan::Flight &flight,
                           const plan::Manifest &plan, unsigned rank,
                           const Steps &steps) {
  void *stream = flight.request.stream;
  if (Status status = gpu->begin(stream); !status.ok())
    return status;
  Status status =
      runSlices(flight, plan.layout[rank], bytesOfSlices(flight, plan), steps);
  if (status.ok())
    return gpu->end(stream);
  settle(stream);
  return status;
}

/// What still copies may not lose its memory; but the caller's kernels may not
/// end at all.
void HostStaging::settle(void *stream) {
  TimeLimit limit(timeoutSeconds);
  (void)awaitStream(stream, [&]() -> Status {
    return limit.isOver() ? Status(scclErrorTimeout, "") : Status();
  });
}

//===----------------------------------------------------------------------===//
// Memory of the GPU
//===----------------------------------------------------------------------===//

Status HostStaging::allocate(uint64_t bytes, void **memory) {
  buffers.reserve(buffers.size() + 1);
  std::unique_ptr<DeviceBuffer> buffer;
  if (Status status = gpu->allocate(std::max<uint64_t>(bytes, 1), buffer);
      !status.ok())
    return status;
  *memory = buffer->data();
  buffers.push_back(std::move(buffer));
  return {};
}

DeviceBuffer *HostStaging::find(const void *memory) const {
  for (const std::unique_ptr<DeviceBuffer> &buffer : buffers)
    if (buffer->data() == memory)
      return buffer.get();
  return nullptr;
}

bool HostStaging::free(void *memory, bool isInUse) {
  auto isIt = [&](const std::unique_ptr<DeviceBuffer> &buffer) {
    return buffer->data() == memory;
  };
  auto found = std::find_if(buffers.begin(), buffers.end(), isIt);
  if (found == buffers.end())
    return false;
  if (isInUse)
    (void)found->release();
  buffers.erase(found);
  return true;
}

Status HostStaging::copy(void *to, const void *from, uint64_t bytes) {
  if (bytes == 0)
    return {};
  if (Status status = gpu->begin(nullptr); !status.ok())
    return status;
  Status status = gpu->copy(to, from, bytes, nullptr);
  if (status.ok())
    status = awaitStream(nullptr, [] { return Status(); });
  if (!status.ok())
    settle(nullptr);
  return status;
}
