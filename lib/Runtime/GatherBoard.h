//===- GatherBoard.h - An all-gather in shared memory -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_GATHERBOARD_H
#define SCCL_LIB_RUNTIME_GATHERBOARD_H

#include "ControlPlane.h"

#include <atomic>
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

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_GATHERBOARD_H
