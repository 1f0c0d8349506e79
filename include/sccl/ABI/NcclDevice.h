//===- NcclDevice.h - Kernels that call NCCL's device functions -*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The contract between what convert-coll-to-nccl-device emits and whoever
// launches it (lib/NCCL). Each rank has one kernel, NAME_rankN, with the
// arguments of KernelABI.h and one more:
//
//   NcclArguments *net   in memory of the device
//
// There are two more kernels, of one block each:
//
//   NAME_nccl_peers(NcclArguments *net, PeerEntry *peers)
//       enters the addresses of the ranks of this box into `peers`; the other
//       entries stay as they are, and no kernel reads them
//   NAME_nccl_barrier(NcclArguments *net)
//       returns when all ranks of the LSA team are there: once after control
//       memory has been zeroed, before the first launch
//
// and a variable NAME_nccl in memory of the device: an NcclProgram, and then an
// NcclRank for each rank.
//
// The input, the output, the scratch and the control memory are in windows,
// which all ranks register with the same sizes. Buffers of a kind are at the
// same offset on all ranks.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ABI_NCCLDEVICE_H
#define SCCL_ABI_NCCLDEVICE_H

#include <cstdint>

namespace sccl {

inline constexpr uint32_t ncclProgramVersion = 1;

/// What the names of the kernels and of the variable have after the program's.
inline constexpr const char *ncclPeersSuffix = "_nccl_peers";
inline constexpr const char *ncclBarrierSuffix = "_nccl_barrier";
inline constexpr const char *ncclProgramSuffix = "_nccl";

/// As ncclTeam.
struct NcclTeamWords {
  int32_t ranks, rank, stride;
};

/// What kernels must know of a communicator and of memory.
struct NcclArguments {
  void *comm;          ///< an ncclDevComm, in memory of the device
  void *windows[4];    ///< ncclWindow_t, by BufferField
  uint64_t offsets[4]; ///< of the buffers in their windows, bytes
  NcclTeamWords world; ///< ncclTeamWorld
  NcclTeamWords lsa;   ///< ncclTeamLsa
  uint32_t barrier[2]; ///< ncclDevComm::lsaBarrier
  uint32_t backends;   ///< a mask of GIN's back ends that may be there
  uint32_t unused;
};

/// What a communicator for a program needs.
struct NcclProgram {
  uint32_t version; ///< ncclProgramVersion
  uint32_t ranks;
  uint32_t ranksPerBox; ///< ranks k * this and so many more are in one LSA team
  uint32_t chunksPerSegment;
  uint32_t blockSize; ///< threads
  uint32_t signals;   ///< ncclDevCommRequirements::ginSignalCount
  uint32_t contexts;  ///< ginContextCount, a hint
  uint32_t unused;
};

/// And memory and kernels of one rank.
struct NcclRank {
  uint32_t blocks; ///< of the grid
  uint32_t inputSlots, outputSlots, scratchSlots;
  uint32_t controlBytes;
  uint32_t unused[3];
};

static_assert(sizeof(NcclArguments) == 112);
static_assert(sizeof(NcclProgram) == 32);
static_assert(sizeof(NcclRank) == 32);

} // namespace sccl

#endif // SCCL_ABI_NCCLDEVICE_H
