//===- MessageCommunicator.cpp - Ranks on any hosts, and their plans ------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageCommunicator.h"

#include "MessagePlan.h"

#include "Runtime/Fork.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace sccl;

Status MessageCommunicator::create(const scclTransport &transport,
                                   const scclConfig &config,
                                   const Status &arguments,
                                   std::unique_ptr<Membership> &result,
                                   std::optional<unsigned> original) {
  std::unique_ptr<MessageGroup> group;
  std::unique_ptr<MessageCommunicator> made;
  // All that may fail here does so before the others are told.
  Status status = attempt([&] {
    group = std::make_unique<MessageGroup>(transport, config,
                                           original.value_or(transport.rank));
    made.reset(new MessageCommunicator(std::move(group)));
    return arguments.ok() && config.device != scclDeviceCPU
               ? HostStaging::open(config, made->staging)
               : arguments;
  });
  if (!made)
    return group ? group->connect(status)
                 : MessageGroup::decline(transport, status);
  bool hasStreams = StreamGroup::isOfInterest(config.device);
  if (status = made->group->connect(status, hasStreams); !status.ok())
    return status;
  if (status = made->gatherByMessages(); !status.ok())
    return status;
  if (status = made->openStreams(config.device); !status.ok())
    return status;
  result = std::move(made);
  return {};
}

/// From now on the ranks agree by messages of their own: these have a limit of
/// time, and the ranks learn what else goes wrong meanwhile.
Status MessageCommunicator::gatherByMessages() {
  auto prepare = [&] {
    Status status = engine.prepare();
    return status.ok() && group->needsThread() ? left.start() : status;
  };
  if (Status status = group->bootstrap.agree(attempt(prepare)); !status.ok())
    return status;
  group->bootstrap =
      Bootstrap(MessageEngine::allGather, &engine, rank(), numRanks());
  group->bootstrap.explainBy(MessageEngine::explain);
  return {};
}

/// Before what uses the transport, but is no launch.
void MessageCommunicator::awaitLaunches() const {
  if (queue)
    queue->awaitAll();
  left.rest();
}

Status MessageCommunicator::openStreams(scclDeviceKind kind) {
  if (!group->haveStreams())
    return {};
  if (Status status =
          StreamGroup::open(*group, engine, kind, staging.get(), streams);
      !status.ok())
    return status;
  // Of messages that do not go in streams each has a limit.
  if (streams && streams->carrier().isInStream())
    watch = std::make_unique<StreamWatch>(*group, staging->device(),
                                          streams->near());
  return {};
}

/// Where the group is out of use, ends what is under way in streams: others may
/// never take part in it.
void MessageCommunicator::leaveStreams() {
  if (streams && group->isPoisoned())
    streams->abort();
}

void MessageCommunicator::abort() {
  group->abort();
  if (streams)
    streams->abort();
}

MessageCommunicator::~MessageCommunicator() {
  queue.reset();
  left.rest();
  leaveStreams();
  // Messages of a failed launch may still be under way. Asking the transport
  // may write them, to memory that its owner has freed.
  if (!group->isPoisoned()) {
    // Whoever has sent much leaves when it has come.
    (void)attempt([&] { return engine.settle(); });
    for (void *block : blocks)
      std::free(block);
  } else if (staging) {
    staging->abandon(streams && !streams->carrier().isInStream() &&
                     engine.leavesMessages());
  }
  plans.clear();
}

bool MessageCommunicator::isInherited() const {
  return forkCount() != group->origin;
}

Status MessageCommunicator::checkProcess() const {
  if (!isInherited())
    return {};
  return {scclErrorUnsupported,
          "the parent of this process has made the communicator; a child may "
          "only destroy it"};
}

Status MessageCommunicator::split(int color, int key, const scclConfig &config,
                                  const Status &arguments,
                                  std::unique_ptr<Membership> &result) const {
  awaitLaunches();
  scclTransport part = {};
  if (Status status = group->split(color, key, arguments, part);
      !status.ok() || color < 0)
    return status;
  return create(part, config, {}, result, group->originalRank());
}

Status MessageCommunicator::join(const std::shared_ptr<const LoadedPlan> &plan,
                                 unsigned number, const Status &before,
                                 std::unique_ptr<JoinedPlan> &result) {
  // Launches use what the plan needs more of.
  awaitLaunches();
  if (!staging)
    return MessagePlan::load(*group, engine, /*streams=*/nullptr,
                             *group->device, plan, number, before, result);
  auto reserve = [&] {
    // A plan for other ranks has no layout of this one.
    if (!before.ok() || plan->view.manifest.ranks != numRanks())
      return before;
    return staging->reserve(plan->view.manifest, rank());
  };
  // All ranks have streams, or none has.
  Status status = streams ? before : attempt(reserve);
  status = MessagePlan::load(*group, engine, streams.get(), staging->device(),
                             plan, number, status, result);
  if (!status.ok() || !streams ||
      static_cast<MessagePlan &>(*result).isStreamed())
    return status;
  status = group->bootstrap.agree(attempt(reserve));
  if (!status.ok())
    result.reset();
  return status;
}

Status MessageCommunicator::launch(JoinedPlan &plan,
                                   const LaunchRequest &request) {
  // What was pushed comes before.
  if (queue)
    queue->awaitAll();
  return launchNow(plan, request);
}

Status MessageCommunicator::launchNow(JoinedPlan &plan,
                                      const LaunchRequest &request) {
  JoinedPlan::Flight flight;
  auto &messages = static_cast<MessagePlan &>(plan);
  Status status = plan.check(request, flight);
  if (messages.isStreamed() && streams->carrier().isInStream())
    return status.ok() ? enqueue(messages, flight) : status;
  if (status.ok() && staging)
    status = attempt([&] { return staging->checkStream(request.stream); });
  if (!status.ok()) {
    failNow(status);
    return status;
  }
  if (!group->enter())
    return {scclErrorBusy, "another launch of this rank is in flight"};
  Patience::begin(group->ranksHere());
  status = attempt([&] {
    Status status = group->poison();
    // What stays in shared memory would not see it.
    if (status.ok())
      status = group->checkTransport();
    return status.ok() ? execute(messages, flight) : status;
  });
  if (!status.ok() && !group->isPoisoned())
    group->raise(status);
  leaveStreams();
  left.move();
  group->leave();
  return status;
}

/// The same in the order of the stream; nobody waits for anything.
Status MessageCommunicator::enqueue(MessagePlan &plan,
                                    const JoinedPlan::Flight &flight) {
  if (!group->enter())
    return {scclErrorBusy, "another launch of this rank is in flight"};
  Status status = attempt([&] {
    Status status = compareCalls(plan, flight);
    if (!status.ok() || flight.request.count == 0)
      return status;
    if (status = watch->begin(flight.request.stream); status.ok())
      status = plan.enqueue(flight);
    return status.ok() ? watch->end(flight.request.stream) : status;
  });
  if (!status.ok() && !group->isPoisoned())
    group->raise(status);
  leaveStreams();
  group->leave();
  return status;
}

/// Compares the call with what ranks of the host have launched, of which none
/// writes to this one before its kernels are there, and tells another host of
/// it. What others have told of theirs has been compared then, too.
Status MessageCommunicator::compareCalls(const MessagePlan &plan,
                                         const JoinedPlan::Flight &flight) {
  group->beginCall(plan.announcement(flight));
  NearRanks *near = streams->near();
  // Together with what ranks of a host compare, this joins all ranks.
  unsigned next = (rank() + 1) % numRanks();
  if (!near || !llvm::is_contained(near->ranks(), next))
    group->tellCall(next, "");
  Status status = engine.look();
  if (!near || !status.ok())
    return status;
  const CallMark &call = group->call();
  OutputPlace output =
      flight.request.count == 0 ? OutputPlace() : plan.outputOf(flight);
  near->board().post({call, output});
  for (auto [i, peer] : llvm::enumerate(near->ranks())) {
    std::optional<CallBoard::Post> other = near->board().read(i, call.number);
    if (!other)
      continue;
    group->compare(peer, other->call);
    if (!group->isPoisoned() && !(other->output == output))
      group->raise({scclErrorMismatch, peer, rank()},
                   group->nameOf(peer) + " receives " +
                       other->output.describe() + ", and " +
                       group->nameOf(rank()) + " " + output.describe());
  }
  return group->poison();
}

/// On the host, in the slices that others bring to it from their GPUs.
Status MessageCommunicator::executeSlices(MessagePlan &plan,
                                          const JoinedPlan::Flight &flight) {
  const uint64_t segment = flight.segmentBytes;
  const uint64_t most = HostStaging::bytesOfSlices(flight, plan.info());
  auto *send = static_cast<const char *>(flight.request.send);
  auto *recv = static_cast<char *>(flight.request.recv);
  Status status;
  for (uint64_t at = 0; at < segment && status.ok(); at += most) {
    JoinedPlan::Flight slice =
        HostStaging::sliceOf(flight, std::min(most, segment - at));
    slice.request.send = send ? send + at : nullptr;
    slice.request.recv = recv ? recv + at : nullptr;
    status = plan.execute(slice, segment);
  }
  return status;
}

Status MessageCommunicator::execute(MessagePlan &plan,
                                    JoinedPlan::Flight &flight) {
  if (!group->haveGPUs() || plan.isStreamed() || flight.request.count == 0)
    return plan.execute(flight, flight.segmentBytes);
  if (!staging)
    return executeSlices(plan, flight);
  auto exchange = [&](JoinedPlan::Flight &slice) {
    return plan.execute(slice, slice.segmentBytes);
  };
  auto look = [&] { return engine.look(); };
  return staging->launch(flight, plan.info(), rank(), {exchange, look});
}

/// A launch has failed on this rank, and others may be waiting in it. It is a
/// call all the same, so that a later one is not taken for it.
void MessageCommunicator::failNow(const Status &why) {
  if (!group->enter())
    return;
  if (!group->isPoisoned())
    (void)attempt([&] {
      group->beginCall({ControlPlane::refused, 0});
      group->tellAllOfCall(why.message());
      look();
      return Status();
    });
  group->leave();
}

void MessageCommunicator::countFailure(const Status &why) {
  // In streams nobody waits for it, and the rank may make it again.
  if (streams && streams->carrier().isInStream())
    return;
  if (queue)
    queue->awaitAll();
  failNow(why);
}

/// Reads what others have told; between launches.
void MessageCommunicator::look() {
  Status status = engine.look();
  if (status.ok() && streams)
    status = streams->carrier().poll();
  if (status.ok() && watch)
    status = watch->look();
  if (!status.ok() && !group->isPoisoned())
    group->raise(status);
  leaveStreams();
}

void MessageCommunicator::refresh() {
  leaveStreams();
  if (group->isPoisoned() || !group->mayUseThisThread() || !group->enter())
    return;
  (void)attempt([&] {
    look();
    return Status();
  });
  group->leave();
}

Status MessageCommunicator::launchLater(JoinedPlan &plan,
                                        const LaunchRequest &request,
                                        uint64_t &ticket) {
  if (staging)
    return {scclErrorUnsupported,
            "launches on GPUs are in the order of their streams anyway"};
  if (!queue) {
    auto made = std::make_unique<LaunchQueue>(
        [this](JoinedPlan &of, const LaunchRequest &what) {
          return launchNow(of, what);
        });
    if (group->mayUseThreads())
      if (Status status = made->start(); !status.ok())
        return status;
    queue = std::move(made);
  }
  ticket = queue->push(plan, request);
  return {};
}

Status MessageCommunicator::await(uint64_t ticket) {
  if (!queue)
    return invalid("nothing was launched by scclLaunchAsync");
  return queue->await(ticket);
}

Status MessageCommunicator::allocate(size_t bytes, void **memory) {
  constexpr size_t page = 4096;
  struct Request {
    uint64_t bytes;
    Outcome outcome;
  };
  awaitLaunches();
  void *block = nullptr;
  size_t rounded = std::max<size_t>((bytes + page - 1) / page * page, page);
  Status status = attempt([&]() -> Status {
    if (!memory)
      return invalid("memory is null");
    if (staging)
      return staging->allocate(bytes, &block);
    blocks.reserve(blocks.size() + 1);
    if (bytes <= SIZE_MAX / 2)
      block = std::aligned_alloc(page, rounded);
    if (!block)
      return {scclErrorOutOfMemory,
              "no memory for " + std::to_string(bytes) + " bytes"};
    std::memset(block, 0, rounded);
    return {};
  });
  Gathered<Request> all(numRanks());
  Status agreed = group->bootstrap.gather(Request{bytes, Outcome(status)}, all);
  for (unsigned other = 0; agreed.ok() && other < numRanks(); ++other)
    if (all[other].bytes != bytes)
      agreed = {scclErrorMismatch,
                "rank " + std::to_string(other) + " allocates " +
                    std::to_string(all[other].bytes) + " bytes, rank " +
                    std::to_string(rank()) + " " + std::to_string(bytes)};
  if (agreed.ok())
    agreed = group->bootstrap.agree(status, all);
  if (!agreed.ok()) {
    if (!staging)
      std::free(block);
    else
      staging->free(block);
    return agreed;
  }
  if (!staging)
    blocks.push_back(block);
  else if (NearRanks *near = streams ? streams->near() : nullptr)
    near->add(group->bootstrap, staging->device(), *staging->find(block));
  *memory = block;
  return {};
}

Status MessageCommunicator::free(void *memory) {
  NearRanks *near = streams ? streams->near() : nullptr;
  left.rest();
  if (near && !group->isPoisoned()) {
    uint64_t region = 0;
    if (Status status = near->remove(group->bootstrap, memory, region);
        !status.ok())
      return status;
    for (std::unique_ptr<JoinedPlan> &plan : plans)
      static_cast<MessagePlan &>(*plan).forget(region);
  }
  // Messages of a failed launch, or kernels of peers, may still write there.
  if (staging && staging->free(memory, streams && group->isPoisoned()))
    return {};
  auto found = std::find(blocks.begin(), blocks.end(), memory);
  if (found == blocks.end())
    return invalid("the memory is not from scclMemAlloc");
  blocks.erase(found);
  // A message of a failed launch may still be under way there.
  if (!group->isPoisoned())
    std::free(memory);
  return {};
}

Status MessageCommunicator::copy(void *to, const void *from, size_t bytes) {
  if (staging)
    return staging->copy(to, from, bytes);
  std::memcpy(to, from, bytes);
  return {};
}
