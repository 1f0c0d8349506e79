//===- Programs.h - The programs of a plan on this device -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_PROGRAMS_H
#define SCCL_LIB_RUNTIME_PROGRAMS_H

#include "LoadedPlan.h"
#include "Runtime/Devices/Device.h"

#include "llvm/Support/MathExtras.h"

#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace sccl {

/// A program of the plan that this device has code for.
struct LoadedProgram {
  unsigned index; ///< in the plan
  const plan::ProgramEntry *info;
  unsigned chunksPerSegment;
  /// Code by type and reduction, one entry if it only moves data; for each the
  /// functions of all steps.
  std::vector<std::shared_ptr<DeviceFunction>> functions;
  /// By type and reduction: what the plan says, and code for all ranks, where
  /// this rank launches for others; see VirtualRanks.h.
  std::vector<const plan::KernelInfo *> kernels;
  std::vector<std::shared_ptr<DeviceFunction>> virtualKernels;
  bool combines;
  uint64_t signature;  ///< tells programs apart in a Call
  unsigned blocks = 1; ///< that launches here may have for each channel
  /// Bytes of the largest segment that a table of the plan chooses it for.
  uint64_t largestSegment = UINT64_MAX;

  unsigned slot(scclDataType type, scclRedOp op) const {
    return combines ? unsigned(type) * numReductions + unsigned(op) : 0;
  }
  /// Null if there is no code for the type and reduction.
  const DeviceFunction *find(scclDataType type, scclRedOp op,
                             unsigned step = 0) const {
    return functions[slot(type, op) * functionsPerRank() + step].get();
  }
  /// True if hosts copy between the ranks, and functions do not.
  bool hasCopies() const { return info->steps != 0; }
  unsigned functionsPerRank() const { return hasCopies() ? info->steps : 1; }
  /// The blocks for each channel of a launch of `kernel` for segments of so
  /// many bytes: no more than have something to read for each of their threads.
  unsigned blocksFor(const plan::KernelInfo &kernel, uint64_t segment) const;
  /// Bytes of a segment of the launches that separate others.
  uint64_t separatorBytes() const { return chunkAlignment * chunksPerSegment; }
  /// Bytes of scratch memory of rank `rank` for segments of `segment` bytes;
  /// UINT64_MAX if they are more.
  uint64_t scratchBytes(unsigned rank, uint64_t segment) const {
    return llvm::SaturatingMultiply<uint64_t>(
        info->ranks[rank].scratchSlots, chunkStride(segment, chunksPerSegment));
  }
  /// Bytes of a segment of which launches have no more, where own buffers hold
  /// `piece`: programs that do not announce themselves have scratch of their
  /// own, which would take the memory of those for large sizes.
  uint64_t mostOf(uint64_t piece) const {
    return info->announcesReady ? piece : std::min(piece, largestSegment);
  }
  /// True if transfers pass a switch.
  bool isAtSwitch() const { return !info->switchGroups.empty(); }
  /// True if ranks access the buffers that others pass to the function.
  bool touchesPeers() const {
    return info->peersReadInput || info->peersTouchOutput;
  }
};

/// Code that several types and reductions share, loaded once.
class SharedFunctions {
public:
  SharedFunctions(const LoadedPlan &plan, Device &device)
      : plan(plan), device(device) {}

  /// The function `symbol` in blob `blob` of the plan, for launches of `grid`.
  Status load(unsigned blob, const std::string &symbol, const Grid &grid,
              std::shared_ptr<DeviceFunction> &function);

private:
  const LoadedPlan &plan;
  Device &device;
  std::map<std::tuple<unsigned, std::string, unsigned>,
           std::shared_ptr<DeviceFunction>>
      known;
};

/// Loads the best code of each program for `device`, of those that can do with
/// `smBudget` blocks on a GPU, if that is not 0. Fails if there is none, naming
/// what the plan has. `number` tells the plan apart from others of the group.
Status loadPrograms(const LoadedPlan &plan, unsigned rank, unsigned number,
                    Device &device, unsigned smBudget,
                    std::vector<LoadedProgram> &programs);

/// Loads the best code for messages on a GPU of each program for `device`, for
/// launches of up to `blocks` blocks. Fails if not all that CPUs have code for
/// has some, naming what the plan has.
Status loadMessageCode(const LoadedPlan &plan, unsigned rank, unsigned number,
                       Device &device, unsigned blocks,
                       std::vector<LoadedProgram> &programs);

/// "f32 sum, f32 max": what the kernels of the plan reduce.
std::string listReductions(const plan::Manifest &manifest);

/// Where the parts of a rank's device memory begin. `pieceBytes` is the largest
/// segment that fits. If they are more than 64 bits count, `bytes` is nearly
/// UINT64_MAX, which nobody has, and the rest means nothing.
struct MemoryLayout {
  /// Bytes from the beginning that are alike on all ranks: scratch of programs
  /// whose transfers pass a switch.
  uint64_t atSwitch = 0;
  std::vector<uint64_t> controls;  ///< by program
  std::vector<uint64_t> scratches; ///< by program
  uint64_t input, output, bytes;
  /// What a program takes that only separates launches, see AsyncLaunch.cpp.
  struct Separator {
    uint64_t input = 0, output = 0, scratch = 0, control = 0;
  };
  std::vector<Separator> separators; ///< by program
  /// What lies between the parts, which nobody may write.
  struct Gap {
    uint64_t begin, end;
  };
  std::vector<Gap> gaps;

  /// Programs that do not announce themselves have scratch of their own: their
  /// LL words tell launches of one program apart, no more. With `isEnqueued`
  /// they have separators.
  MemoryLayout(const plan::Manifest &manifest,
               const std::vector<LoadedProgram> &programs, unsigned rank,
               uint64_t pieceBytes, bool isEnqueued);
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_PROGRAMS_H
