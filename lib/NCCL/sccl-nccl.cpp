//===- sccl-nccl.cpp - Launches kernels of sccl on NCCL -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Control and scratch memory are one window; the input and the output have a
// window each. Nothing is allocated per launch.
//
//===----------------------------------------------------------------------===//

#include "sccl-nccl.h"

#include "sccl/ABI/KernelABI.h"
#include "sccl/ABI/NcclDevice.h"

#include <nccl_device.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

using namespace sccl;

/// Leaves the function with an error of NCCL, or of CUDA.
#define NCCL_TRY(call)                                                         \
  do {                                                                         \
    if (ncclResult_t tried = (call); tried != ncclSuccess)                     \
      return tried;                                                            \
  } while (false)
#define CUDA_TRY(call)                                                         \
  do {                                                                         \
    if ((call) != CUDA_SUCCESS)                                                \
      return ncclUnhandledCudaError;                                           \
  } while (false)

namespace {
/// What NAME_nccl says.
struct Description {
  NcclProgram program;
  std::vector<NcclRank> ranks;

  uint32_t most(uint32_t NcclRank::*field) const {
    uint32_t most = 0;
    for (const NcclRank &rank : ranks)
      most = std::max(most, rank.*field);
    return most;
  }
  /// Segments are `segment` bytes apart.
  size_t segmentBytes(uint32_t NcclRank::*slots, size_t segment) const {
    return size_t(most(slots)) / program.chunksPerSegment * segment;
  }
};
} // namespace

struct scclNcclPlan {
  /// What is left of it then is never freed, so that each later call finds it.
  std::atomic<bool> isDestroyed = false;
  ncclComm_t comm = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  Description description;
  int rank = 0;
  size_t segment = 0;
  void *buffers[2] = {};     ///< of the caller: input, output
  void *workspace = nullptr; ///< control memory, then scratch
  size_t controlBytes = 0;
  ncclWindow_t windows[3] = {}; ///< input, output, workspace
  ncclDevComm devComm = {};
  bool hasDevComm = false;
  CUdeviceptr deviceComm = 0, arguments = 0, peers = 0;
  uint64_t *abortWord = nullptr; ///< of the host
  CUdeviceptr deviceAbort = 0;
};

//===----------------------------------------------------------------------===//
// The image
//===----------------------------------------------------------------------===//

static ncclResult_t readDescription(CUmodule module, const std::string &name,
                                    Description &description) {
  CUdeviceptr variable = 0;
  size_t bytes = 0;
  NcclProgram &program = description.program;
  if (cuModuleGetGlobal(&variable, &bytes, module,
                        (name + ncclProgramSuffix).c_str()) != CUDA_SUCCESS ||
      bytes < sizeof(program))
    return ncclInvalidArgument;
  CUDA_TRY(cuMemcpyDtoH(&program, variable, sizeof(program)));
  if (program.version != ncclProgramVersion ||
      bytes != sizeof(program) + program.ranks * sizeof(NcclRank))
    return ncclInvalidArgument;
  description.ranks.resize(program.ranks);
  CUDA_TRY(cuMemcpyDtoH(description.ranks.data(), variable + sizeof(program),
                        program.ranks * sizeof(NcclRank)));
  return ncclSuccess;
}

ncclResult_t scclNcclBytes(const void *image, const char *name, size_t segment,
                           size_t *inputBytes, size_t *outputBytes) {
  CUmodule module;
  CUDA_TRY(cuModuleLoadData(&module, image));
  Description description;
  ncclResult_t result = readDescription(module, name, description);
  cuModuleUnload(module);
  NCCL_TRY(result);
  *inputBytes = description.segmentBytes(&NcclRank::inputSlots, segment);
  *outputBytes = description.segmentBytes(&NcclRank::outputSlots, segment);
  return ncclSuccess;
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

/// True if the buffers of the caller have bytes in common.
static bool buffersOverlap(const scclNcclPlan &plan) {
  const Description &description = plan.description;
  uintptr_t input = uintptr_t(plan.buffers[0]);
  uintptr_t output = uintptr_t(plan.buffers[1]);
  return input < output + description.segmentBytes(&NcclRank::outputSlots,
                                                   plan.segment) &&
         output < input + description.segmentBytes(&NcclRank::inputSlots,
                                                   plan.segment);
}

/// Registers what peers write, with the same sizes on all ranks.
static ncclResult_t registerMemory(scclNcclPlan &plan) {
  const Description &description = plan.description;
  constexpr size_t line = ControlLayout::lineBytes;
  plan.controlBytes =
      (description.most(&NcclRank::controlBytes) + line - 1) / line * line;
  size_t slot = chunkStride(plan.segment, description.program.chunksPerSegment);
  size_t workspace =
      plan.controlBytes + description.most(&NcclRank::scratchSlots) * slot;
  NCCL_TRY(ncclMemAlloc(&plan.workspace, workspace));
  CUDA_TRY(cuMemsetD8(CUdeviceptr(plan.workspace), 0, workspace));
  void *memory[] = {plan.buffers[0], plan.buffers[1], plan.workspace};
  size_t bytes[] = {
      description.segmentBytes(&NcclRank::inputSlots, plan.segment),
      description.segmentBytes(&NcclRank::outputSlots, plan.segment),
      workspace};
  for (int i = 0; i < 3; ++i) {
    if (bytes[i] == 0)
      continue;
    NCCL_TRY(ncclCommWindowRegister(plan.comm, memory[i], bytes[i],
                                    &plan.windows[i], NCCL_WIN_COLL_SYMMETRIC));
    if (!plan.windows[i]) // what NCCL returns without symmetric memory
      return ncclInvalidUsage;
  }
  return ncclSuccess;
}

/// Asks for signals and contexts to every rank, and checks the boxes.
static ncclResult_t createDevComm(scclNcclPlan &plan) {
  const NcclProgram &program = plan.description.program;
#ifdef NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER
  ncclDevCommRequirements needs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
#else
  ncclDevCommRequirements needs = {};
#endif
  needs.lsaBarrierCount = 1;
  if (program.signals != 0) {
    needs.ginSignalCount = program.signals;
    needs.ginContextCount = program.contexts;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 29, 7)
    needs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
#else
    needs.ginForceEnable = true;
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 7)
    // A signal comes after all puts before it.
    needs.ginStrongSignalsRequired = true;
#endif
  }
  NCCL_TRY(ncclDevCommCreate(plan.comm, &needs, &plan.devComm));
  plan.hasDevComm = true;
  // LSA teams are so many ranks in a row, too.
  unsigned team = plan.devComm.lsaSize;
  bool fits = team % program.ranksPerBox == 0 ||
              (team == program.ranks && program.ranksPerBox > team);
  return fits ? ncclSuccess : ncclInvalidUsage;
}

static NcclTeamWords wordsOf(const ncclTeam &team) {
  return {team.nRanks, team.rank, team.stride};
}

/// Writes what kernels read of the communicator and the windows.
static ncclResult_t writeArguments(scclNcclPlan &plan) {
  NcclArguments arguments = {};
  CUDA_TRY(cuMemAlloc(&plan.deviceComm, sizeof(plan.devComm)));
  CUDA_TRY(cuMemcpyHtoD(plan.deviceComm, &plan.devComm, sizeof(plan.devComm)));
  arguments.comm = reinterpret_cast<void *>(plan.deviceComm);
  const int windowOf[] = {0, 1, 2, 2}; // by BufferField
  for (int i = 0; i < 4; ++i) // a buffer without bytes is never accessed
    arguments.windows[i] =
        plan.windows[windowOf[i]] ? plan.windows[windowOf[i]] : plan.windows[2];
  arguments.offsets[unsigned(BufferField::Scratch)] = plan.controlBytes;
  arguments.world = wordsOf(ncclTeamWorld(plan.devComm));
  arguments.lsa = wordsOf(ncclTeamLsa(plan.devComm));
  static_assert(sizeof(plan.devComm.lsaBarrier) == sizeof(arguments.barrier));
  std::memcpy(arguments.barrier, &plan.devComm.lsaBarrier,
              sizeof(arguments.barrier));
  // All that there are, by whatever numbers: the communicator says which one it
  // has, and the header names them for device code only.
  arguments.backends = ~0u;
  CUDA_TRY(cuMemAlloc(&plan.arguments, sizeof(arguments)));
  return cuMemcpyHtoD(plan.arguments, &arguments, sizeof(arguments)) ==
                 CUDA_SUCCESS
             ? ncclSuccess
             : ncclUnhandledCudaError;
}

static ncclResult_t launch(const scclNcclPlan &plan, CUfunction kernel,
                           unsigned blocks, void **parameters,
                           CUstream stream) {
  // All blocks must be resident together; a cooperative launch fails if not.
  CUDA_TRY(cuLaunchCooperativeKernel(kernel, blocks, 1, 1,
                                     plan.description.program.blockSize, 1, 1,
                                     /*sharedBytes=*/0, stream, parameters));
  return ncclSuccess;
}

/// Fills the table of peers, and meets the ranks whose memory is in it.
static ncclResult_t enterPeers(scclNcclPlan &plan, const std::string &name,
                               CUstream stream) {
  size_t bytes = plan.description.program.ranks * sizeof(PeerEntry);
  CUDA_TRY(cuMemAlloc(&plan.peers, bytes));
  CUDA_TRY(cuMemsetD8(plan.peers, 0, bytes));
  CUfunction peers, barrier;
  CUDA_TRY(cuModuleGetFunction(&peers, plan.module,
                               (name + ncclPeersSuffix).c_str()));
  CUDA_TRY(cuModuleGetFunction(&barrier, plan.module,
                               (name + ncclBarrierSuffix).c_str()));
  CUDA_TRY(cuModuleGetFunction(
      &plan.kernel, plan.module,
      (name + "_rank" + std::to_string(plan.rank)).c_str()));
  void *parameters[] = {&plan.arguments, &plan.peers};
  NCCL_TRY(launch(plan, peers, 1, parameters, stream));
  NCCL_TRY(launch(plan, barrier, 1, parameters, stream));
  CUDA_TRY(cuStreamSynchronize(stream));
  return ncclSuccess;
}

static ncclResult_t create(scclNcclPlan &plan, const void *image,
                           const std::string &name, CUstream stream) {
  CUDA_TRY(cuModuleLoadData(&plan.module, image));
  NCCL_TRY(readDescription(plan.module, name, plan.description));
  int ranks = 0;
  NCCL_TRY(ncclCommCount(plan.comm, &ranks));
  NCCL_TRY(ncclCommUserRank(plan.comm, &plan.rank));
  if (unsigned(ranks) != plan.description.program.ranks)
    return ncclInvalidUsage;
  if (buffersOverlap(plan))
    return ncclInvalidArgument;
  NCCL_TRY(registerMemory(plan));
  NCCL_TRY(createDevComm(plan));
  NCCL_TRY(writeArguments(plan));
  CUDA_TRY(cuMemHostAlloc(
      reinterpret_cast<void **>(&plan.abortWord), sizeof(uint64_t),
      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  *plan.abortWord = 0;
  CUDA_TRY(cuMemHostGetDevicePointer(&plan.deviceAbort, plan.abortWord, 0));
  return enterPeers(plan, name, stream);
}

ncclResult_t scclNcclCreate(ncclComm_t comm, const void *image,
                            const char *name, void *input, void *output,
                            size_t segment, CUstream stream,
                            scclNcclPlan_t *plan) {
  scclNcclPlan *made = new scclNcclPlan;
  made->comm = comm;
  made->segment = segment;
  made->buffers[0] = input;
  made->buffers[1] = output;
  ncclResult_t result = create(*made, image, name, stream);
  if (result != ncclSuccess) {
    scclNcclDestroy(made);
    delete std::exchange(made, nullptr);
  }
  *plan = made;
  return result;
}

//===----------------------------------------------------------------------===//
// Use and end
//===----------------------------------------------------------------------===//

ncclResult_t scclNcclLaunch(scclNcclPlan_t plan, CUstream stream) {
  if (plan->isDestroyed)
    return ncclInvalidArgument;
  const NcclRank &rank = plan->description.ranks[plan->rank];
  if (rank.blocks == 0)
    return ncclSuccess;
  char *workspace = static_cast<char *>(plan->workspace);
  void *scratch = workspace + plan->controlBytes, *control = workspace;
  uint64_t segment = plan->segment, distance = segment, reduction = 0;
  uint64_t blocks = 0; // the code has a number of its own
  void *table = nullptr;
  void *parameters[] = {
      &plan->buffers[0], &plan->buffers[1], &scratch,
      &control,          &plan->peers,      &plan->deviceAbort,
      &segment,          &distance,         &table,
      &reduction,        &blocks,           &plan->arguments};
  return launch(*plan, plan->kernel, rank.blocks, parameters, stream);
}

void scclNcclAbort(scclNcclPlan_t plan) {
  if (!plan->isDestroyed)
    *static_cast<volatile uint64_t *>(plan->abortWord) = 1;
}

ncclResult_t scclNcclDestroy(scclNcclPlan_t plan) {
  if (!plan)
    return ncclSuccess;
  if (plan->isDestroyed.exchange(true))
    return ncclInvalidArgument;
  ncclResult_t result = ncclSuccess;
  auto note = [&](ncclResult_t each) {
    if (result == ncclSuccess)
      result = each;
  };
  if (plan->hasDevComm)
    note(ncclDevCommDestroy(plan->comm, &plan->devComm));
  for (ncclWindow_t window : plan->windows)
    if (window)
      note(ncclCommWindowDeregister(plan->comm, window));
  if (plan->workspace)
    note(ncclMemFree(plan->workspace));
  for (CUdeviceptr memory : {plan->deviceComm, plan->arguments, plan->peers})
    if (memory)
      cuMemFree(memory);
  if (plan->abortWord)
    cuMemFreeHost(plan->abortWord);
  if (plan->module)
    cuModuleUnload(plan->module);
  plan->description = {};
  return result;
}
