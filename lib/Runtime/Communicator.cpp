//===- Communicator.cpp - A group and its plans ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Communicator.h"

#include "Runtime/Devices/Device.h"
#include "TimeLimit.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

using namespace sccl;

Status GatherBoard::create() { return own.create(sizeof(Page)); }

Status GatherBoard::open(unsigned ownRank,
                         const std::vector<SharedMemoryHandle> &handles,
                         std::vector<ProcessId> ids, double limit) {
  rank = ownRank;
  processes = std::move(ids);
  limitSeconds = limit;
  others.resize(handles.size());
  for (unsigned other = 0; other < handles.size(); ++other)
    if (other != rank)
      if (Status status = others[other].open(handles[other]); !status.ok())
        return status;
  return {};
}

GatherBoard::Page &GatherBoard::page(unsigned other) const {
  const SharedMemory &memory = other == rank ? own : others[other];
  return *reinterpret_cast<Page *>(memory.data());
}

/// True if nobody is to gather any more; `failure` says why.
bool GatherBoard::isBroken() {
  uint64_t cause =
      watched ? watched->abortWord().load(std::memory_order_relaxed) : 0;
  for (unsigned other = 0; other < others.size() && cause == 0; ++other)
    if (isMapped(other))
      cause = page(other).cause.load(std::memory_order_relaxed);
  if (cause != 0)
    failure = AbortCause::decode(cause);
  return failure.code != scclSuccess;
}

/// Returns false.
bool GatherBoard::giveUp(scclResult code, unsigned culprit) {
  failure = {code, culprit, rank};
  failure.isElsewhere = true;
  page(rank).cause.store(failure.encode(), std::memory_order_relaxed);
  if (plane)
    plane->raise(failure);
  return false;
}

/// Waits until `other` has written the present gather.
bool GatherBoard::await(unsigned other) {
  // The others learn of it from what this rank has said.
  if (!isMapped(other)) {
    failure = {scclErrorSystem, rank, rank};
    return false;
  }
  const std::atomic<uint64_t> &number = page(other).number;
  TimeLimit limit(limitSeconds);
  while (number.load(std::memory_order_acquire) < gathers) {
    if (isBroken())
      return false;
    if (!processes[other].isAlive())
      return giveUp(scclErrorRankLost, other);
    if (limit.isOver())
      return giveUp(scclErrorTimeout, other);
    Patience::askSometimes();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

bool GatherBoard::gatherSlice(const char *mine, char *all, size_t stride,
                              size_t bytes) {
  ++gathers;
  std::memcpy(page(rank).slots[gathers & 1], mine, bytes);
  page(rank).number.store(gathers, std::memory_order_release);
  for (unsigned other = 0; other < others.size(); ++other) {
    if (!await(other))
      return false;
    std::memcpy(all + other * stride, page(other).slots[gathers & 1], bytes);
  }
  return true;
}

int GatherBoard::allGather(void *board, const void *mine, void *all,
                           size_t bytes) {
  auto &self = *static_cast<GatherBoard *>(board);
  for (size_t at = 0; at < bytes; at += slotBytes)
    if (self.isBroken() ||
        !self.gatherSlice(static_cast<const char *>(mine) + at,
                          static_cast<char *>(all) + at, bytes,
                          std::min(slotBytes, bytes - at)))
      return 1;
  return 0;
}

Status GatherBoard::explain(void *board) {
  auto &self = *static_cast<GatherBoard *>(board);
  return self.failure.describe(self.limitSeconds, /*note=*/"");
}

Status Communicator::create(const Bootstrap &bootstrap, unsigned rank,
                            const scclConfig &config, const Status &arguments,
                            std::shared_ptr<GatherBoard> board,
                            std::unique_ptr<Membership> &result,
                            Status *elsewhere) {
  unsigned numRanks = bootstrap.size();
  std::unique_ptr<Communicator> made;
  // All that may fail here does so before the others are told.
  Status status = attempt([&] {
    made.reset(new Communicator);
    made->board = std::move(board);
    made->theGroup = std::make_unique<Group>(rank, numRanks, bootstrap, config);
    return arguments;
  });
  if (!made || !made->theGroup)
    return Group::decline(rank, numRanks, bootstrap, status);
  if (status = made->theGroup->connect(status); !status.ok()) {
    if (elsewhere)
      *elsewhere = made->theGroup->elsewhere();
    return status;
  }
  if (made->board)
    made->board->attach(made->theGroup->plane);
  result = std::move(made);
  return {};
}

Communicator::~Communicator() {
  queue.reset();
  // What was enqueued uses the memory of the plans, and they that of the group.
  if (theGroup)
    theGroup->drain();
  plans.clear();
}

CommPlan &Communicator::own(JoinedPlan &plan) {
  return static_cast<CommPlan &>(plan);
}

void Communicator::unmap() {
  if (theGroup->device->isSynchronous())
    for (std::unique_ptr<JoinedPlan> &plan : plans)
      own(*plan).unmap();
  theGroup->unmap();
  board.reset();
}

Status Communicator::join(const std::shared_ptr<const LoadedPlan> &plan,
                          unsigned number, const Status &before,
                          std::unique_ptr<JoinedPlan> &result) {
  return CommPlan::load(*theGroup, plan, number, before, result);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

namespace {
/// Marks this rank as being in a launch.
class InFlight {
public:
  explicit InFlight(ControlPlane &plane) : state(plane.state(plane.rank())) {
    uint64_t idle = state.load(std::memory_order_relaxed) & ~uint64_t(1);
    entered = state.compare_exchange_strong(idle, idle + 1);
  }
  ~InFlight() { leave(); }
  void leave() {
    if (entered)
      state.store(state.load(std::memory_order_relaxed) + 1);
    entered = false;
  }
  bool entered;

private:
  ControlPlane::Word &state;
};
} // namespace

Status Communicator::launch(JoinedPlan &plan, const LaunchRequest &request) {
  // What was pushed comes before.
  if (queue)
    queue->awaitAll();
  return launchNow(own(plan), request);
}

Status Communicator::launchLater(JoinedPlan &plan, const LaunchRequest &request,
                                 uint64_t &ticket) {
  if (!theGroup->device->isSynchronous())
    return {scclErrorUnsupported,
            "launches on GPUs are enqueued in their streams anyway"};
  if (!queue) {
    auto made = std::make_unique<LaunchQueue>(
        [this](JoinedPlan &of, const LaunchRequest &what) {
          return launchNow(own(of), what);
        });
    if (Status status = made->start(); !status.ok())
      return status;
    queue = std::move(made);
  }
  ticket = queue->push(plan, request);
  return {};
}

Status Communicator::await(uint64_t ticket) {
  if (!queue)
    return invalid("nothing was launched by scclLaunchAsync");
  return queue->await(ticket);
}

Status Communicator::launchNow(CommPlan &plan, const LaunchRequest &request) {
  ControlPlane &plane = theGroup->plane;
  CommPlan::Flight flight;
  if (Status status = plan.check(request, flight); !status.ok()) {
    refuse(status);
    return status;
  }
  InFlight inFlight(plane);
  if (!inFlight.entered)
    return {scclErrorBusy, "another launch of this rank is in flight"};
  Status status = theGroup->poison();
  if (!status.ok())
    return status;
  if (theGroup->isStreamOrdered()) {
    plane.takeNoteBack();
    return request.count == 0 ? status : enqueue(plan, flight);
  }
  Patience::begin(theGroup->numRanks());
  bool isNew = false;
  status = attempt([&] {
    if (!plane.announce(plan.announcement(flight), isNew))
      return theGroup->poison();
    // Ranks that repeat themselves need not be asked: of ranks whose calls
    // differ for the first time, one calls for something new.
    if (isNew && request.count != 0) {
      if (!plane.awaitSameCalls())
        return theGroup->poison();
      plane.takeNoteBack();
    }
    Status status = theGroup->device->begin(request.stream);
    return status.ok() && request.count != 0 ? plan.execute(flight) : status;
  });
  if (status.ok())
    return status;
  if (!theGroup->isPoisoned()) {
    unsigned rank = theGroup->rank();
    plane.leaveNote(status.message());
    plane.raise({status.code(), rank, rank});
  }
  // What is enqueued may still access the caller's buffers, and own memory.
  (void)attempt([&] { return theGroup->settle(request.stream); });
  if (theGroup->together)
    (void)attempt([&] { return theGroup->settle(/*stream=*/nullptr); });
  inFlight.leave();
  if (!theGroup->leaveTogether())
    plan.keepOutput(flight);
  return status;
}

/// A launch has failed on this rank, and others may be waiting in it. It is a
/// call all the same, so that a later one is not taken for it. Of streams of
/// GPUs nobody counts calls.
void Communicator::refuse(const Status &why) {
  ControlPlane &plane = theGroup->plane;
  InFlight inFlight(plane);
  if (!inFlight.entered)
    return;
  plane.leaveNote(why.message());
  if (theGroup->isStreamOrdered() || theGroup->isPoisoned())
    return;
  Patience::begin(theGroup->numRanks());
  bool isNew = false;
  (void)plane.announce({ControlPlane::refused, 0}, isNew);
}

void Communicator::countFailure(const Status &why) {
  if (queue)
    queue->awaitAll();
  refuse(why);
}

/// Returns when all is enqueued. An error is one for all ranks: what the others
/// have enqueued waits for this one.
Status Communicator::enqueue(CommPlan &plan, CommPlan::Flight &flight) {
  Device &device = *theGroup->device;
  void *stream = flight.request.stream;
  Status status = attempt([&] {
    Status status = device.begin(stream);
    if (status.ok())
      status = plan.enqueue(flight);
    return status.ok() ? device.end(stream) : status;
  });
  if (status.ok() || theGroup->isPoisoned())
    return status;
  unsigned rank = theGroup->rank();
  theGroup->plane.leaveNote(status.message());
  theGroup->plane.raise({status.code(), rank, rank});
  return status;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Status Communicator::allocate(size_t bytes, void **memory) {
  return theGroup->regions.allocate(theGroup->bootstrap, *theGroup->device,
                                    bytes, memory);
}

Status Communicator::free(void *memory) {
  uint64_t region;
  if (Status status = theGroup->regions.free(memory, region); !status.ok())
    return status;
  for (std::unique_ptr<JoinedPlan> &plan : plans)
    own(*plan).forget(region);
  return {};
}

Status Communicator::copy(void *to, const void *from, size_t bytes) {
  if (bytes == 0)
    return {};
  if (Status status = theGroup->device->begin(nullptr); !status.ok())
    return status;
  return theGroup->copyAndSettle(to, from, bytes);
}
