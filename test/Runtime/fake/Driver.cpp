//===- Driver.cpp - A GPU driver on host memory, for tests ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Built twice, as libcuda.so.1 and, with SCCL_FAKE_HIP, as libamdhip64.so.
// It is strict where real drivers crash or corrupt: contexts, handles and
// pointers are checked. What it executes is in Code.cpp.
//
// Environment variables, read at every call:
//   SCCL_FAKE_FAIL=NAME:N      call number N of NAME fails, counted from 1
//   SCCL_FAKE_DEVICES=N        devices; 2 by default
//   SCCL_FAKE_SMS=N            multiprocessors; 8
//   SCCL_FAKE_BLOCKS=N         blocks per multiprocessor; 4
//   SCCL_FAKE_CLOCK=N          kilohertz of the clock of HIP; 100000
//   SCCL_FAKE_NO_COOPERATIVE, SCCL_FAKE_NO_PEERS, SCCL_FAKE_NO_UNCACHED
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

using namespace fake;

static thread_local int hipDevice = 0;

int fake::currentDevice() {
  if (!isCUDA)
    return hipDevice;
  return contextStack.empty() ? -1
                              : int(contextStack.back() - state().contexts);
}

//===----------------------------------------------------------------------===//
// What tests ask
//===----------------------------------------------------------------------===//

EXPORT void scclFakeReset() {
  std::lock_guard lock(state().mutex);
  state().calls.clear();
}
EXPORT unsigned scclFakeCalls(const char *name) {
  std::lock_guard lock(state().mutex);
  auto found = state().calls.find(name);
  return found == state().calls.end() ? 0 : found->second;
}
EXPORT unsigned scclFakeBlocks() { return state().grid; }
/// Everything that was made and not given back.
EXPORT unsigned scclFakeLive() {
  State &s = state();
  std::lock_guard lock(s.mutex);
  size_t live = s.blocks.size() + s.registered.size() + s.modules.size() +
                s.streams.size() + s.events.size();
  for (const Context &context : s.contexts)
    live += context.users;
#ifndef SCCL_FAKE_HIP
  live += liveObjects();
#endif
  return live;
}
/// The table of peers of the last launch on a device.
EXPORT uintptr_t scclFakePeers(int device) { return state().tables[device]; }

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

EXPORT int NAME(cuInit, hipInit)(unsigned) {
  COUNTED(cuInit, hipInit);
  return 0;
}
EXPORT int NAME(cuDeviceGetCount, hipGetDeviceCount)(int *count) {
  COUNTED(cuDeviceGetCount, hipGetDeviceCount);
  *count = setting("SCCL_FAKE_DEVICES", 2);
  return *count == 0 && !isCUDA ? noDevice : 0;
}
EXPORT int NAME(cuDeviceGet, hipDeviceGet)(int *device, int index) {
  COUNTED(cuDeviceGet, hipDeviceGet);
  *device = index;
  return index < setting("SCCL_FAKE_DEVICES", 2) ? 0 : invalidDevice;
}
EXPORT int NAME(cuDeviceGetAttribute,
                hipDeviceGetAttribute)(int *value, int which, int device) {
  COUNTED(cuDeviceGetAttribute, hipDeviceGetAttribute);
  if (which == (isCUDA ? 16 : 63))
    *value = setting("SCCL_FAKE_SMS", 8);
  else if (which == (isCUDA ? 95 : 10))
    *value = !setting("SCCL_FAKE_NO_COOPERATIVE", 0);
  else if (which == (isCUDA ? 88 : 65))
    *value = 0;
  else if (isCUDA && (which == 75 || which == 76))
    *value = which == 75 ? 9 : 0;
#ifndef SCCL_FAKE_HIP
  else if (which == 132)
    *value = hasSwitch(device);
#endif
  else if (!isCUDA && which == 10017)
    *value = setting("SCCL_FAKE_CLOCK", 100000);
  else
    return invalidValue;
  return 0;
}
EXPORT int NAME(cuDeviceGetPCIBusId, hipDeviceGetPCIBusId)(char *text, int size,
                                                           int device) {
  COUNTED(cuDeviceGetPCIBusId, hipDeviceGetPCIBusId);
  std::snprintf(text, size, "0000:%02d:00.0", device);
  return 0;
}
EXPORT int NAME(cuDeviceCanAccessPeer, hipDeviceCanAccessPeer)(int *can, int,
                                                               int) {
  COUNTED(cuDeviceCanAccessPeer, hipDeviceCanAccessPeer);
  *can = !setting("SCCL_FAKE_NO_PEERS", 0);
  return 0;
}
static int enablePeer(int peer) {
  State &s = state();
  std::lock_guard lock(s.mutex);
  return s.peers.insert({currentDevice(), peer}).second ? 0
                                                        : peerAlreadyEnabled;
}

#ifdef SCCL_FAKE_HIP
EXPORT int hipGetDevice(int *device) {
  COUNTED(hipGetDevice, hipGetDevice);
  *device = hipDevice;
  return 0;
}
EXPORT int hipSetDevice(int device) {
  COUNTED(hipSetDevice, hipSetDevice);
  hipDevice = device;
  return 0;
}
EXPORT int hipGetDevicePropertiesR0600(char *properties, int) {
  COUNTED(hipGetDevicePropertiesR0600, hipGetDevicePropertiesR0600);
  std::strcpy(properties, "Fake gfx000 device");
  std::strcpy(properties + 1160, "gfx942:sramecc+:xnack-");
  return 0;
}
EXPORT int hipDeviceEnablePeerAccess(int peer, unsigned) {
  COUNTED(hipDeviceEnablePeerAccess, hipDeviceEnablePeerAccess);
  return enablePeer(peer);
}
EXPORT const char *hipGetErrorString(int code) {
  return code == unknown ? "told to fail" : "some error";
}
#else
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  COUNTED(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain);
  std::lock_guard lock(state().mutex);
  Context &chosen = state().contexts[device];
  ++chosen.users;
  *context = &chosen;
  return 0;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  COUNTED(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease_v2);
  std::lock_guard lock(state().mutex);
  Context &chosen = state().contexts[device];
  if (chosen.users == 0)
    return noContext;
  --chosen.users;
  return 0;
}
EXPORT int cuCtxPushCurrent_v2(void *context) {
  COUNTED(cuCtxPushCurrent_v2, cuCtxPushCurrent_v2);
  contextStack.push_back(static_cast<Context *>(context));
  return 0;
}
EXPORT int cuCtxPopCurrent_v2(void **context) {
  COUNTED(cuCtxPopCurrent_v2, cuCtxPopCurrent_v2);
  if (contextStack.empty())
    return noContext;
  *context = contextStack.back();
  contextStack.pop_back();
  return 0;
}
EXPORT int cuCtxEnablePeerAccess(void *context, unsigned) {
  COUNTED(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess);
  return enablePeer(int(static_cast<Context *>(context) - state().contexts));
}
EXPORT int cuGetErrorString(int code, const char **text) {
  *text = code == unknown ? "told to fail" : "some error";
  return 0;
}
#endif

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static int mapBlock(int fd, size_t bytes, bool isImported, void **memory) {
  void *made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (made == MAP_FAILED) {
    close(fd);
    return outOfMemory;
  }
  std::lock_guard lock(state().mutex);
  state().blocks[uintptr_t(made)] = {bytes, fd, isImported};
  *memory = made;
  return 0;
}

static constexpr size_t largeBytes = 4 << 20;

/// Zeros, where there are many without touching their pages.
static void fillBytes(char *memory, unsigned char value, size_t bytes) {
  constexpr size_t page = 4096;
  size_t head = -uintptr_t(memory) % page, whole = (bytes - head) / page * page;
  bool isLarge = value == 0 && bytes > largeBytes;
  if (!isLarge || madvise(memory + head, whole, MADV_REMOVE) != 0) {
    std::memset(memory, value, bytes);
    return;
  }
  std::memset(memory, 0, head);
  std::memset(memory + head + whole, 0, bytes - head - whole);
}

static int makeBlock(void **memory, size_t bytes) {
  if (currentDevice() < 0)
    return noContext;
  if (harmsCapture())
    return captureUnsupported;
  int fd = memfd_create("fake-gpu", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, bytes) != 0)
    return outOfMemory;
  if (int code = mapBlock(fd, bytes, false, memory))
    return code;
  // Real memory comes with what was there before; most of what is large is left
  // alone by its owner, and then takes no memory of the host.
  std::memset(*memory, 0xa5, std::min(bytes, largeBytes));
  return 0;
}

static int dropBlock(void *memory, bool isImported) {
  State &s = state();
  std::lock_guard lock(s.mutex);
  auto found = s.blocks.find(uintptr_t(memory));
  if (found == s.blocks.end() || found->second.isImported != isImported)
    return invalidValue;
  munmap(memory, found->second.bytes);
  close(found->second.fd);
  s.blocks.erase(found);
  return 0;
}

#ifdef SCCL_FAKE_HIP
EXPORT int hipExtMallocWithFlags(void **memory, size_t bytes, unsigned flags) {
  COUNTED(hipExtMallocWithFlags, hipExtMallocWithFlags);
  if (flags != 1 && (flags != 3 || setting("SCCL_FAKE_NO_UNCACHED", 0)))
    return invalidValue;
  if (int code = enter(flags == 1 ? "fine-grained" : "uncached"))
    return code;
  return makeBlock(memory, bytes);
}
#endif
EXPORT int NAME(cuMemAlloc_v2, hipMalloc)(void **memory, size_t bytes) {
  COUNTED(cuMemAlloc_v2, hipMalloc);
  return makeBlock(memory, bytes);
}
EXPORT int NAME(cuMemFree_v2, hipFree)(void *memory) {
  COUNTED(cuMemFree_v2, hipFree);
  return dropBlock(memory, false);
}
EXPORT int NAME(cuIpcGetMemHandle, hipIpcGetMemHandle)(Handle *handle,
                                                       void *memory) {
  COUNTED(cuIpcGetMemHandle, hipIpcGetMemHandle);
  std::lock_guard lock(state().mutex);
  auto found = state().blocks.find(uintptr_t(memory));
  if (found == state().blocks.end())
    return invalidValue;
  *handle = {getpid(), found->second.fd, found->second.bytes, {}};
  return 0;
}
EXPORT int NAME(cuIpcOpenMemHandle_v2, hipIpcOpenMemHandle)(void **memory,
                                                            Handle handle,
                                                            unsigned flags) {
  COUNTED(cuIpcOpenMemHandle_v2, hipIpcOpenMemHandle);
  if (flags != 1 || handle.pid == getpid())
    return invalidValue;
  std::string path = "/proc/" + std::to_string(handle.pid) + "/fd/" +
                     std::to_string(handle.fd);
  int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  return fd < 0 ? invalidHandle : mapBlock(fd, handle.bytes, true, memory);
}
EXPORT int NAME(cuIpcCloseMemHandle, hipIpcCloseMemHandle)(void *memory) {
  COUNTED(cuIpcCloseMemHandle, hipIpcCloseMemHandle);
  return dropBlock(memory, true);
}
EXPORT int NAME(cuMemHostRegister_v2,
                hipHostRegister)(void *memory, size_t bytes, unsigned flags) {
  COUNTED(cuMemHostRegister_v2, hipHostRegister);
  if (uintptr_t(memory) % 4096 != 0 || flags != 3)
    return invalidValue;
  std::lock_guard lock(state().mutex);
  return state().registered.insert({memory, bytes}).second ? 0 : 712;
}
EXPORT int NAME(cuMemHostUnregister, hipHostUnregister)(void *memory) {
  COUNTED(cuMemHostUnregister, hipHostUnregister);
  std::lock_guard lock(state().mutex);
  return state().registered.erase(memory) ? 0 : 713;
}
EXPORT int NAME(cuMemHostGetDevicePointer_v2,
                hipHostGetDevicePointer)(void **mapped, void *memory,
                                         unsigned) {
  COUNTED(cuMemHostGetDevicePointer_v2, hipHostGetDevicePointer);
  std::lock_guard lock(state().mutex);
  if (!state().registered.count(memory))
    return invalidValue;
  *mapped = memory;
  return 0;
}
EXPORT int NAME(cuPointerGetAttribute,
                hipPointerGetAttribute)(unsigned *value, int which,
                                        const void *pointer) {
  COUNTED(cuPointerGetAttribute, hipPointerGetAttribute);
  std::lock_guard lock(state().mutex);
  *value = 2;
  for (const auto &[begin, block] : state().blocks)
    if (which == 2 && uintptr_t(pointer) - begin < block.bytes)
      return 0;
  return invalidValue;
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

EXPORT int NAME(cuStreamCreate, hipStreamCreateWithFlags)(void **stream,
                                                          unsigned) {
  COUNTED(cuStreamCreate, hipStreamCreateWithFlags);
  if (currentDevice() < 0)
    return noContext;
  auto *made = new Stream;
  std::lock_guard lock(state().mutex);
  state().streams.insert(made);
  *stream = made;
  return 0;
}
EXPORT int NAME(cuStreamDestroy_v2, hipStreamDestroy)(void *stream) {
  COUNTED(cuStreamDestroy_v2, hipStreamDestroy);
  Stream *known = streamOf(stream);
  if (!known)
    return invalidHandle;
  {
    std::lock_guard lock(state().mutex);
    state().streams.erase(known);
  }
  delete known;
  return 0;
}
EXPORT int NAME(cuStreamQuery, hipStreamQuery)(void *stream) {
  COUNTED(cuStreamQuery, hipStreamQuery);
  Stream *known = streamOf(stream);
  if (!known)
    return invalidHandle;
  if (known->isCapturing())
    return captureUnsupported;
  return known->isIdle() ? 0 : notReady;
}
/// Told to fail, this waits all the same: it is how earlier work reports its
/// errors.
EXPORT int NAME(cuStreamSynchronize, hipStreamSynchronize)(void *stream) {
  if (!stream && currentDevice() < 0)
    return noContext;
  Stream *known = streamOf(stream);
  if (known && (known->isCapturing() || harmsCapture()))
    return captureUnsupported;
  if (known)
    known->drain();
  COUNTED(cuStreamSynchronize, hipStreamSynchronize);
  return known ? 0 : invalidHandle;
}
EXPORT int NAME(cuMemsetD8Async, hipMemsetD8Async)(void *memory,
                                                   unsigned char value,
                                                   size_t bytes, void *stream) {
  COUNTED(cuMemsetD8Async, hipMemsetD8Async);
  Stream *known = streamOf(stream);
  if (!known)
    return invalidHandle;
  known->push([=] { fillBytes(static_cast<char *>(memory), value, bytes); });
  return 0;
}
static int copyAsync(void *to, const void *from, size_t bytes, void *stream) {
  Stream *known = streamOf(stream);
  if (!known)
    return invalidHandle;
  known->push([=] { std::memmove(to, from, bytes); });
  return 0;
}
EXPORT int NAME(cuLaunchHostFunc, hipLaunchHostFunc)(void *stream,
                                                     void (*function)(void *),
                                                     void *data) {
  COUNTED(cuLaunchHostFunc, hipLaunchHostFunc);
  Stream *known = stream ? streamOf(stream) : nullptr;
  if (!known)
    return invalidHandle;
  known->push([=] { function(data); });
  return 0;
}
#ifdef SCCL_FAKE_HIP
EXPORT int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind,
                          void *stream) {
  COUNTED(hipMemcpyAsync, hipMemcpyAsync);
  return kind == 4 ? copyAsync(to, from, bytes, stream) : invalidValue;
}
#else
EXPORT int cuMemcpyAsync(void *to, const void *from, size_t bytes,
                         void *stream) {
  COUNTED(cuMemcpyAsync, cuMemcpyAsync);
  return copyAsync(to, from, bytes, stream);
}
#endif
