//===- Communicator.h - A group and its plans -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_COMMUNICATOR_H
#define SCCL_LIB_RUNTIME_COMMUNICATOR_H

#include "CommPlan.h"
#include "GatherBoard.h"
#include "LaunchQueue.h"

#include <memory>
#include <optional>

namespace sccl {

/// A collective that has a name, for a root if it has one.
struct CollectiveCall {
  const char *name;
  int root;
  static constexpr int noRoot = -1;
  bool isRooted() const { return root != noRoot; }
};

/// What a scclComm is: one rank of a group, and the plans it has loaded.
class Communicator {
public:
  /// `board` is what the group gathers by, if that is not the caller's.
  explicit Communicator(std::unique_ptr<Group> group,
                        std::shared_ptr<GatherBoard> board = nullptr)
      : board(std::move(board)), theGroup(std::move(group)) {}

  ~Communicator();

  Group &group() const { return *theGroup; }
  /// Unmaps memory that is shared, and leaves the rest to the end of this
  /// process: destructors would wait for threads, and call drivers of GPUs.
  static void abandon(std::unique_ptr<Communicator> comm);

  /// Collective; see scclCommSplit. `result` stays null without a colour. An
  /// error in `arguments` is one for all.
  Status split(int color, int key, const scclConfig &config,
               const Status &arguments,
               std::unique_ptr<Communicator> &result) const;
  /// Collective; see scclCommLoad.
  Status load(const std::shared_ptr<const LoadedPlan> &plan);
  /// The plan as it was loaded; null if it was not.
  CommPlan *find(const LoadedPlan &plan) const;
  /// The number of the plan to take for a collective, see scclQueryPlan; fails
  /// if none is loaded that can. Without `isInPlace` the buffers tell.
  Status choose(const CollectiveCall &call, const LaunchRequest &request,
                std::optional<bool> isInPlace, size_t &number) const;
  CommPlan &plan(size_t number) const { return *plans[number]; }

  /// Collective; see scclLaunch.
  Status launch(CommPlan &plan, const LaunchRequest &request);
  /// See scclLaunchAsync and scclWait.
  Status launchLater(CommPlan &plan, const LaunchRequest &request,
                     uint64_t &ticket);
  Status await(uint64_t ticket);
  /// Collective; see scclMemAlloc and scclMemFree.
  Status allocate(size_t bytes, void **memory);
  Status free(void *memory);
  /// See scclMemCopy.
  Status copy(void *to, const void *from, size_t bytes);
  uint64_t ownBytes() const;
  /// See CommPlan::checkGaps.
  Status checkGaps() const;

private:
  std::string describePlans() const;
  static bool serves(const CommPlan &plan, const CollectiveCall &call,
                     const LaunchRequest &request);
  Status launchNow(CommPlan &plan, const LaunchRequest &request);
  Status enqueue(CommPlan &plan, CommPlan::Flight &flight);

  std::shared_ptr<GatherBoard> board; ///< may be null
  std::unique_ptr<Group> theGroup;
  std::vector<std::unique_ptr<CommPlan>> plans; ///< before the group they go
  std::unique_ptr<LaunchQueue> queue; ///< null until it is needed; goes first
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_COMMUNICATOR_H
