//===- PlanEngines.cpp - What other engines take --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanEngines.h"

#include "MachineFlags.h"
#include "Output.h"

#include "sccl/Advice/MessageTraffic.h"
#include "sccl/Optimize/Deadline.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"

using namespace sccl;
using namespace sccl::driver;

static llvm::cl::opt<bool> withEngines(
    "engines",
    llvm::cl::desc("Also what other engines take that can run an answer: "
                   "messages between boxes, and groups of messages alone"),
    llvm::cl::sub(planCommand()));

static constexpr const char *byMessages = "messages", *byGroups = "groups";

/// Each rank by itself.
static RankGroups alone(unsigned numRanks) {
  RankGroups ranks;
  for (unsigned rank = 0; rank < numRanks; ++rank)
    ranks.push_back({rank});
  return ranks;
}

/// What the schedules of `advice` take in engines that exchange messages: where
/// GPUs of a box write to each other, unless the advice is of that, and where
/// all goes by groups of a library.
static Result<std::vector<Baseline>> engineTimes(mlir::MLIRContext &context,
                                                 const NamedFabric &named,
                                                 const Advice &advice,
                                                 const LoweringWay &way,
                                                 const SearchLimits &limits) {
  std::vector<std::pair<const char *, RankGroups>> asked;
  if (withEngines && !named.fabric.messages)
    asked.emplace_back(byMessages, named.boxes);
  if (withEngines)
    asked.emplace_back(byGroups, alone(named.fabric.topology.numRanks()));
  std::vector<Baseline> engines;
  Deadline deadline(limits);
  Fabric fabric = named.fabric;
  for (auto &[name, hosts] : asked) {
    engines.push_back({name, {}});
    if (deadline.isOver())
      continue;
    fabric.messages = std::make_shared<MessageClock>(
        MessageClock{std::move(hosts), fabric.timing.launchTime});
    Result<std::vector<SizeAdvice>> times =
        timesByMessages(context, fabric, advice, way,
                        {deadline.remainingLimit(), 0, limits.interrupt});
    // What it has not tried may be faster.
    if (deadline.isOver())
      continue;
    if (!times)
      return Error{times.error()};
    engines.back().sizes = std::move(*times);
  }
  return engines;
}

bool driver::hasMoreToCompare(const NamedBaselines &schedules) {
  return withEngines || !schedules.empty();
}

std::optional<std::vector<Baseline>>
driver::timesToCompare(mlir::MLIRContext &context, const NamedFabric &named,
                       const NamedBaselines &schedules, const Advice &advice,
                       const std::vector<LoweringWay> &ways,
                       const SearchLimits &limits) {
  Deadline deadline(limits);
  std::vector<uint64_t> sizes;
  for (const SizeAdvice &size : advice.sizes)
    sizes.push_back(size.bytes);
  // Baselines can be estimated, engines are simulated or missing.
  const double shares = withEngines ? 2 : 1;
  std::optional<std::vector<Baseline>> all =
      simulateBaselines(context, named.fabric, schedules, sizes, ways,
                        {limits.timeoutSeconds / shares, 0, limits.interrupt});
  if (!all)
    return std::nullopt;
  Result<std::vector<Baseline>> engines =
      engineTimes(context, named, advice, ways.front(),
                  {deadline.remainingLimit(), 0, limits.interrupt});
  if (!engines) {
    fail(engines.error());
    return std::nullopt;
  }
  llvm::append_range(*all, *engines);
  return all;
}

std::vector<std::string>
driver::engineNotes(const NamedFabric &named,
                    const std::vector<Baseline> &engines) {
  auto isEngine = [](const Baseline &one) {
    return one.name == byMessages || one.name == byGroups;
  };
  if (llvm::none_of(engines, isEngine))
    return {};
  std::string chip = named.chip.empty() ? "CHIP" : named.chip;
  std::vector<std::string> notes;
  if (!named.fabric.messages)
    notes.push_back(
        named.boxes.size() > 1
            ? "us: kernels that write to all peers, which between boxes need "
              "NCCL's device functions: compile --target=nccl-device"
            : "us: kernels that write to all peers: --target=" + chip);
  for (const Baseline &engine : llvm::make_filter_range(engines, isEngine))
    notes.push_back(
        !engine.isKnown() ? engine.name + " us: there was no time for these"
        : engine.name == byMessages
            ? "messages us: GPUs of a box write to each other, others exchange "
              "messages by NCCL, RCCL or MPI: --target=mpi/" +
                  chip
            : "groups us: all by groups of NCCL or RCCL: convert FILE.mlir "
              "FILE.cpp, or FILE.py for torch");
  return notes;
}
