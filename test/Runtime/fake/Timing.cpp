//===- Timing.cpp - What only measurements call ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What sccl-bench-gpu needs of the CUDA driver. Times are those of the host.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

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

EXPORT int cuEventElapsedTime(float *milliseconds, Event *begin, Event *end) {
  COUNTED(cuEventElapsedTime, cuEventElapsedTime);
  *milliseconds = float((end->seconds - begin->seconds) * 1e3);
  return 0;
}
