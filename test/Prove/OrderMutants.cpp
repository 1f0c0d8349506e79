//===- OrderMutants.cpp - Sums in another order ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether a mutant adds up in the order that is asked for, and rounds each sum
// once where that is asked for, is found twice: by the checks, and by writing
// down each output as a text while SlowProgram executes the program. Both must
// agree on each mutant.
//
//===----------------------------------------------------------------------===//

#include "Changes.h"
#include "Mutants.h"
#include "QuietContext.h"
#include "SlowProgram.h"
#include "SlowTree.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/OrderCheck.h"
#include "sccl/Transforms/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::test;

/// Whether the outputs that `trees` describe are added up in the order of
/// `given`.
static bool keepOrder(const SlowTrees &trees, const Collective &collective,
                      const SumOrder &order) {
  std::map<unsigned, std::string> expected;
  for (const auto &[output, tree] : trees) {
    unsigned chunk = output.second;
    auto [it, isFirst] = expected.try_emplace(chunk, tree);
    if (isFirst && order.isTree())
      it->second = slowTree(order.toString(), collective.pre().ranksOf(chunk));
    if (tree != it->second)
      return false;
  }
  return true;
}

namespace {
/// What two checks say of the order of a program.
struct Opinion {
  std::optional<Fate> refused; ///< for something else
  bool byCheck = false, bySlow = false;
};

/// The fate of a mutant of which only the order is left to be judged.
Fate fateOf(const Opinion &opinion, const char *check) {
  if (opinion.refused)
    return *opinion.refused;
  if (opinion.byCheck != opinion.bySlow)
    return {Fate::Missed,
            std::string(check) + (opinion.byCheck ? "" : ", without reason")};
  return opinion.byCheck ? Fate{Fate::Equivalent, "two checks: the same sums"}
                         : Fate{Fate::Caught, check};
}

Opinion opinionOn(ModuleOp module, const RandomCase &given) {
  Opinion opinion;
  if (failed(verify(module))) {
    opinion.refused = {Fate::Caught, "the verifier"};
    return opinion;
  }
  coll::ProgramOp program = *module.getOps<coll::ProgramOp>().begin();
  FailureOr<coll::Problem> problem = coll::importProblem(program);
  if (failed(problem)) {
    opinion.refused = {Fate::Caught, "the verifier"};
    return opinion;
  }
  const Collective &collective = problem->collective;
  SumContract contract = contractFor(given.lowering);
  if (!coll::isRight(program, collective, {SumOrder::Any})) {
    opinion.refused = {Fate::Caught, "the check of programs"};
    return opinion;
  }
  opinion.byCheck = coll::isRight(program, collective, contract);
  SlowTrees trees = slowTrees(program, collective, contract.roundsOnce);
  opinion.bySlow = keepOrder(trees, collective, contract.order);
  for (const auto &[output, tree] : trees)
    opinion.bySlow &= !contract.oneRounding || slowRoundings(tree) <= 1;
  return opinion;
}

/// The program of `given`, made for its order and not held to it; null if there
/// is none.
OwningOpRef<ModuleOp> lower(MLIRContext &context, const RandomCase &given) {
  OwningOpRef<ModuleOp> module = moduleOf(context, given);
  if (failed(runPasses(*module, [&](OpPassManager &manager) {
        addLowering(manager, given.lowering, {SumOrder::Any});
      })))
    return {};
  return module;
}

Fate judge(const RandomCase &mutant) {
  const auto &[collective, schedule] = mutant.implementation;
  if (checkSchedule(mutant.topology, collective, schedule))
    return {Fate::Caught, "the check of schedules"};
  QuietContext quiet;
  OwningOpRef<ModuleOp> module = lower(quiet.context, mutant);
  if (!module)
    return {Fate::Missed, "all checks: " + quiet.said};
  Opinion opinion = opinionOn(*module, mutant);
  const SumOrder &order = mutant.lowering.sumOrder;
  if (!order.isTree() || opinion.refused || opinion.byCheck != opinion.bySlow)
    return fateOf(opinion, "the check of the program's order");
  opinion.byCheck = !checkOrder(collective, schedule, order);
  return fateOf(opinion, "the check of the schedule's order");
}
} // namespace

/// True if the program of `given` rounds each sum of small floats once.
static bool canRoundOnce(RandomCase given) {
  given.lowering.oneRounding = true;
  QuietContext quiet;
  OwningOpRef<ModuleOp> module = lower(quiet.context, given);
  return contractFor(given.lowering).oneRounding && module &&
         opinionOn(*module, given).byCheck;
}

void test::mutateOrder(const RandomCase &asked, Random &random,
                       KillMatrix &matrix) {
  RandomCase given = asked;
  const SumOrder &order = given.lowering.sumOrder;
  if (!given.implementation.collective.combining() || order == SumOrder::Any)
    return;
  given.lowering.oneRounding = !order.isTree() && canRoundOnce(given);
  QuietContext quiet;
  OwningOpRef<ModuleOp> module = lower(quiet.context, given);
  Fate whole = module ? fateOf(opinionOn(*module, given), "its check")
                      : Fate{Fate::Missed, "lowering: " + quiet.said};
  if (whole.kind != Fate::Equivalent) {
    matrix.add("program's order", "none", {Fate::Missed, whole.by});
    return;
  }
  auto mutateProgram = [&](const ProgramChange &one) {
    OwningOpRef<ModuleOp> mutant = module->clone();
    if (changeOne(*mutant, one, random))
      matrix.add("program's order", one.name,
                 fateOf(opinionOn(*mutant, given),
                        "the check of the program's order"));
  };
  auto mutateSchedule = [&](const ScheduleChange &one) {
    RandomCase mutant = given;
    // Which sum is sent counts, and not whether the links can carry it.
    for (Step &step : mutant.implementation.schedule.steps)
      step.rounds += step.sends.size();
    if (changeOne(mutant, one, random))
      matrix.add("schedule's order", one.name, judge(mutant));
  };
  for (unsigned times = 0; times < 4; ++times) {
    llvm::for_each(programOrderChanges(), mutateProgram);
    llvm::for_each(scheduleOrderChanges(), mutateSchedule);
  }
  llvm::for_each(programChanges(), mutateProgram);
  llvm::for_each(scheduleChanges(), mutateSchedule);
}
