//===- Communicator.h - A group and its plans -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_COMMUNICATOR_H
#define SCCL_LIB_RUNTIME_COMMUNICATOR_H

#include "CommPlan.h"
#include "ControlPlane.h"
#include "LaunchQueue.h"
#include "Membership.h"

#include <atomic>
#include <memory>
#include <vector>

namespace sccl {

/// An all-gather among ranks of one machine, by which a group that was split
/// off does without the caller's. Once a gather has failed on a rank, all later
/// ones fail on all of them, for the same reason.
class GatherBoard {
public:
  /// Makes the own part, before anybody knows the ranks.
  Status create();
  SharedMemoryHandle handle() const { return own.handle(); }
  /// Maps the parts of the others, by rank. A gather that takes longer than the
  /// limit, or waits for a process that has ended, fails.
  Status open(unsigned rank, const std::vector<SharedMemoryHandle> &handles,
              std::vector<ProcessId> processes, double limitSeconds);
  /// All have opened it.
  void seal() { own.seal(); }
  /// From now on, gathers fail when a communicator is aborted.
  void watch(const ControlPlane &controlPlane) { watched = &controlPlane; }
  /// The same, and one that fails aborts it.
  void attach(const ControlPlane &controlPlane) {
    plane = watched = &controlPlane;
  }

  /// A scclAllGatherFn; the context is the board.
  static int allGather(void *board, const void *mine, void *all, size_t bytes);
  /// How the last one has failed.
  static Status explain(void *board);

private:
  /// Twice, for gathers in turn: nobody is two ahead of anybody.
  static constexpr size_t slotBytes = 4096;
  struct Page {
    std::atomic<uint64_t> number; ///< of the last gather that is written
    std::atomic<uint64_t> cause;  ///< see AbortCause; why there are no more
    char slots[2][slotBytes];
  };
  Page &page(unsigned rank) const;
  bool isMapped(unsigned other) const {
    return other == rank || others[other].size() != 0;
  }
  bool isBroken();
  bool giveUp(scclResult code, unsigned culprit);
  bool await(unsigned other);
  bool gatherSlice(const char *mine, char *all, size_t stride, size_t bytes);

  SharedMemory own;
  unsigned rank = 0;
  uint64_t gathers = 0;
  double limitSeconds = 0;
  AbortCause failure;
  const ControlPlane *plane = nullptr, *watched = nullptr;
  std::vector<SharedMemory> others; ///< by rank; nothing for the own one
  std::vector<ProcessId> processes;
};

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
