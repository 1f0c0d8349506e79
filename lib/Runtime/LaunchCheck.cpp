//===- LaunchCheck.cpp - Checking and choosing before a launch ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommPlan.h"

#include <algorithm>

using namespace sccl;

/// Up to this size of all receive segments together, copies through own buffers
/// cost less than telling each other where buffers are, and than system calls.
static constexpr uint64_t smallBytes = 16 << 10;
static constexpr uint64_t mostBytes = uint64_t(1) << 62;

/// True if [a, a + aBytes) and [b, b + bBytes) have a byte in common.
static bool overlap(uintptr_t a, uint64_t aBytes, uintptr_t b,
                    uint64_t bBytes) {
  return aBytes != 0 && bBytes != 0 && a < b + bBytes && b < a + aBytes;
}

bool CommPlan::isInPlace(const LaunchRequest &request) const {
  const plan::RankLayout &layout = manifest.layout[rank];
  if (!layout.inPlaceOffset || !layout.inputSegments || !layout.outputSegments)
    return false;
  uint64_t segment = request.count * dataTypeBytes(request.type);
  return uintptr_t(request.send) ==
         uintptr_t(request.recv) +
             uint64_t(int64_t(*layout.inPlaceOffset)) * segment;
}

Status CommPlan::checkBuffers(Flight &flight) const {
  const LaunchRequest &request = flight.request;
  const plan::RankLayout &layout = manifest.layout[rank];
  uint64_t sendBytes = layout.inputSegments * flight.segmentBytes;
  uint64_t recvBytes = layout.outputSegments * flight.segmentBytes;
  uintptr_t send = uintptr_t(request.send), recv = uintptr_t(request.recv);
  uintptr_t alignment = dataTypeBytes(request.type);
  for (auto [address, bytes, name] :
       {std::tuple{send, sendBytes, "send"}, {recv, recvBytes, "recv"}}) {
    if (bytes != 0 && address == 0)
      return invalid(std::string(name) + " is null, and should have " +
                     std::to_string(bytes) + " bytes");
    if (bytes != 0 && address % alignment != 0)
      return invalid(std::string(name) + " is not aligned to " +
                     std::to_string(alignment) + " bytes");
    if (bytes != 0 && address + bytes < address)
      return invalid(std::string(name) + " with " + std::to_string(bytes) +
                     " bytes goes beyond the end of memory");
    if (bytes != 0)
      if (Status status = group.device->checkBuffer(
              reinterpret_cast<void *>(address), name);
          !status.ok())
        return status;
  }
  if (!overlap(send, sendBytes, recv, recvBytes))
    return {};
  flight.isInPlace = isInPlace(request);
  if (flight.isInPlace)
    return {};
  return invalid("send and recv overlap other than " + manifest.collective +
                 " allows in place");
}

Status CommPlan::checkTypes(const LaunchRequest &request) const {
  unsigned elementBytes = dataTypeBytes(request.type);
  if (elementBytes == 0)
    return invalid("type is " + std::to_string(int(request.type)) +
                   ", expected 0 to " + std::to_string(numDataTypes - 1));
  if (!reductionName(request.op))
    return invalid("op is " + std::to_string(int(request.op)) +
                   ", expected 0 to " + std::to_string(numReductions - 1));
  const plan::RankLayout &layout = manifest.layout[rank];
  uint64_t segments =
      std::max({layout.inputSegments, layout.outputSegments, 1u});
  if (request.count > mostBytes / elementBytes / segments)
    return invalid("count is " + std::to_string(request.count) +
                   ", which is too much for " + std::to_string(segments) +
                   " segments");
  return {};
}

Status CommPlan::check(const LaunchRequest &request, Flight &flight) const {
  flight.request = request;
  if (Status status = checkTypes(request); !status.ok())
    return status;
  if (Status status = group.device->checkStream(request.stream); !status.ok())
    return status;
  flight.segmentBytes = request.count * dataTypeBytes(request.type);
  if (Status status = checkBuffers(flight); !status.ok())
    return status;
  return choose(flight);
}

/// What this rank passes to a function, beside addresses; null if nothing.
const void *CommPlan::rankTableOf(const Program &program,
                                  const LaunchRequest &request) const {
  const plan::KernelInfo *kernel =
      program.kernels[program.slot(request.type, request.op)];
  return kernel && kernel->rankTables ? rankTables[*kernel->rankTables]
                                      : nullptr;
}

Status CommPlan::findFunction(Flight &flight) const {
  const Program &program = *flight.choice.program;
  const LaunchRequest &request = flight.request;
  flight.function = program.find(request.type, request.op);
  flight.rankTable = rankTableOf(program, request);
  flight.virtualKernel =
      program.virtualKernels[program.slot(request.type, request.op)].get();
  if (flight.function)
    return {};
  return {scclErrorUnsupported, std::string("the plan cannot reduce ") +
                                    dataTypeName(flight.request.type) + " " +
                                    reductionName(flight.request.op) +
                                    "; it has: " + listReductions(manifest)};
}

bool CommPlan::isSmall(const Flight &flight) const {
  return std::max(mostInputSegments, mostOutputSegments) *
             flight.segmentBytes <=
         smallBytes;
}

/// From a program whose ranks access the caller's buffers to another one, or to
/// the communicator's buffers.
Status CommPlan::stepBack(Flight &flight) const {
  flight.choice.path = plan::Path::Staging;
  if (!flight.choice.aloof)
    return {};
  flight.choice.program = flight.choice.aloof;
  flight.choice.path = plan::Path::Direct;
  return findFunction(flight);
}

Expectation CommPlan::expect(const LaunchRequest &request,
                             bool isInPlace) const {
  uint64_t bytes =
      manifest.sendSegments * request.count * dataTypeBytes(request.type);
  Expectation result = choices.expect(bytes);
  result.needsNoCopies =
      !isInPlace || choices.forBytes(bytes).program->info->inPlace;
  return result;
}

Status CommPlan::choose(Flight &flight) const {
  flight.choice = choices.forBytes(manifest.sendSegments * flight.segmentBytes);
  Choice &choice = flight.choice;
  if (choice.path == plan::Path::Auto) {
    choice.path = plan::Path::Direct;
    if (choice.program->touchesPeers() && isSmall(flight))
      if (Status status = stepBack(flight); !status.ok())
        return status;
  }
  return findFunction(flight);
}
