//===- Execution.cpp - Programs of a plan with delays ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execution.h"

#include "Measure/TestData.h"

#include "sccl/Measure/PlanRank.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <thread>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace sccl;

//===----------------------------------------------------------------------===//
// What instrumented code calls
//===----------------------------------------------------------------------===//

namespace {
constexpr std::memory_order relaxed = std::memory_order_relaxed;

/// What all threads know of each other. Every access is relaxed: anything else
/// would order what the program has to.
struct Progress {
  explicit Progress(unsigned threads) : idleAt(threads) {
    for (std::atomic<uint64_t> &each : idleAt)
      each.store(busy, relaxed);
  }

  /// True if no thread does anything but wait, since the last step of any.
  bool hasEnded() const {
    uint64_t now = steps.load(relaxed);
    for (const std::atomic<uint64_t> &each : idleAt)
      if (uint64_t at = each.load(relaxed); at != now && at != done)
        return false;
    return true;
  }

  static constexpr uint64_t busy = ~uint64_t(0), done = busy - 1;
  std::atomic<uint64_t> steps = 0; ///< that any thread has begun
  /// By thread, the number of steps since which it has polled in vain, many
  /// times: what those steps stored, it has seen. `done` if it waits for other
  /// threads of its rank only, or has ended.
  std::vector<std::atomic<uint64_t>> idleAt;
  std::atomic<bool> isStuck = false;
  std::atomic<uint64_t> abort = 0; ///< which functions poll
};

/// Where the threads of a rank meet, which alone orders them between launches.
class Meeting {
public:
  /// Of threads `first` to `first + count - 1`.
  Meeting(Progress &progress, unsigned first, unsigned count)
      : progress(progress), first(first), count(count) {
    pthread_barrier_init(&barrier, nullptr, count);
  }
  ~Meeting() { pthread_barrier_destroy(&barrier); }

  void wait(unsigned thread) {
    // Whoever comes last says for all that they go on, before they do.
    bool isLast = arrived.fetch_add(1, relaxed) % count == count - 1;
    if (!isLast)
      progress.idleAt[thread].store(Progress::done, relaxed);
    else
      for (unsigned each = first; each < first + count; ++each)
        progress.idleAt[each].store(Progress::busy, relaxed);
    pthread_barrier_wait(&barrier);
  }

private:
  Progress &progress;
  unsigned first, count;
  std::atomic<unsigned> arrived = 0;
  pthread_barrier_t barrier;
};
} // namespace

/// A thread of a rank. The first of them also has the rank's data.
class sccl::Worker {
public:
  Worker(Execution &execution, unsigned index, unsigned rank, unsigned channel,
         Progress &progress, Meeting &ofRank, Meeting &ofAll,
         const Collective &collective)
      : execution(execution), index(index), rank(rank), channel(channel),
        progress(progress), ofRank(ofRank), ofAll(ofAll),
        data(collective, execution.type, execution.reduction,
             execution.segmentBytes),
        random(execution.options.seed * 1000003 + index) {}

  void run();
  bool beforeStep(HostStep step, llvm::ArrayRef<uint32_t> flags);
  void yield();

  OutputComparison comparison;
  std::vector<ExecutionResult::Sync> syncOps; ///< of this launch
  std::string name() const {
    return "rank " + std::to_string(rank) +
           (execution.hasChannels ? ", channel " + std::to_string(channel)
                                  : "");
  }

private:
  using Entry = void (*)(void *, void *, void *, void *, PeerEntry *,
                         uint64_t *, uint64_t, uint64_t, const void *, uint64_t,
                         uint64_t);
  bool isFirst() const { return channel == 0; }
  void prepare(unsigned launch);
  void compare(unsigned launch);
  void launch();
  void call(const std::string &suffix);
  void copyForHost(const EngineCopy &copy) const;
  void delay();

  Execution &execution;
  unsigned index, rank, channel;
  Progress &progress;
  Meeting &ofRank, &ofAll;
  TestData data;
  std::minstd_rand random;
  uint64_t seenSteps = 0; ///< at the last yield
  unsigned yields = 0;    ///< since then
};

/// In a row of a flag, see RankTable.h: how often it is set in a launch, and
/// which time this is, from 1.
static constexpr unsigned wordsPerFlag = 4, timesWord = 2, timeWord = 3;

static thread_local Worker *self = nullptr;

extern "C" __attribute__((visibility("default"))) int
sccl_before_step(unsigned step, const uint32_t *flags, uint32_t count) {
  return self &&
         self->beforeStep(HostStep(step), {flags, count * wordsPerFlag});
}

static int yieldOfWorker() {
  if (self)
    self->yield();
  return sched_yield();
}

void Worker::delay() {
  if (random() % 3 != 0)
    return;
  unsigned most = execution.options.delayMicroseconds;
  timespec time = {0, long(random() % (most + 1)) * 1000};
  nanosleep(&time, nullptr);
}

bool Worker::beforeStep(HostStep step, llvm::ArrayRef<uint32_t> flags) {
  progress.steps.fetch_add(1, relaxed);
  progress.idleAt[index].store(Progress::busy, relaxed);
  delay();
  // Waits for no flags join the threads that a block has on GPUs.
  if (flags.empty())
    return false;
  const std::optional<SyncOp> &drop = execution.options.drop;
  ExecutionResult::Sync sync{step == HostStep::Wait, step == HostStep::Signal};
  for (; !flags.empty(); flags = flags.drop_front(wordsPerFlag))
    sync.isMadeUpFor &= flags[timeWord] < flags[timesWord];
  syncOps.push_back(sync);
  return drop && drop->thread == index && drop->index + 1 == syncOps.size();
}

void Worker::yield() {
  constexpr unsigned many = 1000;
  uint64_t steps = progress.steps.load(relaxed);
  yields = steps == seenSteps ? yields + 1 : 0;
  seenSteps = steps;
  if (yields < many)
    return;
  progress.idleAt[index].store(steps, relaxed);
  if (progress.hasEnded()) {
    progress.isStuck.store(true, relaxed);
    progress.abort.store(1, relaxed);
  }
}

//===----------------------------------------------------------------------===//
// One thread
//===----------------------------------------------------------------------===//

void Worker::run() {
  self = this;
  for (unsigned number = 0; number < execution.options.launches; ++number) {
    if (isFirst())
      prepare(number);
    ofRank.wait(index);
    delay();
    syncOps.clear();
    launch();
    ofRank.wait(index);
    if (progress.isStuck.load(relaxed))
      break;
    if (isFirst())
      compare(number);
  }
  progress.idleAt[index].store(Progress::done, relaxed);
  self = nullptr;
}

void Worker::prepare(unsigned launch) {
  Execution::RankMemory &own = execution.memory[rank];
  const plan::RankLayout &layout = execution.plan.manifest.layout[rank];
  std::memset(own.output.get(), 0xDB,
              layout.outputSegments * execution.segmentBytes);
  data.fillInput(rank, launch, own.input.get());
  // Another program may have used it since.
  if (execution.program().announcesReady)
    std::memset(own.scratch.get(), 0xDB, execution.scratchBytes(rank));
}

void Worker::compare(unsigned launch) {
  OutputComparison now =
      data.compareOutput(rank, launch, execution.memory[rank].output.get());
  comparison.elements += now.elements;
  comparison.wrong += now.wrong;
  if (now.wrong && comparison.first.empty())
    comparison.first = "launch " + std::to_string(launch) + ", rank " +
                       std::to_string(rank) + ", " + now.first;
}

void Worker::launch() {
  const plan::ProgramEntry &program = execution.program();
  if (program.steps == 0)
    return call("");
  // Hosts join before and after each step, as libsccl has them do.
  ofAll.wait(index);
  for (unsigned step = 0; step < program.steps; ++step) {
    call("_step" + std::to_string(step));
    for (const EngineCopy &copy : program.copies[step])
      if (copy.executor == rank && isFirst())
        copyForHost(copy);
    ofAll.wait(index);
  }
}

void Worker::call(const std::string &suffix) {
  Execution::RankMemory &own = execution.memory[rank];
  std::string symbol = execution.kernel.symbolOf(rank) + suffix;
  if (execution.hasChannels)
    symbol += channelSuffix + std::to_string(channel);
  auto entry =
      reinterpret_cast<Entry>(dlsym(execution.library, symbol.c_str()));
  if (!entry)
    return; // a step in which the channel does nothing
  uint64_t segment = execution.segmentBytes;
  entry(own.input.get(), own.output.get(), own.scratch.get(), own.control.get(),
        own.peers.data(), reinterpret_cast<uint64_t *>(&progress.abort),
        segment, segment, own.table.get(),
        reductionNumber(execution.type.number, unsigned(execution.reduction)),
        /*blocks=*/1);
}

void Worker::copyForHost(const EngineCopy &copy) const {
  unsigned perSegment =
      execution.plan.manifest.schedules[execution.program().schedule]
          .chunksPerSegment;
  uint64_t segment = execution.segmentBytes;
  uint64_t stride = chunkStride(segment, perSegment);
  uint64_t start = std::min(copy.position * stride, segment);
  uint64_t bytes = std::min(copy.count * stride, segment - start);
  auto place = [&](unsigned owner, unsigned buffer, unsigned slot) {
    const PeerEntry &entry = execution.memory[rank].peers[owner];
    void *begin = BufferField(buffer) == BufferField::Input    ? entry.input
                  : BufferField(buffer) == BufferField::Output ? entry.output
                                                               : entry.scratch;
    return static_cast<char *>(begin) +
           slotOffset(BufferField(buffer), slot, perSegment, segment, segment);
  };
  std::memcpy(place(copy.dstRank, copy.dstBuffer, copy.dstSlot),
              place(copy.srcRank, copy.srcBuffer, copy.srcSlot), bytes);
}

//===----------------------------------------------------------------------===//
// All ranks
//===----------------------------------------------------------------------===//

void Execution::FreeMemory::operator()(char *memory) const {
  std::free(memory);
}

static Execution::Memory makeMemory(uint64_t bytes) {
  constexpr uint64_t page = 4096;
  uint64_t whole = (bytes + page) / page * page;
  auto *memory = static_cast<char *>(std::aligned_alloc(page, whole));
  if (!memory)
    std::abort();
  std::memset(memory, 0, whole);
  return Execution::Memory(memory);
}

Execution::~Execution() {
  if (library)
    dlclose(library);
}

const plan::ProgramEntry &Execution::program() const {
  return plan.manifest.programs[kernel.program];
}

std::optional<Error> Execution::load() {
  const std::string &image = plan.blobs[kernel.blob];
  if (image.find(hostStepFunction) == std::string::npos)
    return Error{"the plan is not compiled with --instrument"};
  int fd = memfd_create("sccl-code", MFD_CLOEXEC);
  if (fd < 0 || write(fd, image.data(), image.size()) != ssize_t(image.size()))
    return Error{std::string("cannot write code to memory: ") +
                 std::strerror(errno)};
  // The descriptor stays open, so that no other code gets its path.
  std::string path = "/proc/self/fd/" + std::to_string(fd);
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Error{std::string("cannot load code: ") + dlerror()};
  hasChannels = image.find(channelSuffix) != std::string::npos;
  if (void *hook = dlsym(library, hostYieldVariable))
    *static_cast<int (**)()>(hook) = yieldOfWorker;
  return std::nullopt;
}

void Execution::allocate() {
  const plan::Manifest &manifest = plan.manifest;
  memory.resize(manifest.ranks);
  for (unsigned rank = 0; rank < manifest.ranks; ++rank) {
    const RankNeeds &needs = program().ranks[rank];
    const plan::RankLayout &layout = manifest.layout[rank];
    RankMemory &own = memory[rank];
    own.input = makeMemory(layout.inputSegments * segmentBytes);
    own.output = makeMemory(layout.outputSegments * segmentBytes);
    own.scratch = makeMemory(scratchBytes(rank));
    own.control = makeMemory(needs.controlBytes);
    if (!kernel.rankTables)
      continue;
    const std::string &table = plan.rankTables[*kernel.rankTables][rank];
    own.table = makeMemory(table.size());
    std::memcpy(own.table.get(), table.data(), table.size());
  }
  for (RankMemory &own : memory)
    for (RankMemory &peer : memory)
      own.peers.push_back({peer.input.get(), peer.output.get(),
                           peer.scratch.get(), peer.control.get()});
}

uint64_t Execution::scratchBytes(unsigned rank) const {
  unsigned perSegment =
      plan.manifest.schedules[program().schedule].chunksPerSegment;
  return program().ranks[rank].scratchSlots *
         chunkStride(segmentBytes, perSegment);
}

Result<std::unique_ptr<Execution>>
Execution::create(const plan::Plan &plan, unsigned kernel,
                  const ExecutionOptions &options) {
  std::unique_ptr<Execution> execution(
      new Execution(plan, plan.manifest.kernels[kernel], options));
  const plan::KernelInfo &info = execution->kernel;
  if (!info.element.empty()) {
    Result<ElementType> type = findElementType(info.element);
    Result<Reduction> reduction = findReduction(info.reduction);
    if (!type || !reduction)
      return Error{type ? reduction.error() : type.error()};
    execution->type = *type;
    execution->reduction = *reduction;
  }
  execution->segmentBytes = options.count * execution->type.bytes;
  if (std::optional<Error> error = execution->load())
    return *error;
  execution->allocate();
  return execution;
}

Result<ExecutionResult> Execution::run() {
  Result<Collective> collective = collectiveOf(plan.manifest);
  if (!collective)
    return Error{collective.error()};
  std::vector<std::pair<unsigned, unsigned>> places; // ranks and channels
  for (unsigned rank = 0; rank < plan.manifest.ranks; ++rank)
    for (unsigned channel = 0; channel < channelsOf(rank); ++channel)
      places.emplace_back(rank, channel);
  Progress progress(places.size());
  Meeting all(progress, 0, places.size());
  std::vector<std::unique_ptr<Meeting>> meetings;
  std::vector<std::unique_ptr<Worker>> workers;
  for (auto [rank, channel] : places) {
    if (channel == 0)
      meetings.push_back(std::make_unique<Meeting>(progress, workers.size(),
                                                   channelsOf(rank)));
    workers.push_back(
        std::make_unique<Worker>(*this, workers.size(), rank, channel, progress,
                                 *meetings.back(), all, *collective));
  }
  std::vector<std::thread> threads;
  for (std::unique_ptr<Worker> &worker : workers)
    threads.emplace_back([&worker] { worker->run(); });
  for (std::thread &thread : threads)
    thread.join();
  ExecutionResult result;
  result.isStuck = progress.isStuck;
  for (std::unique_ptr<Worker> &worker : workers) {
    result.elements += worker->comparison.elements;
    result.wrong += worker->comparison.wrong;
    if (result.firstWrong.empty())
      result.firstWrong = worker->comparison.first;
    result.threads.push_back({worker->name(), worker->syncOps});
  }
  return result;
}

/// How many threads the rank has.
unsigned Execution::channelsOf(unsigned rank) const {
  return hasChannels ? program().ranks[rank].channels : 1;
}
