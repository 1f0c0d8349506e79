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
#include "Membership.h"

#include <memory>

namespace sccl {

/// A group of ranks of one machine, and the plans it has loaded.
class Communicator : public Membership {
public:
  /// Collective, also if `arguments` is an error, which all ranks get then.
  /// `board` is what `bootstrap` gathers by, if that is not the caller's.
  /// `elsewhere` is why it fails if the ranks are on several hosts.
  static Status create(const Bootstrap &bootstrap, unsigned rank,
                       const scclConfig &config, const Status &arguments,
                       std::shared_ptr<GatherBoard> board,
                       std::unique_ptr<Membership> &result,
                       Status *elsewhere = nullptr);
  ~Communicator() override;

  unsigned rank() const override { return theGroup->rank(); }
  unsigned numRanks() const override { return theGroup->numRanks(); }
  const scclConfig &config() const override { return theGroup->config; }
  const Device &device() const override { return *theGroup->device; }
  bool isInherited() const override { return theGroup->isInherited(); }
  Status checkProcess() const override { return theGroup->checkProcess(); }
  void unmap() override;
  void abort() override { theGroup->abort(); }
  Status poison() const override { return theGroup->poison(); }
  void countFailure(const Status &why) override;
  Status split(int color, int key, const scclConfig &config,
               const Status &arguments,
               std::unique_ptr<Membership> &result) const override;

  Status launch(JoinedPlan &plan, const LaunchRequest &request) override;
  Status launchLater(JoinedPlan &plan, const LaunchRequest &request,
                     uint64_t &ticket) override;
  Status await(uint64_t ticket) override;
  Status allocate(size_t bytes, void **memory) override;
  Status free(void *memory) override;
  Status copy(void *to, const void *from, size_t bytes) override;

private:
  Communicator() = default;
  static CommPlan &own(JoinedPlan &plan);
  Status join(const std::shared_ptr<const LoadedPlan> &plan, unsigned number,
              const Status &before,
              std::unique_ptr<JoinedPlan> &result) override;
  Status launchNow(CommPlan &plan, const LaunchRequest &request);
  void refuse(const Status &why);
  Status enqueue(CommPlan &plan, CommPlan::Flight &flight);

  std::shared_ptr<GatherBoard> board; ///< may be null
  std::unique_ptr<Group> theGroup;
  std::unique_ptr<LaunchQueue> queue; ///< null until it is needed
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_COMMUNICATOR_H
