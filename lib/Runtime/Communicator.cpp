//===- Communicator.cpp - A group and its plans ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Communicator.h"

#include <algorithm>

using namespace sccl;

Communicator::~Communicator() {
  // What was enqueued uses the memory of the plans.
  if (theGroup)
    theGroup->drain();
}

void Communicator::abandon(std::unique_ptr<Communicator> comm) {
  if (comm->group().device->isSynchronous())
    for (std::unique_ptr<CommPlan> &plan : comm->plans)
      plan->unmap();
  comm->group().unmap();
  comm->board.reset();
  (void)comm.release();
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

Status Communicator::load(const std::shared_ptr<const LoadedPlan> &plan) {
  constexpr size_t mostPlans = 1 << 12;
  if (CommPlan *known = find(*plan))
    return known->loadAgain();
  if (plans.size() == mostPlans)
    return {scclErrorUnsupported,
            "the communicator has " + std::to_string(mostPlans) + " plans"};
  std::unique_ptr<CommPlan> loaded;
  if (Status status = CommPlan::load(group(), plan, plans.size(), loaded);
      !status.ok())
    return status;
  plans.push_back(std::move(loaded));
  return {};
}

CommPlan *Communicator::find(const LoadedPlan &plan) const {
  for (const std::unique_ptr<CommPlan> &known : plans)
    if (&known->source() == &plan ||
        known->source().view.hash == plan.view.hash)
      return known.get();
  return nullptr;
}

/// "all_gather (ring4), broadcast from 2 (dgx1: f32 sum)": what is loaded.
std::string Communicator::describePlans() const {
  std::string text;
  for (const std::unique_ptr<CommPlan> &plan : plans) {
    const plan::Manifest &info = plan->info();
    text += text.empty() ? "" : ", ";
    text += info.collective;
    if (info.root != 0)
      text += " with root " + std::to_string(info.root);
    text += " (" + info.topology;
    if (info.combining)
      text += ": " + listReductions(info);
    text += ")";
  }
  return text.empty() ? "nothing" : text;
}

bool Communicator::serves(const CommPlan &plan, const CollectiveCall &call,
                          const LaunchRequest &request) {
  const plan::Manifest &info = plan.info();
  return info.collective == call.name && !info.conditions &&
         (!call.isRooted() || int(info.root) == call.root) &&
         plan.reduces(request.type, request.op);
}

Status Communicator::choose(const CollectiveCall &call,
                            const LaunchRequest &request,
                            std::optional<bool> isInPlace,
                            size_t &number) const {
  const char *typeName = dataTypeName(request.type);
  const char *opName = reductionName(request.op);
  if (!typeName || !opName)
    return invalid(typeName ? "op is " + std::to_string(int(request.op))
                            : "type is " + std::to_string(int(request.type)));
  const CommPlan *best = nullptr;
  std::optional<Expectation> expected; // of the best one, when there are two
  for (size_t i = plans.size(); i-- > 0;) {
    const CommPlan &plan = *plans[i];
    if (!serves(plan, call, request))
      continue;
    if (best) {
      // With a root, ranks cannot know who else works in place.
      bool place = !call.isRooted() &&
                   (isInPlace ? *isInPlace : plan.isInPlace(request));
      if (!expected)
        expected = best->expect(request, place);
      Expectation other = plan.expect(request, place);
      if (!other.goesBefore(*expected))
        continue;
      expected = other;
    }
    best = &plan;
    number = i;
  }
  if (best)
    return {};
  return {
      scclErrorUnsupported,
      std::string("no plan is loaded for ") + call.name +
          (call.isRooted() ? " with root " + std::to_string(call.root) : "") +
          " of " + typeName + " " + opName + "; loaded: " + describePlans()};
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

Status Communicator::launch(CommPlan &plan, const LaunchRequest &request) {
  // What was pushed comes before.
  if (queue)
    queue->awaitAll();
  return launchNow(plan, request);
}

Status Communicator::launchLater(CommPlan &plan, const LaunchRequest &request,
                                 uint64_t &ticket) {
  if (!theGroup->device->isSynchronous())
    return {scclErrorUnsupported,
            "launches on GPUs are enqueued in their streams anyway"};
  if (!queue) {
    auto made = std::make_unique<LaunchQueue>(
        [this](CommPlan &of, const LaunchRequest &what) {
          return launchNow(of, what);
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
    // Nothing has happened here, but others may be waiting.
    plane.leaveNote(status.message());
    return status;
  }
  if (request.count == 0)
    return theGroup->poison();
  InFlight inFlight(plane);
  if (!inFlight.entered)
    return {scclErrorBusy, "another launch of this rank is in flight"};
  Status status = theGroup->poison();
  if (!status.ok())
    return status;
  plane.takeNoteBack();
  if (theGroup->isStreamOrdered())
    return enqueue(plan, flight);
  Patience::begin(theGroup->numRanks());
  status = theGroup->device->begin(request.stream);
  if (status.ok())
    status = plan.execute(flight);
  if (status.ok())
    return status;
  if (theGroup->poison().ok()) {
    unsigned rank = theGroup->rank();
    plane.leaveNote(status.message());
    plane.raise({status.code(), rank, rank});
  }
  // What is enqueued may still access the caller's buffers, and own memory.
  (void)theGroup->settle(request.stream);
  if (theGroup->together)
    (void)theGroup->settle(/*stream=*/nullptr);
  inFlight.leave();
  theGroup->leaveTogether();
  return status;
}

/// Returns when all is enqueued. An error is one for all ranks: what the others
/// have enqueued waits for this one.
Status Communicator::enqueue(CommPlan &plan, CommPlan::Flight &flight) {
  Device &device = *theGroup->device;
  void *stream = flight.request.stream;
  Status status = device.begin(stream);
  if (status.ok())
    status = plan.enqueue(flight);
  if (status.ok())
    status = device.end(stream);
  if (status.ok() || !theGroup->poison().ok())
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
  for (std::unique_ptr<CommPlan> &plan : plans)
    plan->forget(region);
  return {};
}

Status Communicator::copy(void *to, const void *from, size_t bytes) {
  if (bytes == 0)
    return {};
  if (Status status = theGroup->device->begin(nullptr); !status.ok())
    return status;
  return theGroup->copyAndSettle(to, from, bytes);
}

uint64_t Communicator::ownBytes() const {
  uint64_t bytes = 0;
  for (const std::unique_ptr<CommPlan> &plan : plans)
    bytes += plan->ownBytes();
  return bytes;
}

Status Communicator::checkGaps() const {
  for (const std::unique_ptr<CommPlan> &plan : plans)
    if (Status status = plan->checkGaps(); !status.ok())
      return status;
  return {};
}
