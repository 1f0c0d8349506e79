//===- PlanEngines.cpp - What other engines take --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanEngines.h"

#include "MachineFlags.h"

#include "sccl/Advice/MessageTraffic.h"

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

Result<std::vector<Baseline>> driver::engineTimes(mlir::MLIRContext &context,
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
  Fabric fabric = named.fabric;
  for (auto &[name, hosts] : asked) {
    fabric.messages = std::make_shared<MessageClock>(
        MessageClock{std::move(hosts), fabric.timing.launchTime});
    Result<std::vector<SizeAdvice>> times =
        timesByMessages(context, fabric, advice, way, limits);
    if (!times)
      return Error{times.error()};
    engines.push_back({name, std::move(*times)});
  }
  return engines;
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
        engine.name == byMessages
            ? "messages us: GPUs of a box write to each other, others exchange "
              "messages by NCCL, RCCL or MPI: --target=mpi/" +
                  chip
            : "groups us: all by groups of NCCL or RCCL: convert FILE.mlir "
              "FILE.cpp, or FILE.py for torch");
  return notes;
}
