//===- GPUStreams.h - What tests of streams share ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_RUNTIME_GPUSTREAMS_H
#define SCCL_TEST_RUNTIME_GPUSTREAMS_H

#include "GPUTesting.h"

namespace sccl {
/// Calls of a driver that the caller of libsccl makes.
class Streams {
public:
  explicit Streams(const Fake &fake, unsigned device) : fake(fake) {
    if (fake.isCUDA) {
      void *context = nullptr;
      fake.get<int(void **, int)>("cuDevicePrimaryCtxRetain", "")(&context,
                                                                  device);
      fake.get<int(void *)>("cuCtxPushCurrent_v2", "")(context);
      this->device = device;
    } else {
      fake.get<int(int)>("", "hipSetDevice")(device);
    }
    fake.get<int(void **, unsigned)>("cuStreamCreate",
                                     "hipStreamCreateWithFlags")(&stream, 1);
  }
  ~Streams() {
    call<int(void *)>("cuStreamDestroy_v2", "hipStreamDestroy")(stream);
    if (!fake.isCUDA)
      return;
    void *popped = nullptr;
    fake.get<int(void **)>("cuCtxPopCurrent_v2", "")(&popped);
    fake.get<int(int)>("cuDevicePrimaryCtxRelease_v2", "")(device);
  }
  template <typename Fn> Fn *call(const char *cuda, const char *hip) const {
    return fake.get<Fn>(cuda, hip);
  }
  int wait() const {
    return call<int(void *)>("cuStreamSynchronize",
                             "hipStreamSynchronize")(stream);
  }
  bool isBusy() const {
    return call<int(void *)>("cuStreamQuery", "hipStreamQuery")(stream) != 0;
  }
  int fill(void *memory, unsigned char value, size_t bytes) const {
    return call<int(void *, unsigned char, size_t, void *)>(
        "cuMemsetD8Async", "hipMemsetD8Async")(memory, value, bytes, stream);
  }
  /// In the mode that lets no thread disturb it.
  int beginCapture() const {
    return call<int(void *, int)>("cuStreamBeginCapture_v2",
                                  "hipStreamBeginCapture")(stream, 0);
  }
  void *endCapture() const {
    void *graph = nullptr, *executable = nullptr;
    call<int(void *, void **)>("cuStreamEndCapture",
                               "hipStreamEndCapture")(stream, &graph);
    call<int(void **, void *, unsigned long long)>(
        "cuGraphInstantiateWithFlags",
        "hipGraphInstantiateWithFlags")(&executable, graph, 0);
    call<int(void *)>("cuGraphDestroy", "hipGraphDestroy")(graph);
    return executable;
  }
  int replay(void *graph) const {
    return call<int(void *, void *)>("cuGraphLaunch", "hipGraphLaunch")(graph,
                                                                        stream);
  }
  void drop(void *graph) const {
    call<int(void *)>("cuGraphExecDestroy", "hipGraphExecDestroy")(graph);
  }

  void *stream = nullptr;

private:
  const Fake &fake;
  int device = 0;
};

/// A rank of two on a device each, with registered buffers.
struct StreamRank {
  static constexpr size_t count = 30000;
  Member member;
  Streams streams;
  void *send = nullptr, *recv = nullptr;
  int failed = 0;

  StreamRank(const Fake &fake, const RankEnd &end, const std::string &bytes,
             scclDeviceKind kind, double timeout = 10, int devices = 2)
      : streams(fake, end.rank % devices) {
    failed = check(!join(member, end, bytes, kind, timeout, devices), "join") ||
             check(!scclMemAlloc(member.comm, count * 4, &send) &&
                       !scclMemAlloc(member.comm, count * 4, &recv),
                   "memory");
  }
  scclResult reduce(size_t elements = count) {
    return scclAllReduce(send, recv, elements, scclFloat32, scclSum,
                         member.comm, streams.stream);
  }
  int set(float value) {
    std::vector<float> all(count, value);
    return check(!scclMemCopy(member.comm, send, all.data(), count * 4), "set");
  }
  /// All elements of the result are `value`.
  int expect(float value, size_t elements = count) {
    std::vector<float> all(elements);
    return check(!scclMemCopy(member.comm, all.data(), recv, elements * 4) &&
                     std::count(all.begin(), all.end(), value) ==
                         std::ptrdiff_t(elements),
                 "a result of " + std::to_string(value));
  }
};

} // namespace sccl

#endif // SCCL_TEST_RUNTIME_GPUSTREAMS_H
