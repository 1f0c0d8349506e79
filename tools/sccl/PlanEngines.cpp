//===- PlanEngines.cpp - What other engines take --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanEngines.h"

#include "ForeignFile.h"
#include "MachineFlags.h"
#include "Output.h"

#include "sccl/Advice/MessageTraffic.h"
#include "sccl/Import/NcclChannels.h"
#include "sccl/Optimize/Deadline.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"

using namespace sccl;
using namespace sccl::driver;

namespace cl = llvm::cl;

static cl::opt<std::string> baselinesPath(
    "baselines",
    cl::desc("Also what NCCL's rings take, and for all_reduce its trees: those "
             "in a log of NCCL_DEBUG=INFO or a graph of NCCL_GRAPH_DUMP_FILE, "
             "or, without a file, such as fit the machine; or what a file of "
             "another tool takes, such as MSCCL XML"),
    cl::value_desc("FILE"), cl::ValueOptional, cl::sub(planCommand()));

/// The algorithm of `rings`, or why there is none.
static Result<Implementation> ringsFor(const Topology &topology,
                                       const Result<std::vector<Ring>> &rings,
                                       const CollectiveFamily &family) {
  if (!family.isPlain())
    return Error{"NCCL has no rings for groups and collectives of one's own"};
  if (!rings)
    return Error{rings.error()};
  return makeRingBaseline(topology, *rings, family.kind,
                          /*chunksPerRing=*/1, family.root);
}

/// The algorithm of `trees`, or why there is none.
static Result<Implementation>
treesFor(const Topology &topology, const Result<std::vector<RankTree>> &trees) {
  if (!trees)
    return Error{trees.error()};
  return makeTreeBaseline(topology, *trees);
}

static bool hasTrees(const CollectiveFamily &family) {
  return family.isPlain() && family.kind == CollectiveKind::AllReduce;
}

/// What a file of another tool does. Prints an error and returns nothing if
/// that is not `family`, or does not run on `topology`.
static std::optional<NamedBaselines>
readForeignBaseline(const Topology &topology, const CollectiveFamily &family) {
  std::optional<ForeignText> file = readForeignText(baselinesPath);
  auto found = file ? readSchedule(baselinesPath, *file, /*flags=*/nullptr)
                    : std::nullopt;
  if (!found)
    return std::nullopt;
  exchange::Findings findings;
  placeOn({topology.name(), topology}, *found, findings);
  if (!findings.empty()) {
    refuse(baselinesPath, findings, /*json=*/false);
    return std::nullopt;
  }
  const Collective &collective = found->collective;
  if (!family.isPlain() || family.kind != collective.kind() ||
      family.root != collective.root()) {
    fail("--baselines=" + baselinesPath +
         " is another collective: " + collective.name());
    return std::nullopt;
  }
  return NamedBaselines{
      {"file", {std::move(found->collective), std::move(found->schedule)}}};
}

/// Those on the rings and trees of a file, or what it does. Prints an error and
/// returns nothing if it has none for `family` on this machine.
static std::optional<NamedBaselines>
readBaselines(const Topology &topology, const CollectiveFamily &family) {
  std::optional<ImportFile> file = loadImportFile(baselinesPath);
  if (!file)
    return std::nullopt;
  using enum FileKind;
  if (llvm::is_contained({Msccl, Mscclpp, Teccl, Forest},
                         recognizeFile(file->text)))
    return readForeignBaseline(topology, family);
  Result<NcclChannels> channels = readNcclChannels(*file, topology.numRanks());
  if (!channels) {
    fail(channels.error());
    return std::nullopt;
  }
  NamedBaselines result;
  auto add = [&](const char *name, Result<Implementation> made) {
    if (made)
      result.emplace_back(name, std::move(*made));
    else
      fail("--baselines=" + baselinesPath + ": " + made.error());
    return bool(made);
  };
  if (!add("ring", ringsFor(topology, channels->rings, family)))
    return std::nullopt;
  if (hasTrees(family) && !channels->trees.empty() &&
      !add("tree", treesFor(topology, channels->trees)))
    return std::nullopt;
  return result;
}

/// Those on rings and trees that fit the machine.
static NamedBaselines findBaselines(const Topology &topology,
                                    const RankGroups &boxes,
                                    const CollectiveFamily &family) {
  NamedBaselines result;
  auto add = [&](const char *name, Result<Implementation> made) {
    if (made)
      result.emplace_back(name, std::move(*made));
    else
      err() << "no baseline '" << name << "': " << made.error() << '\n';
  };
  add("ring", ringsFor(topology, findRings(topology), family));
  if (hasTrees(family))
    add("tree", treesFor(topology, findTrees(topology, boxes)));
  return result;
}

std::optional<NamedBaselines>
driver::makeBaselines(const Topology &topology, const RankGroups &boxes,
                      const CollectiveFamily &family) {
  if (!baselinesPath.getNumOccurrences())
    return NamedBaselines();
  if (!baselinesPath.empty())
    return readBaselines(topology, family);
  return findBaselines(topology, boxes, family);
}

std::optional<std::vector<Baseline>> driver::simulateBaselines(
    mlir::MLIRContext &context, Fabric fabric, const NamedBaselines &schedules,
    const std::vector<uint64_t> &sizes, const std::vector<LoweringWay> &ways,
    const SearchLimits &limits) {
  fabric.messages.reset();
  Deadline deadline(limits);
  std::vector<Baseline> baselines;
  for (const auto &[name, implementation] : schedules) {
    Result<std::vector<SizeAdvice>> times =
        timesOf(context, fabric, implementation, sizes, ways,
                {deadline.remainingLimit(), 0, limits.interrupt});
    if (!times) {
      fail("baseline '" + name + "': " + times.error());
      return std::nullopt;
    }
    baselines.push_back({name, std::move(*times)});
  }
  return baselines;
}

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
