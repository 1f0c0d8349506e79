//===- Membership.h - What a communicator is --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MEMBERSHIP_H
#define SCCL_LIB_RUNTIME_MEMBERSHIP_H

#include "JoinedPlan.h"

#include <memory>
#include <optional>

namespace sccl {

/// A collective that has a name, for a root if it has one.
struct CollectiveCall {
  const char *name;
  std::optional<int> root;
};

/// What a scclComm is: one rank of a group, and the plans it has loaded. Ranks
/// of one machine share memory (Communicator), those of several exchange
/// messages (Messages/MessageCommunicator).
class Membership {
public:
  virtual ~Membership();

  virtual unsigned rank() const = 0;
  virtual unsigned numRanks() const = 0;
  virtual const scclConfig &config() const = 0;
  virtual const Device &device() const = 0;
  /// True in a child of the process that made it.
  virtual bool isInherited() const = 0;
  /// Fails if `isInherited`.
  virtual Status checkProcess() const = 0;
  /// Where `isInherited`: gives back what the child shares with its parent, and
  /// leaves the rest alone.
  virtual void unmap() = 0;

  virtual void abort() = 0;
  /// Why it is out of use, as far as it is known; success if it is not.
  virtual Status poison() const = 0;
  /// Learns what other ranks have told, where that does not come by itself.
  virtual void refresh() {}
  /// A launch of this rank has failed before it was known of which plan.
  virtual void countFailure(const Status &) {}
  /// Collective; see scclCommSplit. `result` stays null without a colour. An
  /// error in `arguments` is one for all.
  virtual Status split(int color, int key, const scclConfig &config,
                       const Status &arguments,
                       std::unique_ptr<Membership> &result) const = 0;

  /// Collective; see scclCommLoad. A null `plan` is an error for all ranks.
  Status load(const std::shared_ptr<const LoadedPlan> &plan);
  /// The plan as it was loaded; null if it was not.
  JoinedPlan *find(const LoadedPlan &plan) const;
  /// The number of the plan to take for a collective, see scclQueryPlan; fails
  /// if none is loaded that can, or the root is no rank. Without `isInPlace`
  /// the buffers tell.
  Status choose(const CollectiveCall &call, const LaunchRequest &request,
                std::optional<bool> isInPlace, size_t &number) const;
  JoinedPlan &plan(size_t number) const { return *plans[number]; }
  uint64_t ownBytes() const;
  /// See JoinedPlan::checkGaps.
  Status checkGaps() const;
  /// See scclCommTrace.
  Status recordTrace(bool on);
  Status readTrace(const scclTraceEvent *&events, size_t &count);

  /// Collective; see scclLaunch. `plan` is one of those that are loaded.
  virtual Status launch(JoinedPlan &plan, const LaunchRequest &request) = 0;
  /// See scclLaunchAsync and scclWait.
  virtual Status launchLater(JoinedPlan &plan, const LaunchRequest &request,
                             uint64_t &ticket) = 0;
  virtual Status await(uint64_t ticket) = 0;
  /// Collective; see scclMemAlloc and scclMemFree.
  virtual Status allocate(size_t bytes, void **memory) = 0;
  virtual Status free(void *memory) = 0;
  /// See scclMemCopy.
  virtual Status copy(void *to, const void *from, size_t bytes) = 0;

protected:
  /// Collective, also if `before` is an error, which all ranks get then. Only
  /// with such an error `plan` may be null. `number` tells the plans of a
  /// communicator apart.
  virtual Status join(const std::shared_ptr<const LoadedPlan> &plan,
                      unsigned number, const Status &before,
                      std::unique_ptr<JoinedPlan> &result) = 0;

  std::vector<std::unique_ptr<JoinedPlan>> plans;

private:
  std::string describePlans() const;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MEMBERSHIP_H
