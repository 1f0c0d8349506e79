//===- PlanBuilder.cpp - From schedules to a plan -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Plan/PlanBuilder.h"

#include "CheckedLowering.h"
#include "KernelCompiler.h"
#include "ProblemFacts.h"
#include "ScheduleFacts.h"
#include "SourceWriter.h"

#include "sccl/ABI/MessageTable.h"
#include "sccl/ABI/RankTable.h"
#include "sccl/Conversion/ProgramInfo.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/UsualModel.h"
#include "sccl/Pipelines/Ways.h"
#include "sccl/Plan/SizeTables.h"
#include "sccl/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <utility>

using namespace mlir;
using namespace sccl;

/// `request`, lowered for all that it reduces.
static PlanRequest withOrder(PlanRequest request) {
  restrictTo({request.elements, request.reductions}, request.lowering);
  return request;
}

PlanBuilder::PlanBuilder(PlanRequest request)
    : askedOrder(request.lowering.sumOrder),
      request(withOrder(std::move(request))),
      compiler(std::make_unique<KernelCompiler>(this->request)) {}

PlanBuilder::~PlanBuilder() = default;

LogicalResult PlanBuilder::checkProblem(Operation *op,
                                        const coll::Problem &problem) {
  plan::Manifest own = describeProblem(problem.collective, problem.topology);
  if (own.sendSegments == 0)
    return op->emitOpError("cannot be part of a plan: no rank has anything to "
                           "send");
  plan::Manifest &first = result.manifest;
  if (first.schedules.empty()) {
    first = std::move(own);
    first.generator = request.generator;
    return success();
  }
  auto differs = [&](const llvm::Twine &own, const llvm::Twine &first) {
    return op->emitOpError()
           << "has " << own << ", but the first schedule of the plan has "
           << first;
  };
  if (own.collective != first.collective || own.combining != first.combining)
    return differs("collective " + own.collective, first.collective);
  if (own.ranks != first.ranks)
    return differs(llvm::Twine(own.ranks) + " ranks", llvm::Twine(first.ranks));
  if (own.root != first.root)
    return differs("root " + llvm::Twine(own.root), llvm::Twine(first.root));
  if (own.layout != first.layout || own.conditions != first.conditions)
    return differs("other buffers or chunks", "the same collective by name");
  if (own.fingerprint != first.fingerprint)
    return differs("topology " + own.topology, first.topology);
  return success();
}

/// Lets pieces of chunks follow each other in the schedules of `module`.
static LogicalResult cutIntoPieces(ModuleOp module,
                                   const LoweringOptions &options) {
  return runPasses(module, [&](OpPassManager &manager) {
    addPieces(manager, options.pieces, options);
  });
}

LogicalResult PlanBuilder::add(ModuleOp module) {
  auto programs = module.getOps<coll::ProgramOp>();
  auto schedules = module.getOps<coll::ScheduleOp>();
  if (schedules.empty() || !programs.empty())
    return module.emitError("a plan is made from schedules, and this holds ")
           << std::distance(schedules.begin(), schedules.end())
           << " of them and " << std::distance(programs.begin(), programs.end())
           << " programs";
  SourceWriter source(module, request.lowering.links.empty());
  for (coll::ScheduleOp schedule : schedules) {
    symbol = schedule.getSymName();
    lowered.clear();
    if (failed(addCuts(schedule)))
      return failure();
    source.setWays(symbol, lowered);
  }
  sources.push_back(source.take());
  return success();
}

LogicalResult PlanBuilder::addCuts(coll::ScheduleOp schedule) {
  FailureOr<std::vector<Cut>> cuts = cutsOf(schedule);
  if (failed(cuts))
    return failure();
  isAdvised &= schedule.getWays().has_value();
  for (const Cut &cut : *cuts) {
    unsigned pieces = cut.ways.front().pieces;
    if (pieces == 1) {
      if (failed(addSchedule(schedule, cut)))
        return failure();
      continue;
    }
    OwningOpRef<ModuleOp> copy = coll::extract(schedule);
    if (failed(::cutIntoPieces(*copy,
                               optionsOf(cut.ways.front(), request.lowering))))
      return failure();
    auto inPieces = *copy->getOps<coll::ScheduleOp>().begin();
    inPieces.setSymName(
        (inPieces.getSymName() + "_" + llvm::Twine(pieces) + "_pieces").str());
    if (failed(addSchedule(inPieces, cut)))
      return failure();
  }
  return success();
}

LogicalResult PlanBuilder::addAsGiven(ModuleOp module) {
  auto isPlannable = [](Operation &op) {
    return isa<coll::ScheduleOp, coll::ProgramOp>(op);
  };
  unsigned count = llvm::count_if(module.getOps(), isPlannable);
  if (count != 1)
    return module.emitError()
           << "holds " << count << " schedules and programs, expected one";
  LoweringOptions options = request.lowering;
  if (failed(::cutIntoPieces(module, options)))
    return failure();
  const unsigned pieces = std::exchange(options.pieces, 1);
  Operation &op = *llvm::find_if(module.getOps(), isPlannable);
  auto schedule = dyn_cast<coll::ScheduleOp>(op);
  FailureOr<coll::Problem> problem =
      schedule ? coll::importProblem(schedule)
               : coll::importProblem(cast<coll::ProgramOp>(op));
  if (failed(problem) || failed(checkProblem(&op, *problem)))
    return failure();
  const Collective &collective = problem->collective;
  // With nothing to choose among, nothing depends on the cost.
  schedules.emplace_back();
  result.manifest.schedules.push_back(
      {SymbolTable::getSymbolName(&op).str(), collective.chunks(),
       collective.chunksPerSegment(), 0, 0, "0"});
  options.codeShape = request.shapes.front();
  if (llvm::any_of(request.targets, isMessageTarget) &&
      failed(addMessages(module, pieces, collective)))
    return failure();
  if (hasOnlyMessages())
    return success();
  ScheduleCheck check(module);
  return addProgram(module, check, options, "given", collective);
}

/// The number of an earlier schedule with the same sends in each step.
std::optional<unsigned> PlanBuilder::findKnown(unsigned chunks,
                                               const Digest &digest) const {
  for (auto [i, known] : llvm::enumerate(result.manifest.schedules))
    if (digests[i] == digest && known.chunks == chunks)
      return i;
  return std::nullopt;
}

/// Schedules of a plan are known by their names, and so are their kernels.
void PlanBuilder::makeNameUnique(coll::ScheduleOp schedule) const {
  auto module = cast<ModuleOp>(schedule->getParentOp());
  std::string base = schedule.getSymName().str(), name = base;
  auto isTaken = [&](const plan::ScheduleInfo &other) {
    return other.name == name;
  };
  for (unsigned i = 1; llvm::any_of(result.manifest.schedules, isTaken) ||
                       (name != base && module.lookupSymbol(name));
       ++i)
    name = base + "_" + std::to_string(i);
  schedule.setSymName(name);
}

/// Numbers of blocks per channel to build programs for, in ascending order.
/// CPUs take no notice, so that one will do.
std::vector<unsigned> PlanBuilder::blocksToBuild() const {
  std::vector<unsigned> blocks = request.blocks;
  llvm::sort(blocks);
  if (llvm::all_of(request.targets, isCPUTarget))
    blocks.resize(1);
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  return blocks;
}

LogicalResult PlanBuilder::addSchedule(coll::ScheduleOp op, const Cut &cut) {
  FailureOr<coll::Problem> problem = coll::importProblem(op);
  if (failed(problem) || failed(checkProblem(op, *problem)))
    return failure();
  const Collective &collective = problem->collective;
  plan::Manifest &manifest = result.manifest;
  ScheduleFacts facts = factsOf(op, collective);
  std::optional<unsigned> known = findKnown(collective.chunks(), facts.digest);
  if (known && !cut.isNamed)
    return op.emitOpError()
           << "is the same as schedule " << *known << " of the plan, "
           << manifest.schedules[*known].name;
  OwningOpRef<ModuleOp> module = coll::extract(op);
  auto copy = *module->getOps<coll::ScheduleOp>().begin();
  if (known)
    copy.setSymName(manifest.schedules[*known].name);
  else
    makeNameUnique(copy);
  ScheduleCheck check(*module);
  std::vector<PlannedWay> ways = waysToLower(op, cut, facts.ranges);
  dropUnlikeOrders(op, check, *module, ways, cut.isNamed, collective);
  if (ways.empty())
    return success();
  number = known.value_or(schedules.size());
  if (!known) {
    schedules.push_back({facts.cost, 0});
    digests.push_back(facts.digest);
    manifest.schedules.push_back({copy.getSymName().str(), collective.chunks(),
                                  collective.chunksPerSegment(),
                                  facts.cost.steps, facts.rounds,
                                  facts.cost.bandwidth.str()});
    if (llvm::any_of(request.targets, isMessageTarget)) {
      if (failed(addMessages(*module, cut.ways.front().pieces, collective)))
        return failure();
      coll::Way pushed = ways.front().way;
      pushed.transport = coll::Transport::Push;
      pushed.protocol = coll::Protocol::Direct;
      pushed.bestAt.clear();
      setSource(manifest.programs.size() - 1, pushed);
    }
  }
  for (const PlannedWay &way : ways)
    if (failed(addWay(*module, check, way, collective)))
      return failure();
  return success();
}

bool PlanBuilder::hasOnlyMessages() const {
  return llvm::all_of(request.targets, isMessageTarget);
}

LogicalResult PlanBuilder::addProgram(ModuleOp module, ScheduleCheck &check,
                                      const LoweringOptions &options,
                                      StringRef variant,
                                      const Collective &collective) {
  FailureOr<OwningOpRef<ModuleOp>> lowered =
      lowerChecked(module, options, check);
  if (failed(lowered))
    return failure();
  bool isGiven = !module.getOps<coll::ProgramOp>().empty();
  // One thread executes a channel then.
  if (request.instrument == Instrument::Channels)
    (*lowered)->walk([](coll::ChannelOp channel) { channel.setSpread(1); });
  LoweredProgram kernels(std::move(*lowered), options);
  auto made = makeChecked(kernels, collective, contractFor(options), isGiven);
  if (failed(made))
    return failure();
  auto [first, verdict] = *made;
  plan::ProgramEntry info;
  static_cast<ProgramInfo &>(info) = first->info;
  info.inPlace = verdict.inPlace;
  info.schedule = number;
  info.variant = variant.str();
  info.codeShape = first->tables.empty() ? "unrolled" : "table";
  result.manifest.programs.push_back(std::move(info));
  return addKernels(kernels, options);
}

/// The kernels of program number `program`, which are next to each other.
static llvm::ArrayRef<plan::KernelInfo>
kernelsOf(const plan::Manifest &manifest, unsigned program) {
  llvm::ArrayRef<plan::KernelInfo> kernels = manifest.kernels;
  auto isOther = [&](const plan::KernelInfo &kernel) {
    return kernel.program != program;
  };
  return kernels.drop_while(isOther).take_until(isOther);
}

/// The first earlier program that is the same as number `last`, whatever the
/// two are called: some options of lowering change nothing in some programs.
std::optional<unsigned> PlanBuilder::findRepeated(unsigned last) const {
  const plan::Manifest &manifest = result.manifest;
  auto isSameCode = [&](const plan::KernelInfo &a, const plan::KernelInfo &b) {
    return a.target == b.target && a.element == b.element &&
           a.reduction == b.reduction && a.blockSize == b.blockSize &&
           a.blob == b.blob && a.rankTables == b.rankTables;
  };
  for (unsigned program = 0; program < last; ++program) {
    plan::ProgramEntry info = manifest.programs[program];
    info.variant = manifest.programs[last].variant;
    info.codeShape = manifest.programs[last].codeShape;
    info.source = manifest.programs[last].source;
    if (info == manifest.programs[last] &&
        llvm::equal(kernelsOf(manifest, program), kernelsOf(manifest, last),
                    isSameCode))
      return program;
  }
  return std::nullopt;
}

/// Removes the last program and its kernels, whose code belongs to others too.
void PlanBuilder::dropProgram() {
  plan::Manifest &manifest = result.manifest;
  manifest.programs.pop_back();
  while (!manifest.kernels.empty() &&
         manifest.kernels.back().program == manifest.programs.size())
    manifest.kernels.pop_back();
}

/// The program that stands for a schedule until somebody measures; the model
/// knows no difference. Where values are combined, it is better to fetch what a
/// peer has than to have it written here (docs/Rationale/Plan.md).
static unsigned standIn(const plan::Manifest &manifest, unsigned schedule) {
  // That of switches is there because it was asked for.
  for (const char *name : {"in-network", manifest.combining ? "pull" : "", ""})
    for (auto [index, program] : llvm::enumerate(manifest.programs))
      if (program.schedule == schedule &&
          (*name == 0 || program.variant == name))
        return index;
  llvm_unreachable("a schedule without a program");
}

SumOrder PlanBuilder::commonOrder() const {
  bool isFree = request.lowering.sumOrder == SumOrder::Any;
  bool hasMessages = llvm::any_of(request.targets, isMessageTarget);
  if (isFree || hasMessages || lowered.empty())
    return askedOrder;
  SumOrder common = lowered.front().sumOrder;
  for (const coll::Way &way : lowered)
    if (way.sumOrder != common)
      common = way.sumOrder == SumOrder::Any || common == SumOrder::Any
                   ? SumOrder::Any
                   : SumOrder::Same;
  return common;
}

bool PlanBuilder::haveOneRounding() const {
  bool hasMessages = llvm::any_of(request.targets, isMessageTarget);
  if (hasMessages || lowered.empty())
    return contractFor(request.lowering).oneRounding;
  return llvm::all_of(lowered, [](const coll::Way &way) {
    return way.oneRounding || way.sumsInF32;
  });
}

plan::Plan PlanBuilder::finish() {
  plan::Manifest &manifest = result.manifest;
  if (manifest.combining) {
    manifest.sumOrder = commonOrder().toString();
    manifest.oneRounding = haveOneRounding();
    auto isWide = [](const coll::Way &way) { return way.sumsInF32; };
    manifest.sumsInF32 = manifest.oneRounding &&
                         (lowered.empty() ? request.lowering.wire == Wire::F32
                                          : llvm::any_of(lowered, isWide));
  }
  if (isAdvised && areAdvised(advised) && !request.model) {
    manifest.tables.push_back(tableOfAdvice(advised));
    std::vector<AdvisedProgram> others = advised;
    std::erase_if(others, [&](const AdvisedProgram &program) {
      return !manifest.programs[program.program].switchGroups.empty();
    });
    if (others.size() < advised.size() && areAdvised(others))
      manifest.tables.push_back(tableOfAdvice(others));
  } else {
    for (auto [index, schedule] : llvm::enumerate(schedules))
      schedule.program = standIn(manifest, index);
    manifest.tables.push_back(
        tableOfModel(schedules, request.model.value_or(usualModel)));
  }
  // Modules lie behind the code, and those that are too long nowhere.
  std::vector<std::optional<unsigned>> blobs;
  for (std::string &source : sources) {
    blobs.emplace_back();
    if (source.empty())
      continue;
    blobs.back() = result.blobs.size();
    result.blobs.push_back(std::move(source));
  }
  for (plan::ProgramEntry &program : manifest.programs)
    if (program.source && !blobs[program.source->blob])
      program.source.reset();
    else if (program.source)
      program.source->blob = *blobs[program.source->blob];
  return std::move(result);
}
