//===- Group.h - The ranks that have joined ---------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_GROUP_H
#define SCCL_LIB_RUNTIME_GROUP_H

#include "Bootstrap.h"
#include "ControlPlane.h"
#include "Fork.h"
#include "Regions.h"
#include "Runtime/Devices/VirtualRanks.h"
#include "Watchdog.h"

#include <memory>
#include <optional>

namespace sccl {

/// One rank of a group, and what belongs to all of its plans alike: the device,
/// memory of scclMemAlloc, and how ranks tell each other what goes wrong.
class Group {
public:
  /// Of a rank that has not joined yet.
  Group(unsigned rank, unsigned numRanks, const Bootstrap &bootstrap,
        const scclConfig &config)
      : config(keptConfig(config)), bootstrap(bootstrap),
        regions(rank, numRanks), own(rank), count(numRanks) {}
  ~Group();
  /// Collective. Joins the others, also if `arguments` is an error, which all
  /// ranks get then.
  Status connect(const Status &arguments);
  /// Why `connect` has failed on all ranks, which are fine: they are on several
  /// hosts.
  const Status &elsewhere() const { return theElsewhere; }
  /// Collective: in place of `connect`, tells the others why there is no group
  /// for this rank. Returns `why`.
  static Status decline(unsigned rank, unsigned numRanks,
                        const Bootstrap &bootstrap, const Status &why);

  /// True in a child of the process that made the group. There, threads are
  /// missing, and memory is still that of the parent: all that may be called
  /// is `unmap`.
  bool isInherited() const { return forkCount() != origin; }
  /// Fails if `isInherited`.
  Status checkProcess() const;
  /// Unmaps memory that is shared.
  void unmap();

  unsigned rank() const { return own; }
  unsigned numRanks() const { return count; }

  void abort() { plane.raise({scclErrorAborted, own, own}); }
  bool isPoisoned() const {
    return plane.abortWord().load(std::memory_order_relaxed) != 0;
  }
  /// Why the group is out of use; success if it is not.
  Status poison() const;
  /// Waits for what was enqueued. Once the launch is given up, kernels end by
  /// themselves; if they do not, the device is lost.
  Status settle(void *stream);
  /// Copies in the device's own stream, and waits for that.
  Status copyAndSettle(void *to, const void *from, uint64_t bytes);
  /// After an abort: peers may still be writing to this rank's buffers. They
  /// stop soon, because nobody waits any longer. False if some do not.
  bool leaveTogether();
  /// Collective, once. Finds out whether ranks may read each other's memory
  /// that is not mapped.
  Status probeProcesses();
  bool reachesProcesses() const { return reaches.value_or(false); }

  const scclConfig config;
  const Bootstrap bootstrap;
  ControlPlane plane;
  std::unique_ptr<Device> device;
  Regions regions;
  std::vector<ProcessId> processes;
  bool isOneProcess = false;
  std::unique_ptr<VirtualRanks> together; ///< null without a shared device
  uint64_t *abortWord = nullptr;          ///< as the device sees it
  /// Lane 0 of this rank as the device sees it; null if hosts launch.
  ControlPlane::Lane *lanes = nullptr;
  /// Launches are enqueued, and nobody waits for them on the host. Ranks that
  /// share a device have to meet there.
  bool isStreamOrdered() const { return !device->isSynchronous() && !together; }
  /// Takes lanes for programs; the same on all ranks. Fails if there are too
  /// few left.
  Status takeLanes(unsigned count, unsigned &first);
  /// Waits until no launch of this rank is under way, no longer than the limit.
  void drain();

private:
  Status prepare();
  Status shareDevice(const Gathered<struct Hello> &hellos);
  Status mapPeers(const Gathered<struct Hello> &hellos);
  Status mapControl();

  unsigned own, count;
  Status theElsewhere;
  unsigned origin = forkCount(); ///< tells the process
  /// For others to read; the rank is added.
  static constexpr uint64_t probeMark = 0x5343434c00000000;
  uint64_t probe = 0;
  std::vector<uint64_t> probeAddresses;
  std::optional<bool> reaches;
  unsigned lanesTaken = 0;
  Watchdog watchdog; ///< last: it reads the rest
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_GROUP_H
