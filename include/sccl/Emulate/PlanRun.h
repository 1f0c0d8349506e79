//===- PlanRun.h - Programs of plans, executed ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lays out the buffers of a program's ranks as libsccl does, a virtual GPU for
// each rank, and launches its kernels on them.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_EMULATE_PLANRUN_H
#define SCCL_EMULATE_PLANRUN_H

#include "sccl/Emulate/Machine.h"
#include "sccl/Plan/Plan.h"

namespace sccl::emulate {

struct RunRequest {
  /// Of the launches, in turns. Who launches programs whose ranks do not
  /// announce that they are ready waits for all before the size changes.
  std::vector<uint64_t> segmentBytes;
  /// Launches one after the other; no rank waits for others in between.
  unsigned launches = 3;
  /// Blocks that the launches have for each channel, in turns; empty: as many
  /// as the program is for.
  std::vector<unsigned> blocks = {};
  bool inPlace = false; ///< where ProgramInfo::inPlace says that it works
  /// So many GPUs share the ranks, one after the other, by the kernel for
  /// virtual ranks; 0: each rank has its own GPU and kernel.
  unsigned sharedGPUs = 0;
  /// Of programs whose ranks are behind switches: the ranks of each group,
  /// whose tables of peers have one entry more. Others have no such entry.
  std::vector<std::vector<unsigned>> switchGroups = {};
  uint64_t reduction = 0;    ///< reductionNumber()
  unsigned misalignment = 0; ///< bytes that user buffers are off 16
  /// Of traced code: of how many launches there is memory for what it tells; 0:
  /// nobody records.
  unsigned recorded = 0;
  Settings settings;
};

/// What goes into the buffers of users, and what is done with the results.
struct RunData {
  std::function<void(unsigned rank, unsigned launch, void *input)> fill;
  std::function<void(unsigned rank, unsigned launch, const void *output)>
      compare;
};

/// What traced code of a rank has told, see TraceTable.h.
struct RankRecord {
  std::string table;  ///< with the lines as channels have left them
  uint64_t place = 0; ///< the address of the memory for records
  std::string memory;
};

struct RunReport {
  Findings findings;
  Execution execution;
  std::vector<RankRecord> records; ///< by rank; empty if nobody recorded
};

/// Runs kernel `kernel` of `plan`, whose code is `code`. Programs in which
/// hosts copy are refused, and groups in which a rank is missing or shares its
/// GPU.
Result<RunReport> runPlan(const Code &code, const plan::Plan &plan,
                          const plan::KernelInfo &kernel,
                          const RunRequest &request, const RunData &data);

} // namespace sccl::emulate

#endif // SCCL_EMULATE_PLANRUN_H
