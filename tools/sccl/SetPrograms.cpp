//===- SetPrograms.cpp - Programs as files of another executor ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SetPrograms.h"

#include "AdviceReport.h"
#include "Driver.h"
#include "Output.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Exchange/UnevenCut.h"
#include "sccl/Pipelines/Ways.h"
#include "sccl/Simulate/TimingOps.h"
#include "sccl/Simulate/Traffic.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace sccl;
using namespace sccl::driver;
using namespace sccl::exchange;

SetPrograms::SetPrograms(mlir::MLIRContext &context, SetExecutor executor,
                         const NamedFabric &named, const Advice &advice,
                         const LoweringOptions &options)
    : context(context), named(named), advice(advice), options(options) {
  const Collective &collective =
      advice.candidates.front().implementation.collective;
  set.executor = executor;
  set.kind = collective.kind();
  set.ranks = collective.numRanks();
  set.ranksPerBox = unsigned(named.boxes.front().size());
  set.least = advice.sizes.front().bytes * scale();
  set.most = advice.sizes.back().bytes * scale();
}

ProgramKey SetPrograms::keyFor(size_t candidate, unsigned pieces,
                               bool usesLL) const {
  const Candidate &asked = advice.candidates[candidate];
  auto isSame = [&](const Candidate &other) {
    return other.implementation.schedule == asked.implementation.schedule &&
           (pieces == 1 || other.order == asked.order);
  };
  auto first = llvm::find_if(advice.candidates, isSame);
  return {size_t(first - advice.candidates.begin()), pieces, usesLL};
}

static bool wantsLL(const SizeAdvice &size) {
  std::optional<coll::Way> way = findWay(size.way);
  return way && way->protocol == coll::Protocol::LL;
}

ProgramKey SetPrograms::keyOf(const SizeAdvice &size) const {
  // They do not go through the ports between boxes.
  bool canLL = !isPlans() || set.ranksPerBox == set.ranks;
  return keyFor(size.candidate, advice.candidates[size.candidate].pieces,
                canLL && wantsLL(size));
}

std::vector<ProgramKey> SetPrograms::othersFor(const SizeAdvice &size) const {
  std::map<ProgramKey, double> estimates;
  bool usesLL = keyOf(size).usesLL;
  for (const SizeAdvice &other : advice.sizes) {
    const Candidate &candidate = advice.candidates[other.candidate];
    for (unsigned pieces = candidate.pieces; pieces > 0; pieces /= 2)
      estimates.try_emplace(keyFor(other.candidate, pieces, usesLL),
                            candidate.estimate(named.fabric.unitTime,
                                               double(size.bytes), pieces));
  }
  std::vector<ProgramKey> keys;
  for (const auto &[key, estimate] : estimates)
    keys.push_back(key);
  llvm::stable_sort(keys, [&](const ProgramKey &a, const ProgramKey &b) {
    return estimates.at(a) < estimates.at(b);
  });
  return keys;
}

/// Of a segment, in pieces.
unsigned SetPrograms::chunksOf(const ProgramKey &key) const {
  return advice.candidates[key.candidate]
             .implementation.collective.chunksPerSegment() *
         key.pieces;
}

/// Pieces, which are then cut so that counts may be powers of two if asked to.
static Result<Implementation> cut(const Candidate &candidate,
                                  const Topology &topology, unsigned pieces,
                                  bool isCut) {
  Result<Implementation> inPieces = cutIntoPieces(
      candidate.implementation, topology, pieces, candidate.order);
  if (!inPieces || !isCut)
    return inPieces;
  Result<CutSchedule> made =
      cutUnevenly(inPieces->collective, inPieces->schedule,
                  cutForPowersOfTwo(inPieces->collective.chunksPerSegment()));
  if (!made)
    return Error{made.error()};
  fitRounds(made->schedule, topology);
  return Implementation{std::move(made->collective), std::move(made->schedule)};
}

Result<const driver::LoweredProgram *> SetPrograms::lower(const ProgramKey &key,
                                                          bool isCut) {
  auto [it, isNew] = programs.try_emplace({key, isCut});
  if (!isNew)
    return it->second.get();
  const Topology &topology = named.fabric.topology;
  Result<Implementation> whole =
      cut(advice.candidates[key.candidate], topology, key.pieces, isCut);
  if (!whole)
    return it->second.get();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      coll::exportModule(context, fileStem(whole->collective.name()), topology,
                         whole->collective, whole->schedule);
  coll::setTiming(*module->getOps<coll::TopologyOp>().begin(), topology,
                  named.fabric.timing);
  auto schedule = *module->getOps<coll::ScheduleOp>().begin();
  coll::Way way;
  way.sumOrder = options.sumOrder;
  mlir::FailureOr<Program> program = programOf(schedule, way);
  if (key.usesLL)
    way.protocol = coll::Protocol::LL;
  mlir::OwningOpRef<mlir::ModuleOp> timed = lowerAs(schedule, way, options);
  if (failed(program) || !timed)
    return Error{"a schedule was not lowered"};
  mlir::FailureOr<Traffic> traffic = coll::trafficOf(
      *timed->getOps<coll::ProgramOp>().begin(), topology, /*chunkBytes=*/1);
  if (failed(traffic))
    return Error{"a program leaves the machine's links"};
  it->second = std::make_unique<LoweredProgram>(LoweredProgram{
      std::move(whole->collective), std::move(*program), std::move(*traffic)});
  return it->second.get();
}

bool SetPrograms::isRefused(const ProgramKey &key, bool inPlace) const {
  auto it = files.find({key, inPlace});
  return it != files.end() && !it->second.reason.empty();
}

Result<double> SetPrograms::timeOf(const ProgramKey &key, uint64_t bytes) {
  bool isCut = programs.contains({key, true});
  Result<const LoweredProgram *> found = lower(key, isCut);
  if (!found || !*found)
    return Error{found ? "there would be too many chunks" : found.error()};
  const LoweredProgram &lowered = **found;
  SimulationOptions how;
  how.scale = double(bytes) / double(scale()) / lowered.collective.chunks();
  Result<SimulationResult> result = simulate(
      named.fabric.topology, lowered.traffic, named.fabric.timing, how);
  if (!result)
    return Error{result.error()};
  return result->microseconds;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

Written SetPrograms::written(const LoweredProgram &lowered,
                             const ProgramKey &key, bool inPlace) const {
  Written result;
  Findings findings;
  if (isPlans()) {
    MscclppExportOptions how;
    how.usesLL = key.usesLL;
    how.inPlace = inPlace;
    how.ranksPerBox = set.ranksPerBox;
    auto plan = toMscclpp(lowered.collective, lowered.program, how);
    if (!plan)
      return {{}, {}, 1, 0, plan.error()};
    result.most = plan->maxBytes;
    result.multiple =
        plan->alignment * uint64_t(lowered.collective.chunksPerSegment());
    result.plan = std::move(*plan);
    return result;
  }
  MscclExportOptions how;
  how.dialect = set.executor == SetExecutor::Nccl ? MscclDialect::Nccl
                                                  : MscclDialect::Rccl;
  how.protocol = key.usesLL ? "LL" : "Simple";
  auto algorithm = toMsccl(lowered.collective, lowered.program, how);
  if (!algorithm)
    return {{}, {}, 1, 0, algorithm.error()};
  if (inPlace && !*algorithm->inPlace)
    return {{}, {}, 1, 0, "the program cannot be run in place"};
  result.multiple = lowered.collective.chunksPerSegment();
  result.algorithm = std::move(*algorithm);
  return result;
}

/// What has no room is not cut for powers of two, which takes more.
Result<const Written *> SetPrograms::write(const ProgramKey &key,
                                           bool inPlace) {
  auto [it, isNew] = files.try_emplace({key, inPlace});
  if (!isNew)
    return &it->second;
  for (bool isCut : {false, true}) {
    if (isCut && (!isUneven(key) || !it->second.reason.empty()))
      break;
    Result<const LoweredProgram *> lowered = lower(key, isCut);
    if (!lowered)
      return Error{lowered.error()};
    if (*lowered)
      it->second = written(**lowered, key, inPlace);
    else
      it->second.reason = "there would be too many chunks";
  }
  return &it->second;
}

std::string SetPrograms::misfit(const Written &written, uint64_t least,
                                uint64_t most) const {
  if (!written.reason.empty())
    return written.reason;
  if (written.most < least)
    return llvm::formatv("the executor addresses no more than {0} of it",
                         formatBytes(written.most));
  uint64_t unit =
      written.multiple * (isPlans() ? 1 : elementType(options.element).bytes);
  uint64_t parts = set.isShared() ? set.ranks : 1;
  bool isServed = most / (parts * unit) * parts * unit >= least;
  if (!isServed || std::bit_floor(least / parts) % unit != 0)
    return llvm::formatv("it is for multiples of {0}{1}", formatBytes(unit),
                         set.isShared() ? " of a rank" : "");
  return "";
}

std::string SetPrograms::describe(const ProgramKey &key) const {
  Candidate candidate = advice.candidates[key.candidate];
  candidate.pieces = key.pieces;
  std::string text =
      describeCandidate(candidate) + (key.usesLL ? ", ll" : ", push");
  if (isUneven(key))
    text += ", cut into " + std::to_string(cutForPowersOfTwo(chunksOf(key)));
  return text;
}

std::string SetPrograms::textOf(SetFile &file, const Written &written) const {
  std::string name = llvm::sys::path::stem(file.path).str();
  if (written.plan) {
    MscclppPlan plan = *written.plan;
    limitSizes(plan, name, file.least, file.most);
    file.name = plan.name;
    return printMscclpp(plan);
  }
  MscclAlgorithm algorithm = *written.algorithm;
  algorithm.name = file.name = name;
  algorithm.minBytes = file.least;
  algorithm.maxBytes = file.most;
  algorithm.inPlace = file.inPlace;
  algorithm.outOfPlace = file.outOfPlace;
  return printMsccl(algorithm);
}
