//===- VirtualRanks.cpp - Ranks that share a GPU --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VirtualRanks.h"

#include <algorithm>

using namespace sccl;

VirtualRanks::VirtualRanks(ControlPlane &plane, Device &device,
                           std::vector<unsigned> members)
    : plane(plane), device(device), members(std::move(members)),
      host(plane.numRanks()) {}

/// The channels of all ranks: blocks of ranks on other devices return at once,
/// but are launched as well.
static unsigned channelsOfAll(const plan::ProgramEntry &info) {
  unsigned channels = 0;
  for (const RankNeeds &needs : info.ranks)
    channels += needs.channels;
  return channels;
}

Status VirtualRanks::prepare() {
  if (!isLeader())
    return {};
  return device.allocate(host.size() * sizeof(RankArguments), array);
}

Status VirtualRanks::load(const LoadedPlan &plan,
                          std::vector<LoadedProgram> &programs) {
  for (LoadedProgram &program : programs) {
    SharedFunctions loaded(plan, device);
    for (size_t i = 0; i < program.kernels.size(); ++i) {
      // Where hosts copy, kernels wait for nobody.
      const plan::KernelInfo *kernel = program.kernels[i];
      if (!kernel || program.hasCopies())
        continue;
      if (kernel->virtualSymbol.empty())
        return {scclErrorUnsupported,
                std::to_string(members.size()) + " ranks share device " +
                    device.id() +
                    ", and kernels of several ranks are not promised to run "
                    "at the same time; compile the plan with --virtual-ranks"};
      if (!isLeader())
        continue;
      Grid grid{channelsOfAll(*program.info), program.blocks,
                kernel->blockSize};
      if (Status status = loaded.load(kernel->blob, kernel->virtualSymbol, grid,
                                      program.virtualKernels[i]);
          !status.ok())
        return status;
    }
  }
  return {};
}

void VirtualRanks::deposit(const LaunchArguments &arguments,
                           uint64_t signature) {
  ControlPlane::Parcel &parcel = plane.parcel(plane.rank());
  parcel.arguments = arguments;
  parcel.signature = signature;
  parcel.number.store(++number, std::memory_order_release);
}

Status VirtualRanks::launch(const DeviceFunction &kernel, bool &isAborted) {
  uint64_t signature = plane.parcel(plane.rank()).signature;
  isAborted = false;
  for (unsigned member : members) {
    const ControlPlane::Parcel &parcel = plane.parcel(member);
    isAborted = !plane.await(parcel.number, number);
    if (!isAborted && parcel.signature != signature) {
      plane.raise({scclErrorMismatch, member, plane.rank()});
      isAborted = true;
    }
    if (isAborted)
      return {};
    host[member] = parcel.arguments;
  }
  // Ranks that are elsewhere lend their place to any table of the program, and
  // as many blocks as the others have.
  for (RankArguments &record : host)
    if (!record.control) {
      record.table = host[members.front()].table;
      record.blocks = host[members.front()].blocks;
    }
  // One stream: the former kernel has read its arguments before they change.
  if (Status status = device.copy(array->data(), host.data(),
                                  host.size() * sizeof(RankArguments), nullptr);
      !status.ok())
    return status;
  return device.launchVirtual(kernel,
                              reinterpret_cast<RankArguments *>(array->data()),
                              host[members.front()].blocks, nullptr);
}

bool VirtualRanks::awaitEnd() const {
  return plane.await(plane.parcel(members.front()).finished, number);
}
