//===- PlannedWays.cpp - The ways in which a plan lowers a schedule -------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckedLowering.h"
#include "KernelCompiler.h"

#include "sccl/ABI/MessageTable.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Pipelines/Ways.h"
#include "sccl/Plan/PlanBuilder.h"
#include "sccl/Plan/SizeTables.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <tuple>

using namespace mlir;
using namespace sccl;

/// The ways of `schedule`, by how they cut it. Emits an error and fails if it
/// names some, and options say something else about them.
FailureOr<std::vector<PlanBuilder::Cut>>
PlanBuilder::cutsOf(coll::ScheduleOp schedule) const {
  std::vector<Cut> cuts;
  auto add = [&](const coll::Way &way, bool isNamed) {
    auto it = llvm::find_if(cuts, [&](const Cut &cut) {
      return cut.ways.front().cut() == way.cut();
    });
    if (it == cuts.end())
      it = cuts.insert(it, Cut{{}, isNamed});
    if (llvm::none_of(it->ways, [&](const coll::Way &other) {
          return other.key() == way.key();
        }))
      it->ways.push_back(way);
  };
  std::vector<coll::Way> named = coll::importWays(schedule);
  for (const coll::Way &way : named)
    add(way, /*isNamed=*/true);
  bool asksForMore =
      !request.variants.empty() || request.pieces != std::vector<unsigned>{1};
  coll::Way usual, asked = wayOf(request.lowering);
  if (!named.empty() && !asksForMore &&
      std::tuple(asked.protocol, asked.order) !=
          std::tuple(usual.protocol, usual.order))
    return schedule.emitOpError("says in which ways it is lowered; other "
                                "memory, or another order of pieces, is for "
                                "--variant and --pieces");
  if (named.empty() || asksForMore)
    for (unsigned pieces : request.pieces)
      for (const std::string &name : request.variantNames()) {
        std::optional<coll::Way> way = findWay(name);
        if (!way)
          return schedule.emitOpError()
                 << "cannot be lowered as '" << name << "'";
        way->pieces = pieces;
        way->order = asked.order;
        add(*way, /*isNamed=*/false);
      }
  return cuts;
}

/// The ways of `cut`: those that the schedule in `op` names or that are asked
/// for, or else as many as may be had for its `ranges`.
std::vector<PlanBuilder::PlannedWay>
PlanBuilder::waysToLower(coll::ScheduleOp op, const Cut &cut,
                         uint64_t ranges) const {
  std::vector<PlannedWay> ways;
  for (const coll::Way &way : cut.ways) {
    LoweringOptions options = optionsOf(way, request.lowering);
    if (!cut.isNamed) {
      options.throughScratch |= request.lowering.throughScratch;
      options.doubleBuffer |= request.lowering.doubleBuffer;
      options.ll |= request.lowering.ll;
    }
    coll::Way known = wayOf(options);
    known.bestAt = way.bestAt;
    options.pieces = 1; // the schedule is cut
    ways.push_back({nameOf(way).str(), std::move(known), options});
  }
  if (cut.isNamed || !request.variants.empty())
    return ways;
  VariantChoice choice = request.variantsFor(ranges, result.manifest.combining);
  if (!choice.leftOut.empty())
    op.emitRemark() << "has " << ranges << " ranges of chunks, so the "
                    << "plan leaves out " << llvm::join(choice.leftOut, ", ")
                    << "; --variant adds them";
  llvm::erase_if(ways, [&](const PlannedWay &way) {
    return llvm::is_contained(choice.leftOut, way.name);
  });
  // What stands for the schedule until somebody measures comes first.
  llvm::stable_sort(ways, [&](const PlannedWay &a, const PlannedWay &b) {
    return llvm::find(choice.taken, a.name) < llvm::find(choice.taken, b.name);
  });
  return ways;
}

/// What becomes of sums in a program of which a check says `fault`.
static StringRef consequenceOf(StringRef fault, const SumOrder &asked) {
  if (fault.ends_with("(T3)"))
    return "partial sums would be rounded";
  return asked.isTree() ? "sums would be in another order"
                        : "ranks would end with different bits";
}

/// Removes the ways in which ranks do not reduce as they are asked to, in one
/// order or with one rounding, and remarks which. Of a schedule that does not
/// name its ways, and of one whose messages would do so, none is left then.
void PlanBuilder::dropUnlikeOrders(coll::ScheduleOp op, ScheduleCheck &check,
                                   ModuleOp module,
                                   std::vector<PlannedWay> &ways, bool isNamed,
                                   const Collective &collective) const {
  const SumOrder &asked = request.lowering.sumOrder;
  // With partial sums in f32 it depends on the way.
  bool mayRound =
      collective.combining() && contractFor(request.lowering).oneRounding;
  if (!mayRound &&
      (asked == SumOrder::Any ||
       !coll::importOrder(op, collective, asked, mayRound).mayDiffer()))
    return;
  auto differs = [&](StringRef name, const LoweringOptions &options) {
    std::string orders = findOrders(module, options, check, collective);
    if (!orders.empty())
      op.emitRemark() << "@" << op.getSymName() << " is left out, as "
                      << consequenceOf(orders, asked) << ": as " << name
                      << ", it " << orders;
    return !orders.empty();
  };
  for (auto it = ways.begin(); it != ways.end();) {
    bool isUnlike = differs(it->name, it->options);
    // Words and copy engines carry no partial sums in f32, others do.
    if (isUnlike && !isNamed && request.lowering.wire == Wire::Element)
      return ways.clear();
    it = isUnlike ? ways.erase(it) : std::next(it);
  }
  if (!ways.empty() && llvm::any_of(request.targets, isMessageTarget) &&
      differs(messageTarget, messageLowering(request.lowering)))
    ways.clear();
}

/// Notes that program number `program` was lowered in this `way`.
void PlanBuilder::setSource(unsigned program, const coll::Way &way) {
  auto it = llvm::find_if(lowered, [&](const coll::Way &other) {
    return other.key() == way.key();
  });
  if (it == lowered.end())
    it = lowered.insert(it, way);
  else if (it->bestAt.empty())
    it->bestAt = way.bestAt;
  result.manifest.programs[program].source = {unsigned(sources.size()), symbol,
                                              unsigned(it - lowered.begin())};
}

/// The programs of schedule `number`, which `module` holds, in this `way`, for
/// each number of blocks and shape.
LogicalResult PlanBuilder::addWay(ModuleOp module, ScheduleCheck &check,
                                  const PlannedWay &way,
                                  const Collective &collective) {
  std::vector<plan::ProgramEntry> &programs = result.manifest.programs;
  if (hasOnlyMessages()) {
    auto it = llvm::find_if(programs, [&](const plan::ProgramEntry &program) {
      return program.schedule == number;
    });
    advised.push_back({unsigned(it - programs.begin()), way.way.bestAt});
    return success();
  }
  LoweringOptions options = way.options;
  std::optional<unsigned> first;
  for (unsigned blocks : blocksToBuild())
    for (CodeShapeChoice shape : request.shapes) {
      options.blocksPerLink = blocks;
      options.codeShape = shape;
      if (failed(addProgram(module, check, options, way.name, collective)))
        return failure();
      std::optional<unsigned> same = findRepeated(programs.size() - 1);
      if (same)
        dropProgram();
      else
        setSource(programs.size() - 1, way.way);
      if (!first)
        first = same.value_or(programs.size() - 1);
    }
  advised.push_back({*first, way.way.bestAt});
  return success();
}
