//===- MessageCommunicator.cpp - Ranks on any hosts, and their plans ------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageCommunicator.h"

#include "MessagePlan.h"
#include "Runtime/Fork.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace sccl;

MessageCommunicator::~MessageCommunicator() {
  queue.reset();
  // Whoever has sent much leaves when it has come.
  (void)engine.settle();
  // Messages of a failed launch may still be under way.
  if (group->poison().ok())
    for (void *block : blocks)
      std::free(block);
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
  if (queue)
    queue->awaitAll();
  std::unique_ptr<MessageGroup> part;
  if (Status status = group->split(color, key, config, arguments, part);
      !status.ok())
    return status;
  if (part)
    result = std::make_unique<MessageCommunicator>(std::move(part));
  return {};
}

Status MessageCommunicator::join(const std::shared_ptr<const LoadedPlan> &plan,
                                 unsigned number,
                                 std::unique_ptr<JoinedPlan> &result) {
  // Launches use what the plan needs more of.
  if (queue)
    queue->awaitAll();
  return MessagePlan::load(*group, engine, plan, number, result);
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
  if (Status status = plan.check(request, flight); !status.ok()) {
    // Nothing has happened here, but others may be waiting.
    if (group->enter()) {
      group->leaveNote(status.message());
      group->leave();
    }
    return status;
  }
  if (request.count == 0)
    return group->poison();
  if (!group->enter())
    return {scclErrorBusy, "another launch of this rank is in flight"};
  Patience::begin(group->ranksHere());
  Status status = group->poison();
  if (status.ok())
    status = static_cast<MessagePlan &>(plan).execute(flight);
  if (!status.ok() && group->poison().ok())
    group->raise(status);
  group->leave();
  return status;
}

Status MessageCommunicator::launchLater(JoinedPlan &plan,
                                        const LaunchRequest &request,
                                        uint64_t &ticket) {
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
  Status status;
  if (bytes > SIZE_MAX / 2)
    status = {scclErrorOutOfMemory, "out of memory"};
  void *block = nullptr;
  size_t rounded = std::max<size_t>((bytes + page - 1) / page * page, page);
  if (status.ok())
    block = std::aligned_alloc(page, rounded);
  if (!block)
    status = {scclErrorOutOfMemory,
              "no memory for " + std::to_string(bytes) + " bytes"};
  else
    std::memset(block, 0, rounded);
  if (status = group->bootstrap.agree(status); !status.ok()) {
    std::free(block);
    return status;
  }
  blocks.push_back(block);
  *memory = block;
  return {};
}

Status MessageCommunicator::free(void *memory) {
  auto found = std::find(blocks.begin(), blocks.end(), memory);
  if (found == blocks.end())
    return invalid("the memory is not from scclMemAlloc");
  blocks.erase(found);
  // A message of a failed launch may still be under way there.
  if (group->poison().ok())
    std::free(memory);
  return {};
}

Status MessageCommunicator::copy(void *to, const void *from, size_t bytes) {
  std::memcpy(to, from, bytes);
  return {};
}
