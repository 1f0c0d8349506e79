//===- JoinedPlan.h - A plan as one rank has it -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_JOINEDPLAN_H
#define SCCL_LIB_RUNTIME_JOINEDPLAN_H

#include "Bootstrap.h"
#include "Choice.h"
#include "ControlPlane.h"
#include "Programs.h"

#include "sccl/sccl-trace.h"

#include <memory>
#include <vector>

namespace sccl {

/// The arguments of a launch.
struct LaunchRequest {
  const void *send;
  void *recv;
  size_t count;
  scclDataType type;
  scclRedOp op;
  void *stream;
};

/// More than any buffer has; a few of them do not overflow when added.
constexpr uint64_t mostBytes = uint64_t(1) << 62;

/// Bytes of memory that a plan may take on a device.
uint64_t memoryBudget(const scclConfig &config, const Device &device);

/// A plan that a communicator has loaded, as one of its ranks has it: what to
/// take for which size, and whether a call makes sense. How ranks reach each
/// other is the business of those who derive from it.
class JoinedPlan {
public:
  virtual ~JoinedPlan();

  /// Collective. The other ranks must load the same plan, which does nothing.
  virtual Status loadAgain() const = 0;

  const LoadedPlan &source() const { return *plan; }
  const plan::Manifest &info() const { return manifest; }
  /// Bytes of memory of this rank alone.
  virtual uint64_t ownBytes() const = 0;
  /// True if there is code for the type and reduction.
  bool reduces(scclDataType type, scclRedOp op) const;
  /// True if the buffers of `request` are one, as the collective allows.
  bool isInPlace(const LaunchRequest &request) const;
  /// What a launch of `request` should take.
  Expectation expect(const LaunchRequest &request, bool isInPlace) const;
  /// Fails if a program has written between the parts of this rank's memory. On
  /// CPUs; nobody looks on GPUs.
  virtual Status checkGaps() const { return {}; }
  /// See PlanTrace; on a GPU. No launch may be under way.
  virtual Status recordTrace(bool) { return {}; }
  virtual Status readTrace(std::vector<scclTraceEvent> &, uint64_t &) const {
    return {};
  }

  /// A launch, checked and on its way.
  struct Flight {
    LaunchRequest request;
    Choice choice;
    const DeviceFunction *function = nullptr;
    const DeviceFunction *virtualKernel = nullptr; ///< if this rank launches it
    const void *rankTable = nullptr;
    uint64_t segmentBytes = 0;
    bool isInPlace = false;
    bool someInPlace = false; ///< this rank or another one
  };
  /// Fails if the call is wrong in itself, or the plan has no code for it.
  Status check(const LaunchRequest &request, Flight &flight) const;
  /// What all ranks must call for alike.
  ControlPlane::Announcement announcement(const Flight &flight) const;

  Status queryChoice(size_t count, scclDataType type, scclRedOp op,
                     scclChoice &choice) const;
  Status setChoice(const scclChoice *choice);

protected:
  /// `device` runs the code, and `callers` is the one whose buffers and streams
  /// callers pass.
  JoinedPlan(std::shared_ptr<const LoadedPlan> plan, Device &device,
             const Device &callers, unsigned rank, unsigned numRanks,
             unsigned number);

  /// Decides what a launch of so many bytes executes.
  virtual Status choose(Flight &flight) const = 0;
  Status findFunction(Flight &flight) const;
  /// None, where nothing is reduced: ranks may pass what they like.
  static unsigned reductionOf(const Flight &flight) {
    return flight.choice.program->combines ? flight.request.op : 0;
  }
  /// How many blocks a launch for segments of so many bytes has for each
  /// channel.
  unsigned blocksOf(const Flight &flight, uint64_t segment) const;
  /// What this rank passes to a function, beside addresses; null if nothing.
  const void *rankTableOf(const LoadedProgram &program,
                          const LaunchRequest &request) const;
  /// Loads programs and the part of this rank. Fails if the plan is for another
  /// number of ranks, or has no code for the device that can do with `smBudget`
  /// blocks, if that is not 0.
  Status loadCode(unsigned smBudget = 0);

  std::shared_ptr<const LoadedPlan> plan;
  const plan::Manifest &manifest;
  const unsigned rank, numRanks, number;
  std::vector<LoadedProgram> programs;
  LoadedPart part;                      ///< of this rank
  std::vector<const void *> rankTables; ///< as functions see them, by set
  Choices choices;

private:
  Status checkTypes(const LaunchRequest &request) const;
  Status checkBuffers(Flight &flight) const;

  Device &device;
  const Device &callers;
};

/// The hash by which ranks find out whether their plans are the same.
struct PlanHash {
  char text[64];
  bool isNone() const { return text[0] == 0; }
};

/// That of no plan where `plan` is null.
PlanHash hashOf(const LoadedPlan *plan);

Status describeOtherPlan(unsigned other, unsigned rank);

/// Fails on every rank in the same way if the plans in what all ranks have said
/// differ (check M1). Who has none says so in another way.
template <typename T>
Status comparePlans(const Gathered<T> &hellos, unsigned rank) {
  for (unsigned other = 0; other < hellos.size(); ++other)
    if (!hellos[other].plan.isNone() && !hellos[rank].plan.isNone() &&
        std::memcmp(hellos[other].plan.text, hellos[rank].plan.text,
                    sizeof(PlanHash::text)) != 0)
      return describeOtherPlan(other, rank);
  return {};
}

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_JOINEDPLAN_H
