//===- VirtualRanks.h - Ranks that share a GPU ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of different streams are not promised to run at the same time on one
// GPU, and those of ranks wait for each other. Ranks that share one are
// therefore launched as one cooperative kernel, the virtual kernel of the plan:
// each deposits its arguments, and the lowest of them launches.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_DEVICES_VIRTUALRANKS_H
#define SCCL_LIB_RUNTIME_DEVICES_VIRTUALRANKS_H

#include "Runtime/ControlPlane.h"
#include "Runtime/Programs.h"

#include <memory>

namespace sccl {

class VirtualRanks {
public:
  /// `members` are the ranks of this process that use `device`, in ascending
  /// order; this rank is one of them.
  VirtualRanks(ControlPlane &plane, Device &device,
               std::vector<unsigned> members);

  bool isLeader() const { return members.front() == plane.rank(); }
  /// Gets the memory that launches need.
  Status prepare();
  /// Loads the virtual kernels of all programs, if this is the leader. Fails on
  /// every member if the plan has none, on the leader if one is not resident.
  Status load(const LoadedPlan &plan, std::vector<LoadedProgram> &programs);

  /// Passes the arguments of this rank's next launch to the leader. All that it
  /// depends on must be done, in whatever stream that is. `signature` tells
  /// what is launched.
  void deposit(const LaunchArguments &arguments, uint64_t signature);
  /// Leader: waits for all members, and enqueues the kernel on the device's own
  /// stream. Without an error, `isAborted` tells that the communicator was
  /// aborted meanwhile, and nothing is enqueued.
  Status launch(const DeviceFunction &kernel, bool &isAborted);
  /// Leader: the kernel has ended.
  void finish() { plane.parcel(plane.rank()).finished.store(number); }
  /// Others: waits until it has; false if the communicator was aborted before.
  bool awaitEnd() const;

private:
  ControlPlane &plane;
  Device &device;
  std::vector<unsigned> members;
  uint64_t number = 0;             ///< of this rank's launches
  std::vector<RankArguments> host; ///< what the device's array gets
  std::unique_ptr<DeviceBuffer> array;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_DEVICES_VIRTUALRANKS_H
