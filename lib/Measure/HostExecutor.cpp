//===- HostExecutor.cpp - Run a program on this machine's CPU -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Measure/HostExecutor.h"

#include "HostBuffers.h"

#include "TestData.h"

#include "sccl/ABI/KernelABI.h"
#include "sccl/Model/AvailableMemory.h"

#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

using namespace sccl;

namespace {
using Clock = std::chrono::steady_clock;

/// All memory of one run. What a launch touches lies between guard zones.
class RunMemory {
public:
  RunMemory(const HostPlan &plan, const RunOptions &options)
      : collective(plan.collective()) {
    const ProgramInfo &info = plan.info();
    for (unsigned rank = 0; rank < collective.numRanks(); ++rank) {
      addUserBuffers(rank, options);
      scratch.emplace_back(info.scratchBytes(rank, options.segmentBytes));
      controls.emplace_back(info.controlBytes[rank]);
      peers.push_back({sends[rank].address, receives[rank].address,
                       scratch[rank].data(), controls[rank].data()});
    }
  }

  /// The bytes that a run of `plan` allocates.
  static uint64_t bytesNeeded(const HostPlan &plan, const RunOptions &options) {
    const Collective &collective = plan.collective();
    uint64_t perSegment = collective.chunksPerSegment();
    uint64_t slots = 0, scratchBytes = 0;
    for (unsigned rank = 0; rank < collective.numRanks(); ++rank) {
      slots += collective.inputSlots(rank) + collective.outputSlots(rank);
      scratchBytes += plan.info().scratchBytes(rank, options.segmentBytes);
    }
    return slots / perSegment * options.segmentBytes + scratchBytes;
  }

  /// The name of a buffer whose guard zones were written, or an empty string.
  std::string overrun() const {
    auto find = [](const std::vector<GuardedBuffer> &buffers,
                   const char *name) -> std::string {
      for (size_t rank = 0; rank < buffers.size(); ++rank)
        if (!buffers[rank].guardsIntact())
          return std::string(name) + " of rank " + std::to_string(rank);
      return "";
    };
    for (auto [buffers, name] :
         {std::pair{&inputs, "input"}, std::pair{&outputs, "output"},
          std::pair{&scratch, "scratch"}, std::pair{&controls, "control"}})
      if (std::string found = find(*buffers, name); !found.empty())
        return found;
    return "";
  }

  /// A send or receive buffer, which may be a part of a guarded one.
  struct UserBuffer {
    unsigned char *address;
    uint64_t bytes;
  };

  const Collective &collective;
  std::vector<UserBuffer> sends, receives; ///< by rank
  std::vector<GuardedBuffer> scratch, controls;
  std::vector<PeerEntry> peers;
  alignas(64) std::atomic<uint64_t> abort = 0;

private:
  /// Adds the send and the receive buffer of `rank`: two, or in place one for
  /// both.
  void addUserBuffers(unsigned rank, const RunOptions &options) {
    uint64_t perSegment = collective.chunksPerSegment();
    auto bytesOf = [&](int64_t slots) {
      return slots / int64_t(perSegment) * int64_t(options.segmentBytes);
    };
    uint64_t send = bytesOf(collective.inputSlots(rank));
    uint64_t receive = bytesOf(collective.outputSlots(rank));
    if (!options.inPlace) {
      inputs.emplace_back(send);
      outputs.emplace_back(receive);
      sends.push_back({inputs.back().data(), send});
      receives.push_back({outputs.back().data(), receive});
      return;
    }
    int64_t offset = bytesOf(collective.inPlaceOffset(rank));
    outputs.emplace_back(std::max(send, receive));
    unsigned char *base = outputs.back().data();
    sends.push_back({base + std::max<int64_t>(offset, 0), send});
    receives.push_back({base + std::max<int64_t>(-offset, 0), receive});
  }

  std::vector<GuardedBuffer> inputs, outputs;
};

/// Fills a receive buffer with what no launch leaves there by chance.
void poison(const RunMemory::UserBuffer &buffer) {
  std::memset(buffer.address, 0xDB, buffer.bytes);
}

/// Runs the launches of all ranks and gathers what they report.
class HostRun {
public:
  HostRun(const HostPlan &plan, const RunOptions &options)
      : plan(plan), options(options), memory(plan, options),
        data(plan.collective(), options.element, options.reduction,
             options.segmentBytes),
        finished(plan.collective().numRanks()),
        start(plan.collective().numRanks()),
        stepDone(plan.collective().numRanks()) {}

  RunReport run() {
    std::vector<std::thread> threads;
    for (unsigned rank = 0; rank < finished.size(); ++rank)
      threads.emplace_back([this, rank] { runRank(rank); });
    awaitRanks();
    for (std::thread &thread : threads)
      thread.join();
    if (report.failure.empty())
      if (std::string buffer = memory.overrun(); !buffer.empty())
        report.failure = "wrote beyond the " + buffer;
    return std::move(report);
  }

private:
  /// Launches timed after the verified ones.
  unsigned timedLaunches() const { return std::min(options.iterations, 5u); }

  void runRank(unsigned rank) {
    for (unsigned launch = 0; launch < options.iterations; ++launch) {
      poison(memory.receives[rank]);
      data.fillInput(rank, launch, memory.sends[rank].address);
      execute(rank);
      if (memory.abort.load())
        break;
      verify(rank, launch);
      ++finished[rank];
    }
    for (unsigned launch = 0; launch < timedLaunches(); ++launch)
      timeLaunch(rank);
    std::lock_guard lock(mutex);
    ++ranksDone;
    allDone.notify_one();
  }

  void execute(unsigned rank) {
    unsigned steps = plan.info().steps;
    if (steps == 0)
      return callFunction(rank, 0);
    // Nobody starts a step, nor the next launch, before all are done with the
    // last one.
    stepDone.arrive_and_wait();
    for (unsigned step = 0; step < steps; ++step) {
      callFunction(rank, step);
      for (const EngineCopy &copy : plan.info().copies[step])
        if (copy.executor == rank)
          copyChunks(copy);
      stepDone.arrive_and_wait();
    }
  }

  void callFunction(unsigned rank, unsigned step) {
    plan.function(rank, step)(
        memory.sends[rank].address, memory.receives[rank].address,
        memory.scratch[rank].data(), memory.controls[rank].data(),
        memory.peers.data(), reinterpret_cast<uint64_t *>(&memory.abort),
        options.segmentBytes, options.segmentBytes, plan.table(rank));
  }

  /// What a copy engine would do.
  void copyChunks(const EngineCopy &copy) {
    unsigned perSegment = plan.info().chunksPerSegment;
    uint64_t stride = chunkStride(options.segmentBytes, perSegment);
    uint64_t start = std::min(copy.position * stride, options.segmentBytes);
    uint64_t bytes =
        std::min(copy.count * stride, options.segmentBytes - start);
    auto address = [&](unsigned rank, unsigned buffer, unsigned slot) {
      const PeerEntry &entry = memory.peers[rank];
      void *bases[] = {entry.input, entry.output, entry.scratch};
      uint64_t at = slotOffset(BufferField(buffer), slot, perSegment,
                               options.segmentBytes, options.segmentBytes);
      return static_cast<char *>(bases[buffer]) + at;
    };
    if (bytes != 0)
      std::memcpy(address(copy.dstRank, copy.dstBuffer, copy.dstSlot),
                  address(copy.srcRank, copy.srcBuffer, copy.srcSlot), bytes);
  }

  void verify(unsigned rank, unsigned launch) {
    OutputComparison result =
        data.compareOutput(rank, launch, memory.receives[rank].address);
    std::lock_guard lock(mutex);
    report.elements += result.elements;
    report.wrong += result.wrong;
    if (result.wrong != 0 && report.firstWrong.empty())
      report.firstWrong = "launch " + std::to_string(launch) + ", rank " +
                          std::to_string(rank) + ", " + result.first;
  }

  /// One launch that all ranks start together; takes the time from the common
  /// start to the last end.
  void timeLaunch(unsigned rank) {
    start.arrive_and_wait();
    Clock::time_point begin = Clock::now();
    execute(rank);
    start.arrive_and_wait();
    if (rank != 0 || memory.abort.load())
      return;
    double seconds =
        std::chrono::duration<double>(Clock::now() - begin).count();
    std::lock_guard lock(mutex);
    if (report.bestSeconds == 0 || seconds < report.bestSeconds)
      report.bestSeconds = seconds;
  }

  /// Waits for all ranks, and gives the launches up when time is over.
  void awaitRanks() {
    std::unique_lock lock(mutex);
    auto done = [&] { return ranksDone == finished.size(); };
    if (allDone.wait_for(
            lock, std::chrono::duration<double>(options.timeoutSeconds), done))
      return;
    report.failure = "timed out after " + formatSeconds() + " s";
    for (size_t rank = 0; rank < finished.size(); ++rank)
      if (finished[rank] < options.iterations) {
        report.failure += "; rank " + std::to_string(rank) + " had finished " +
                          std::to_string(finished[rank]) + " of " +
                          std::to_string(options.iterations) + " launches";
        break;
      }
    memory.abort.store(1);
    allDone.wait(lock, done);
  }

  std::string formatSeconds() const {
    std::string text = std::to_string(options.timeoutSeconds);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.')
      text.pop_back();
    return text;
  }

  const HostPlan &plan;
  const RunOptions &options;
  RunMemory memory;
  TestData data;
  std::vector<std::atomic<unsigned>> finished;
  std::barrier<> start;
  std::barrier<> stepDone;
  std::mutex mutex;
  std::condition_variable allDone;
  size_t ranksDone = 0;
  RunReport report;
};
} // namespace

Result<RunReport> sccl::runOnHost(const HostPlan &plan,
                                  const RunOptions &options) {
  if (options.inPlace && !plan.allowsInPlace())
    return Error{
        "this schedule does not work in place; coll-check-program with "
        "in-place tells why"};
  uint64_t needed = RunMemory::bytesNeeded(plan, options);
  uint64_t available = availableMemory();
  if (needed > available)
    return Error{"the buffers need " + std::to_string(needed >> 20) +
                 " MiB, but only " + std::to_string(available >> 20) +
                 " MiB of memory are free"};
  return HostRun(plan, options).run();
}
