//===- HostStaging.h - Messages of buffers on a GPU -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transports send memory of the host, and reductions of messages are code for a
// CPU. So the buffers of a GPU pass through memory of the host that its driver
// knows, slice by slice: while the messages of a slice are under way, the slice
// before it goes to the GPU, and the one behind it comes from there.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_HOSTSTAGING_H
#define SCCL_LIB_RUNTIME_MESSAGES_HOSTSTAGING_H

#include "Runtime/JoinedPlan.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdlib>
#include <memory>
#include <vector>

namespace sccl {

/// The GPU of one rank whose ranks exchange messages, and memory of the host on
/// the way between the two.
class HostStaging {
public:
  /// Fails with scclErrorUnsupported if this machine has not the device that
  /// `config` asks for.
  static Status open(const scclConfig &config,
                     std::unique_ptr<HostStaging> &result);

  /// The GPU, whose buffers and streams callers pass.
  Device &device() const { return *gpu; }

  /// Fails with scclErrorUnsupported if `stream` is captured.
  Status checkStream(void *stream) const;
  /// Makes room for launches of `plan` by rank `rank`. No launch is under way.
  Status reserve(const plan::Manifest &plan, unsigned rank);

  /// How long the slices are of which a launch of `plan` consists, each a call
  /// of its own, where some rank has a GPU. The last one may be shorter.
  static uint64_t bytesOfSlices(const JoinedPlan::Flight &flight,
                                const plan::Manifest &plan);
  /// So many bytes of each segment; the buffers are those of `flight`.
  static JoinedPlan::Flight sliceOf(const JoinedPlan::Flight &flight,
                                    uint64_t bytes);

  /// What a launch does but for copies.
  struct Steps {
    /// Executes a part of the launch, whose buffers are on the host.
    llvm::function_ref<Status(JoinedPlan::Flight &slice)> exchange;
    /// Fails if the launch is to be given up; called while the GPU is busy.
    llvm::function_ref<Status()> look;
  };
  /// Executes `flight`, a launch of `plan` by rank `rank` that has elements,
  /// after what its stream has to do before. Returns when all is done.
  Status launch(const JoinedPlan::Flight &flight, const plan::Manifest &plan,
                unsigned rank, const Steps &steps);

  /// Memory of the GPU, zeroed, until `free`.
  Status allocate(uint64_t bytes, void **memory);
  /// Null if `memory` is not from `allocate`.
  DeviceBuffer *find(const void *memory) const;
  /// False if it is not from `allocate`. Others may still write there if it
  /// `isInUse`: then it is left alone from now on.
  bool free(void *memory, bool isInUse = false);
  /// Copies between any two addresses of host and GPU.
  Status copy(void *to, const void *from, uint64_t bytes);

  /// A word of the host, 0 at first, that kernels can read: its address here
  /// and there. Lasts as long as the device.
  Status mapWord(uint64_t *&word, uint64_t *&onDevice);

  /// Messages may still be under way in memory of the host, and if `onDevice`
  /// in that of `allocate`: leaves it alone from now on.
  void abandon(bool onDevice);

private:
  HostStaging(std::unique_ptr<Device> gpu, double timeoutSeconds)
      : timeoutSeconds(timeoutSeconds), gpu(std::move(gpu)) {}

  /// A part of each segment.
  struct Slice {
    uint64_t at, bytes;
  };
  /// How the segments of a buffer lie on the GPU.
  struct Segments {
    char *memory;
    unsigned count;
    uint64_t distance; ///< bytes from one to the next
  };
  Status copySlice(const Segments &segments, const Slice &slice, char *onHost,
                   bool toHost, void *stream);
  Status awaitStream(void *stream, llvm::function_ref<Status()> look);
  void settle(void *stream);
  Status runSlices(const JoinedPlan::Flight &flight,
                   const plan::RankLayout &layout, uint64_t sliceBytes,
                   const Steps &steps);

  const double timeoutSeconds;
  struct Free {
    void operator()(char *memory) const { std::free(memory); }
  };
  using HostMemory = std::unique_ptr<char, Free>;
  /// For two slices in the last one; earlier ones were too small. The driver
  /// lets go of them with the device, so they go after it.
  std::vector<HostMemory> blocks;
  HostMemory page;    ///< of `mapWord`
  uint64_t bytes = 0; ///< of the last one
  std::unique_ptr<Device> gpu;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers; ///< of `allocate`
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_HOSTSTAGING_H
