//===- PlanLaunch.h - A plan's program on one GPU ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches virtual kernels without libsccl, whose threads and checks would be
// part of what is measured.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_BENCH_GPU_PLANLAUNCH_H
#define SCCL_TOOLS_SCCL_BENCH_GPU_PLANLAUNCH_H

#include "Cuda.h"

#include "sccl/ABI/KernelABI.h"
#include "sccl/Plan/Plan.h"

namespace sccl::gpubench {

/// A plan and its bytes.
struct PlanFile {
  std::string bytes;
  plan::PlanView view;
  explicit PlanFile(const std::string &path);
  PlanFile(const PlanFile &) = delete;
};

/// The bytes of a file. Fails if it cannot be read.
std::string readFile(const std::string &path);

/// One program of a plan with the memory of all its ranks.
class PlanLaunch {
public:
  /// `element` is empty for collectives that do not combine.
  PlanLaunch(Cuda &cuda, const PlanFile &plan, unsigned program,
             const std::string &element, uint64_t segmentBytes);

  void enqueue();
  /// The same kernel with all ranks absent: its blocks return at once.
  void enqueueIdle();
  /// Arguments of all ranks for a kernel that is not of the plan: the same
  /// inputs and outputs, and `bytes` bytes of scratch and of control of its
  /// own.
  RankArguments *otherArguments(uint64_t bytes);
  unsigned blockSize() const { return entry.blockSize; }
  unsigned blocks() const { return info.blocks; } ///< per channel
  /// What all ranks together read and write in a launch.
  double trafficBytes() const;
  /// The memory that this takes on the device.
  static uint64_t bytesFor(const PlanFile &plan, unsigned program,
                           uint64_t segmentBytes);

private:
  char *allocate(uint64_t bytes);
  void enqueueWith(RankArguments *records);
  void placeRankTables(const PlanFile &plan, const plan::KernelInfo &code);
  RankArguments *passTable(const std::vector<PeerEntry> &entries);

  const plan::ProgramEntry &info;
  Cuda &cuda;
  unsigned perSegment;
  uint64_t segmentBytes;
  uint64_t reduction = 0;
  Kernel entry;
  std::vector<std::unique_ptr<DeviceMemory>> memory;
  std::vector<PeerEntry> table;         ///< by rank
  std::vector<const void *> rankTables; ///< likewise; null where there are none
  RankArguments *arguments = nullptr, *nobody = nullptr;
};

} // namespace sccl::gpubench

#endif // SCCL_TOOLS_SCCL_BENCH_GPU_PLANLAUNCH_H
