//===- Driver.h - The state of a driver on host memory ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_RUNTIME_FAKE_DRIVER_H
#define SCCL_TEST_RUNTIME_FAKE_DRIVER_H

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

#ifdef SCCL_FAKE_HIP
#define NAME(cuda, hip) hip
static constexpr bool isCUDA = false;
#else
#define NAME(cuda, hip) cuda
static constexpr bool isCUDA = true;
#endif
#define TEXT(name) #name
#define QUOTE(name) TEXT(name)
#define EXPORT extern "C" __attribute__((visibility("default")))
/// Begins a function of the driver.
#define COUNTED(cuda, hip)                                                     \
  if (int code = enter(QUOTE(NAME(cuda, hip))))                                \
  return code

namespace fake {
constexpr int invalidValue = 1, outOfMemory = 2, noDevice = 100,
              invalidDevice = 101, noBinary = 209, noContext = 201,
              invalidHandle = 400, notFound = 500, notReady = 600,
              peerAlreadyEnabled = 704, tooLarge = 720,
              captureUnsupported = 900, captureUnjoined = 904,
              captureIsolation = 905, unknown = 999;

/// A queue of work and the thread that does it.
struct Stream {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> work;
  bool busy = false, stopping = false;
  /// Set while work is recorded in place of being done.
  std::vector<std::function<void()>> *recorded = nullptr;
  std::thread thread{[this] { run(); }};

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return stopping || !work.empty(); });
      if (work.empty())
        return;
      auto next = std::move(work.front());
      work.pop_front();
      busy = true;
      lock.unlock();
      next();
      lock.lock();
      busy = false;
      changed.notify_all();
    }
  }
  void push(std::function<void()> item) {
    std::lock_guard lock(mutex);
    if (recorded) {
      recorded->push_back(std::move(item));
      return;
    }
    work.push_back(std::move(item));
    changed.notify_all();
  }
  bool isCapturing() {
    std::lock_guard lock(mutex);
    return recorded != nullptr;
  }
  bool isIdle() {
    std::lock_guard lock(mutex);
    return work.empty() && !busy;
  }
  void drain() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return work.empty() && !busy; });
  }
  ~Stream() {
    {
      std::lock_guard lock(mutex);
      stopping = true;
      changed.notify_all();
    }
    thread.join();
  }
};

/// Counts what was recorded, and what has happened of it.
struct Event {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t recorded = 0, happened = 0;
  std::atomic<double> seconds = 0;
  /// Of what was recorded last: the capture that it is part of, and the stream.
  void *capture = nullptr, *stream = nullptr;
  void happen(uint64_t number) {
    std::lock_guard lock(mutex);
    happened = std::max(happened, number);
    changed.notify_all();
  }
  void await(uint64_t number) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return happened >= number; });
  }
};

struct Block {
  size_t bytes;
  int fd;
  bool isImported;
};
struct Context {
  unsigned users = 0;
};
using Arguments = std::array<uintptr_t, 11>;
/// A function of a module; a virtual kernel has one for each rank.
struct Kernel {
  void *module;
  bool isVirtual;
  std::vector<void *> entries;
};
struct State {
  std::mutex mutex;
  std::map<std::string, unsigned> calls;
  std::map<uintptr_t, Block> blocks;
  std::map<void *, size_t> registered;
  std::set<void *> modules;
  std::map<std::string, Kernel> kernels; ///< by module and name
  std::set<Stream *> streams;
  std::set<std::shared_ptr<Event>> events;
  /// The null streams of devices, in this process.
  int nullOwner = 0;
  static constexpr int mostDevices = 32;
  Stream *nulls[mostDevices] = {};
  std::atomic<unsigned> captures = 0; ///< under way
  /// Streams that have joined a capture, by the capture; false: that the one
  /// where it began does not wait for yet.
  std::map<void *, std::map<Stream *, bool>> forked;
  std::atomic<unsigned> grid = 0; ///< blocks of the last launch
  std::atomic<uintptr_t> tables[mostDevices] =
      {}; ///< of peers, of the last launches
  std::set<std::pair<int, int>> peers;
  Context contexts[mostDevices];
};
struct Handle {
  int64_t pid, fd;
  uint64_t bytes;
  char rest[40];
};
static_assert(sizeof(Handle) == 64);

/// Never destroyed: threads may outlive main.
inline State &state() {
  static State *made = new State;
  return *made;
}

inline long setting(const char *name, long standard) {
  const char *text = std::getenv(name);
  return text ? std::atol(text) : standard;
}

inline int enter(const std::string &name) {
  State &s = state();
  std::lock_guard lock(s.mutex);
  unsigned number = ++s.calls[name];
  const char *fail = std::getenv("SCCL_FAKE_FAIL");
  return fail && fail == name + ":" + std::to_string(number) ? unknown : 0;
}

inline thread_local std::deque<Context *> contextStack;

int currentDevice();

/// Of memory without addresses, and of switches (CUDA).
unsigned liveObjects();
bool hasSwitch(int device);

/// Has code of `library` tell what it does, if it can.
void listen(void *library);
/// This thread executes a launch on `device` from now on.
void beginLaunch(const Arguments &values, int device);

/// How calls of this thread go with captures under way, as the driver numbers
/// it: 0 refuses whatever could harm them, 2 nothing.
inline thread_local int captureMode = 0;
inline bool harmsCapture() { return captureMode != 2 && state().captures != 0; }

inline Stream *streamOf(void *stream) {
  std::lock_guard lock(state().mutex);
  if (!stream) {
    int device = currentDevice();
    if (device < 0)
      return nullptr;
    // Threads do not survive a fork.
    if (state().nullOwner != getpid())
      std::fill(std::begin(state().nulls), std::end(state().nulls), nullptr);
    state().nullOwner = getpid();
    Stream *&null = state().nulls[device];
    return null ? null : null = new Stream;
  }
  auto *known = static_cast<Stream *>(stream);
  return state().streams.count(known) ? known : nullptr;
}
} // namespace fake

#endif // SCCL_TEST_RUNTIME_FAKE_DRIVER_H
