//===- sim.cpp - A simulated network of GPUs, for device functions --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank is a host thread, a block is one, too, and the threads of a block are
// contexts that take turns in it. A network thread executes what is put: in
// order for each context and peer, in any order otherwise, and with ways that
// rest for a while. It reads memory when it comes to it.
//
//===----------------------------------------------------------------------===//

#include "sim.h"

#include "cuda.h"
#include "nccl_device.h"
#include "world.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <ucontext.h>
#include <vector>

void sim_check(bool isRight, const char *what) {
  if (isRight)
    return;
  fprintf(stderr, "sim: wrong: %s\n", what);
  _exit(3);
}

//===----------------------------------------------------------------------===//
// Blocks of threads
//===----------------------------------------------------------------------===//

namespace {
class Block {
public:
  Block(int index, int threads, std::function<void()> body)
      : index(index), body(std::move(body)), contexts(threads),
        isDone(threads) {}

  void run();
  int index, current = 0;
  void barrier();
  void yield() { swapcontext(&contexts[current], &home); }

private:
  static void begin();

  std::function<void()> body;
  std::vector<ucontext_t> contexts;
  std::vector<char> isDone;
  ucontext_t home;
  size_t arrived = 0, round = 0;
};
thread_local Block *block = nullptr;
} // namespace

void Block::begin() {
  Block *own = block;
  own->body();
  own->isDone[own->current] = true;
}

void Block::run() {
  constexpr size_t stackBytes = 64 << 10;
  block = this;
  std::vector<char> stacks(contexts.size() * stackBytes);
  for (size_t i = 0; i < contexts.size(); ++i) {
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = &stacks[i * stackBytes];
    contexts[i].uc_stack.ss_size = stackBytes;
    contexts[i].uc_link = &home;
    makecontext(&contexts[i], begin, 0);
  }
  for (bool some = true; some;) {
    some = false;
    for (current = 0; current < int(contexts.size()); ++current)
      if (!isDone[current]) {
        some = true;
        swapcontext(&home, &contexts[current]);
      }
  }
}

void Block::barrier() {
  size_t own = round;
  if (++arrived == contexts.size()) {
    arrived = 0;
    ++round;
    return;
  }
  while (round == own)
    yield();
}

int sim_tid() { return block->current; }
int sim_ctaid() { return block->index; }
void sim_barrier() { block->barrier(); }
void sim_yield() {
  std::this_thread::yield();
  block->yield();
}

//===----------------------------------------------------------------------===//
// The network
//===----------------------------------------------------------------------===//

struct ncclWindow_vidmem {
  int rank;
  int number;
};

/// Of one rank.
struct ncclComm {
  int rank;
  std::vector<std::pair<char *, size_t>> windows; ///< base, bytes
  int numSignals = 0;
  /// By context and number.
  std::vector<std::vector<std::atomic<uint64_t>>> signals;
};

namespace {
struct Order {
  bool isSignal;
  int window;
  size_t dst;
  char *src;
  size_t bytes;
  uint32_t signal;
  std::chrono::steady_clock::time_point due;
};
struct Way {
  int rank, context, peer;
  auto operator<=>(const Way &) const = default;
};

struct World {
  int ranks, ranksPerBox;
  std::vector<ncclComm> comms;
  std::mutex mutex;
  std::condition_variable change;
  std::map<Way, std::deque<Order>> ways;
  bool isOver = false;
  std::thread network;
  int arrived = 0, round = 0;               ///< of the ranks that meet
  std::map<int, std::pair<int, int>> boxes; ///< the same, by box
} world;
// Fewer than asked for, as NCCL may give.
constexpr int numContexts = 3;
} // namespace

static int contextOf(int index) { return index % numContexts; }

static char *place(int rank, int window, size_t offset, size_t bytes) {
  const auto &[base, size] = world.comms[rank].windows[window];
  sim_check(offset + bytes <= size, "a put beyond its window");
  return base + offset;
}

static void execute(const Way &way, const Order &order) {
  if (order.isSignal)
    world.comms[way.peer].signals[way.context][order.signal].fetch_add(
        1, std::memory_order_release);
  else
    memcpy(place(way.peer, order.window, order.dst, order.bytes), order.src,
           order.bytes);
}

/// Picks a way at random; one of them rests until nothing else is to do.
static void runNetwork() {
  std::mt19937 random(1);
  std::unique_lock lock(world.mutex);
  size_t resting = 0, turns = 0;
  while (!world.isOver) {
    std::vector<std::pair<const Way, std::deque<Order>> *> busy;
    for (auto &way : world.ways)
      if (!way.second.empty())
        busy.push_back(&way);
    if (busy.empty()) {
      world.change.wait(lock);
      continue;
    }
    if (++turns % 64 == 0)
      resting = random();
    size_t choice = random() % busy.size();
    if (auto due = busy[choice]->second.front().due;
        due > std::chrono::steady_clock::now()) {
      lock.unlock();
      std::this_thread::sleep_until(due);
      lock.lock();
      continue;
    }
    if (choice == resting % busy.size() && turns % 16 != 0) {
      lock.unlock(); // others may have something to do meanwhile
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      lock.lock();
      continue;
    }
    auto &[way, orders] = *busy[choice];
    // Puts that no signal divides have no order.
    size_t puts = 0;
    while (puts < orders.size() && !orders[puts].isSignal)
      ++puts;
    size_t index = puts == 0 ? 0 : random() % puts;
    execute(way, orders[index]);
    orders.erase(orders.begin() + index);
    world.change.notify_all();
  }
}

static void hand(void *sim, int context, int peer, Order order) {
  auto comm = static_cast<ncclComm *>(sim);
  sim_check(comm->rank / world.ranksPerBox != peer / world.ranksPerBox,
            "GIN within a box");
  std::lock_guard lock(world.mutex);
  // Long enough for a kernel that does not wait to return.
  order.due = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  world.ways[{comm->rank, contextOf(context), peer}].push_back(order);
  world.change.notify_all();
}

void sim_put(void *sim, int context, int peer, void *dstWindow,
             size_t dstOffset, void *srcWindow, size_t srcOffset,
             size_t bytes) {
  auto to = static_cast<ncclWindow_t>(dstWindow);
  auto from = static_cast<ncclWindow_t>(srcWindow);
  char *src = place(from->rank, from->number, srcOffset, bytes);
  hand(sim, context, peer, {false, to->number, dstOffset, src, bytes, 0, {}});
}

void sim_signal(void *sim, int context, int peer, uint32_t signal) {
  sim_check(int(signal) < world.comms[peer].numSignals, "number of a signal");
  hand(sim, context, peer, {true, 0, 0, nullptr, 0, signal, {}});
}

uint64_t sim_read_signal(void *sim, int context, uint32_t signal) {
  auto comm = static_cast<ncclComm *>(sim);
  sim_check(int(signal) < comm->numSignals, "number of a signal");
  sim_yield();
  return comm->signals[contextOf(context)][signal].load(
      std::memory_order_acquire);
}

void sim_flush(void *sim, int context) {
  auto comm = static_cast<ncclComm *>(sim);
  std::unique_lock lock(world.mutex);
  auto isIdle = [&] {
    for (auto &[way, orders] : world.ways)
      if (way.rank == comm->rank && way.context == contextOf(context))
        for (const Order &order : orders)
          if (!order.isSignal)
            return false;
    return true;
  };
  while (!isIdle())
    world.change.wait(lock);
}

void *sim_peer_pointer(void *window, size_t offset, int peer) {
  auto own = static_cast<ncclWindow_t>(window);
  sim_check(own->rank / world.ranksPerBox == peer / world.ranksPerBox,
            "an address in another box");
  return world.comms[peer].windows[own->number].first + offset;
}

//===----------------------------------------------------------------------===//
// Where ranks meet
//===----------------------------------------------------------------------===//

static void meet(int &arrived, int &round, int count) {
  std::unique_lock lock(world.mutex);
  int own = round;
  if (++arrived == count) {
    arrived = 0;
    ++round;
    world.change.notify_all();
  }
  while (round == own)
    world.change.wait(lock);
}

void sim_meet() { meet(world.arrived, world.round, world.ranks); }

void sim_lsa_barrier(void *sim) {
  int box = static_cast<ncclComm *>(sim)->rank / world.ranksPerBox;
  std::pair<int, int> *state;
  {
    std::lock_guard lock(world.mutex);
    state = &world.boxes[box];
  }
  meet(state->first, state->second, world.ranksPerBox);
}

void sim_begin(int ranks, int ranksPerBox) {
  world.ranks = ranks;
  world.ranksPerBox = ranksPerBox;
  world.comms.resize(ranks);
  for (int rank = 0; rank < ranks; ++rank)
    world.comms[rank].rank = rank;
  world.network = std::thread(runNetwork);
}

void sim_end() {
  {
    std::lock_guard lock(world.mutex);
    world.isOver = true;
    world.change.notify_all();
  }
  world.network.join();
}

ncclComm_t sim_comm(int rank) { return &world.comms[rank]; }

//===----------------------------------------------------------------------===//
// NCCL's host functions
//===----------------------------------------------------------------------===//

ncclResult_t ncclCommCount(ncclComm_t, int *count) {
  *count = world.ranks;
  return ncclSuccess;
}
ncclResult_t ncclCommUserRank(ncclComm_t comm, int *rank) {
  *rank = comm->rank;
  return ncclSuccess;
}
ncclResult_t ncclMemAlloc(void **memory, size_t bytes) {
  *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return ncclSuccess;
}
ncclResult_t ncclMemFree(void *memory) {
  free(memory);
  return ncclSuccess;
}
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *memory, size_t bytes,
                                    ncclWindow_t *window, int flags) {
  sim_check(flags == NCCL_WIN_COLL_SYMMETRIC, "flags of a window");
  sim_check(bytes != 0, "a window without bytes");
  *window = new ncclWindow_vidmem{comm->rank, int(comm->windows.size())};
  comm->windows.push_back({static_cast<char *>(memory), bytes});
  sim_meet();
  for (ncclComm &other : world.comms)
    sim_check(other.windows.size() >= comm->windows.size() &&
                  other.windows[comm->windows.size() - 1].second == bytes,
              "sizes of a window differ");
  sim_meet();
  return ncclSuccess;
}
ncclResult_t ncclCommWindowDeregister(ncclComm_t, ncclWindow_t window) {
  delete window;
  return ncclSuccess;
}
ncclResult_t ncclDevCommCreate(ncclComm_t comm,
                               const ncclDevCommRequirements *needs,
                               ncclDevComm *result) {
  sim_check(needs->lsaBarrierCount == 1, "barriers asked for");
  sim_check(needs->ginSignalCount == 0 ||
                (needs->ginConnectionType == NCCL_GIN_CONNECTION_FULL &&
                 needs->ginStrongSignalsRequired),
            "connections asked for");
  int lsaSize = std::min(world.ranksPerBox, world.ranks);
  *result = {comm->rank, world.ranks, comm->rank % lsaSize,
             lsaSize,    {7, 1},      comm};
  comm->numSignals = needs->ginSignalCount;
  for (int i = 0; i < numContexts; ++i)
    comm->signals.emplace_back(comm->numSignals);
  sim_meet();
  return ncclSuccess;
}
ncclResult_t ncclDevCommDestroy(ncclComm_t, const ncclDevComm *) {
  sim_meet();
  return ncclSuccess;
}

//===----------------------------------------------------------------------===//
// CUDA's driver
//===----------------------------------------------------------------------===//

CUresult cuModuleLoadData(CUmodule *module, const void *) {
  *module = nullptr;
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction *function, CUmodule, const char *name) {
  *function = reinterpret_cast<CUfunction>(dlsym(RTLD_DEFAULT, name));
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuModuleGetGlobal(CUdeviceptr *place, size_t *bytes, CUmodule,
                           const char *name) {
  void *found = dlsym(RTLD_DEFAULT, name);
  if (!found)
    return CUDA_ERROR_NOT_FOUND;
  *place = reinterpret_cast<CUdeviceptr>(found);
  *bytes = 32 + 32 * static_cast<const uint32_t *>(found)[1];
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr *memory, size_t bytes) {
  *memory = reinterpret_cast<CUdeviceptr>(
      aligned_alloc(128, (bytes + 127) / 128 * 128));
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr memory) {
  free(reinterpret_cast<void *>(memory));
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  *memory = calloc(1, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemHostGetDevicePointer(CUdeviceptr *device, void *host, unsigned) {
  *device = reinterpret_cast<CUdeviceptr>(host);
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void *memory) {
  free(memory);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) {
  memcpy(reinterpret_cast<void *>(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) {
  memcpy(to, reinterpret_cast<void *>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8(CUdeviceptr memory, unsigned char value, size_t bytes) {
  memset(reinterpret_cast<void *>(memory), value, bytes);
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream) { return CUDA_SUCCESS; }

/// Runs the kernel, and returns when it has ended: all arguments are words.
CUresult cuLaunchCooperativeKernel(CUfunction kernel, unsigned blocks, unsigned,
                                   unsigned, unsigned threads, unsigned,
                                   unsigned, unsigned, CUstream,
                                   void **parameters) {
  using Kernel =
      void(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
           uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
  auto code = reinterpret_cast<Kernel *>(kernel);
  uint64_t a[12] = {};
  const char *name = "";
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(kernel), &info) && info.dli_sname)
    name = info.dli_sname;
  size_t count = strstr(name, "_nccl_peers")     ? 2
                 : strstr(name, "_nccl_barrier") ? 1
                                                 : 12;
  for (size_t i = 0; i < count; ++i)
    memcpy(&a[i], parameters[i], sizeof(uint64_t));
  std::vector<std::thread> running;
  for (unsigned i = 0; i < blocks; ++i)
    running.emplace_back([&, i] {
      Block(i, threads, [&] {
        code(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10],
             a[11]);
      }).run();
    });
  for (std::thread &each : running)
    each.join();
  return CUDA_SUCCESS;
}
