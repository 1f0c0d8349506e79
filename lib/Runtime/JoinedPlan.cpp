//===- JoinedPlan.cpp - A plan as one rank has it -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JoinedPlan.h"

#include <algorithm>
#include <cstring>

using namespace sccl;

uint64_t sccl::memoryBudget(const scclConfig &config, const Device &device) {
  if (config.scratchBytes)
    return config.scratchBytes;
  return device.isSynchronous() ? 64 << 20 : 256 << 20;
}

JoinedPlan::JoinedPlan(std::shared_ptr<const LoadedPlan> plan, Device &device,
                       const Device &callers, unsigned rank, unsigned numRanks,
                       unsigned number)
    : plan(std::move(plan)), manifest(this->plan->view.manifest), rank(rank),
      numRanks(numRanks), number(number), device(device), callers(callers) {}

JoinedPlan::~JoinedPlan() = default;

Status JoinedPlan::loadCode(unsigned smBudget) {
  if (manifest.ranks != numRanks)
    return {scclErrorMismatch,
            "the plan is for " + std::to_string(manifest.ranks) +
                " ranks, and there are " + std::to_string(numRanks)};
  if (Status status =
          loadPrograms(*plan, rank, number, device, smBudget, programs);
      !status.ok())
    return status;
  return plan->readPart(rank, part);
}

PlanHash sccl::hashOf(const LoadedPlan *plan) {
  PlanHash hash = {};
  if (plan)
    std::memcpy(hash.text, plan->view.hash.data(), sizeof(hash.text));
  return hash;
}

Status sccl::describeOtherPlan(unsigned other, unsigned rank) {
  return {scclErrorMismatch, "rank " + std::to_string(other) +
                                 " has another plan than rank " +
                                 std::to_string(rank) + " (M1)"};
}

/// True if [a, a + aBytes) and [b, b + bBytes) have a byte in common.
static bool overlap(uintptr_t a, uint64_t aBytes, uintptr_t b,
                    uint64_t bBytes) {
  return aBytes != 0 && bBytes != 0 && a < b + bBytes && b < a + aBytes;
}

bool JoinedPlan::isInPlace(const LaunchRequest &request) const {
  const plan::RankLayout &layout = manifest.layout[rank];
  if (!layout.inPlaceOffset || !layout.inputSegments || !layout.outputSegments)
    return false;
  uint64_t segment = request.count * dataTypeBytes(request.type);
  return uintptr_t(request.send) ==
         uintptr_t(request.recv) +
             uint64_t(int64_t(*layout.inPlaceOffset)) * segment;
}

Status JoinedPlan::checkBuffers(Flight &flight) const {
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
      if (Status status =
              callers.checkBuffer(reinterpret_cast<void *>(address), name);
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

Status JoinedPlan::checkTypes(const LaunchRequest &request) const {
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

Status JoinedPlan::check(const LaunchRequest &request, Flight &flight) const {
  flight.request = request;
  if (Status status = checkTypes(request); !status.ok())
    return status;
  if (Status status = callers.checkStream(request.stream); !status.ok())
    return status;
  flight.segmentBytes = request.count * dataTypeBytes(request.type);
  if (Status status = checkBuffers(flight); !status.ok())
    return status;
  return choose(flight);
}

ControlPlane::Announcement
JoinedPlan::announcement(const Flight &flight) const {
  const LaunchRequest &request = flight.request;
  const Choice &choice = flight.choice;
  unsigned variant =
      choice.program->index +
      31 * (unsigned(choice.path) + 3 * unsigned(choice.pieceBytes / 64));
  return {
      ControlPlane::sign(number, request.type, reductionOf(flight), variant),
      request.count};
}

/// What this rank passes to a function, beside addresses; null if nothing.
const void *JoinedPlan::rankTableOf(const LoadedProgram &program,
                                    const LaunchRequest &request) const {
  const plan::KernelInfo *kernel =
      program.kernels[program.slot(request.type, request.op)];
  return kernel && kernel->rankTables ? rankTables[*kernel->rankTables]
                                      : nullptr;
}

unsigned JoinedPlan::blocksOf(const Flight &flight, uint64_t segment) const {
  const LoadedProgram &program = *flight.choice.program;
  const LaunchRequest &request = flight.request;
  return program.blocksFor(
      *program.kernels[program.slot(request.type, request.op)], segment);
}

Status JoinedPlan::findFunction(Flight &flight) const {
  const LaunchRequest &request = flight.request;
  // Switches do not reduce every type in every way.
  auto isRight = [&](const LoadedProgram &other) {
    return !other.isAtSwitch() && other.find(request.type, request.op);
  };
  if (const LoadedProgram *chosen = flight.choice.program;
      chosen->isAtSwitch() && !chosen->find(request.type, request.op)) {
    const Choice &other =
        choices.withoutSwitches(manifest.sendSegments * flight.segmentBytes);
    auto any = std::find_if(programs.begin(), programs.end(), isRight);
    plan::Path path = flight.choice.path; // which is decided already
    if (isRight(*other.program)) {
      flight.choice = other;
      flight.choice.path = path;
    } else if (any != programs.end()) {
      flight.choice.program = &*any;
    }
  }
  const LoadedProgram &program = *flight.choice.program;
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

Expectation JoinedPlan::expect(const LaunchRequest &request,
                               bool isInPlace) const {
  uint64_t bytes =
      manifest.sendSegments * request.count * dataTypeBytes(request.type);
  Expectation result = choices.expect(bytes);
  result.needsNoCopies =
      !isInPlace || choices.forBytes(bytes).program->info->inPlace;
  return result;
}

bool JoinedPlan::reduces(scclDataType type, scclRedOp op) const {
  return std::any_of(programs.begin(), programs.end(),
                     [&](const LoadedProgram &program) {
                       return program.find(type, op) != nullptr;
                     });
}

Status JoinedPlan::queryChoice(size_t count, scclDataType type, scclRedOp op,
                               scclChoice &result) const {
  Flight flight;
  flight.request = {nullptr, nullptr, count, type, op, nullptr};
  if (Status status = checkTypes(flight.request); !status.ok())
    return status;
  flight.segmentBytes = count * dataTypeBytes(type);
  if (Status status = choose(flight); !status.ok())
    return status;
  const Choice &choice = flight.choice;
  const std::string &schedule =
      manifest.schedules[choice.program->info->schedule].name;
  result.program = choice.program->index;
  result.path = scclPath(choice.path);
  result.pieceBytes = choice.pieceBytes;
  uint64_t piece = flight.segmentBytes;
  if (choice.pieceBytes != 0)
    piece = std::min<uint64_t>(piece, choice.pieceBytes);
  unsigned channels = choice.program->info->ranks[rank].channels;
  result.multiprocessors =
      device.isSynchronous() ? 0 : int(channels * blocksOf(flight, piece));
  std::memset(result.schedule, 0, sizeof(result.schedule));
  std::memset(result.reason, 0, sizeof(result.reason));
  std::strncpy(result.schedule, schedule.c_str(), sizeof(result.schedule) - 1);
  std::strncpy(result.reason, choice.reason, sizeof(result.reason) - 1);
  return {};
}

Status JoinedPlan::setChoice(const scclChoice *choice) {
  return choices.set(choice, device.target());
}
