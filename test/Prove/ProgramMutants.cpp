//===- ProgramMutants.cpp - Programs with one change ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Changes.h"
#include "Mutants.h"
#include "QuietContext.h"
#include "SlowProgram.h"

#include "sccl/Analysis/Program.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;
using namespace sccl::test;

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

namespace {
using Change = ProgramChange::Change;
using IsOp = bool (*)(Operation *op);

bool isSignal(Operation *op) { return isa<SignalOp>(op); }
bool isWait(Operation *op) { return isa<WaitOp>(op); }
bool isFlagOp(Operation *op) { return isa<SignalOp, WaitOp>(op); }
bool isBarrier(Operation *op) { return isa<BarrierOp>(op); }
bool isTransfer(Operation *op) { return getTransfer(op).has_value(); }
bool isReduction(Operation *op) { return op->hasAttr("rhs_slot"); }
bool isRemote(Operation *op) { return isa<PutOp, GetOp>(op); }
bool isRank(Operation *op) { return isa<RankOp>(op); }
bool isProgram(Operation *op) { return isa<coll::ProgramOp>(op); }

/// A change of ops that `isOne`.
Change of(IsOp isOne, Change change) {
  return [=](Operation *op, Random &random) {
    return isOne(op) && change(op, random);
  };
}

Change drop() {
  return [](Operation *op, Random &) {
    op->erase();
    return true;
  };
}

Change repeat() {
  return [](Operation *op, Random &) {
    OpBuilder(op).clone(*op);
    return true;
  };
}

/// To the other side of the op before or after, if that `isOther` kind of op.
Change moveUp(IsOp isOther) {
  return [=](Operation *op, Random &) {
    if (!op->getPrevNode() || !isOther(op->getPrevNode()))
      return false;
    op->moveBefore(op->getPrevNode());
    return true;
  };
}
Change moveDown(IsOp isOther) {
  return [=](Operation *op, Random &) {
    if (!op->getNextNode() || !isOther(op->getNextNode()))
      return false;
    op->moveAfter(op->getNextNode());
    return true;
  };
}

/// To the end of another channel of the rank.
Change moveAway() {
  return [](Operation *op, Random &random) {
    auto rank = op->getParentOfType<RankOp>();
    SmallVector<ChannelOp> channels(rank.getBody().getOps<ChannelOp>());
    ChannelOp other = channels[random() % channels.size()];
    if (other == op->getParentOp())
      return false;
    Block &block = other.getBody().front();
    op->moveBefore(&block, block.end());
    return true;
  };
}

/// Adds `difference` to a number.
Change add(StringRef name, int difference) {
  return [=](Operation *op, Random &) {
    auto number = op->getAttrOfType<IntegerAttr>(name);
    if (!number || number.getInt() + difference < 0)
      return false;
    op->setAttr(
        name, IntegerAttr::get(number.getType(), number.getInt() + difference));
    return true;
  };
}

/// Another one of the words that `Attr` has, of which there are `count`.
template <typename Attr> Change replace(StringRef name, unsigned count) {
  return [=](Operation *op, Random &random) {
    auto word = op->getAttrOfType<Attr>(name);
    if (!word)
      return false;
    using Word = decltype(word.getValue());
    unsigned next = unsigned(word.getValue()) + 1 + random() % (count - 1);
    op->setAttr(name, Attr::get(op->getContext(), Word(next % count)));
    return true;
  };
}

Change toggle(StringRef name) {
  return [=](Operation *op, Random &) {
    if (op->hasAttr(name))
      op->removeAttr(name);
    else
      op->setAttr(name, UnitAttr::get(op->getContext()));
    return true;
  };
}

/// Gives one what the other has; or both what the other has.
Change assign(StringRef from, StringRef to, bool both) {
  return [=](Operation *op, Random &) {
    for (StringRef what : {"_slot", "_buffer"}) {
      std::string source = (from + what).str(), target = (to + what).str();
      Attribute old = op->getAttr(target);
      op->setAttr(target, op->getAttr(source));
      if (both)
        op->setAttr(source, old);
    }
    return true;
  };
}

bool pullInstead(Operation *op, Random &) {
  OperationState state(op->getLoc(), isa<PutOp>(op)
                                         ? GetOp::getOperationName()
                                         : PutOp::getOperationName());
  state.addAttributes(op->getAttrs());
  OpBuilder(op).create(state);
  op->erase();
  return true;
}
} // namespace

const std::vector<ProgramChange> &test::programChanges() {
  static const std::vector<ProgramChange> classes = {
      {"signal dropped", of(isSignal, drop())},
      {"signal repeated", of(isSignal, repeat())},
      {"signal before the transfer", of(isSignal, moveUp(isTransfer))},
      {"signal after the next wait", of(isSignal, moveDown(isWait))},
      {"signal by another channel", of(isSignal, moveAway())},
      {"signal to another rank", of(isSignal, add("peer", 1))},
      {"signal of a larger value", of(isSignal, add("value", 1))},
      {"signal of a smaller value", of(isSignal, add("value", -1))},
      {"wait dropped", of(isWait, drop())},
      {"wait repeated", of(isWait, repeat())},
      {"wait after the transfer", of(isWait, moveDown(isTransfer))},
      {"wait before the signal", of(isWait, moveUp(isSignal))},
      {"wait in another channel", of(isWait, moveAway())},
      {"wait for another rank", of(isWait, add("peer", 1))},
      {"wait for another channel", of(isWait, add("channel", 1))},
      {"wait for a larger value", of(isWait, add("value", 1))},
      {"wait for a smaller value", of(isWait, add("value", -1))},
      {"arrival for ready, or back",
       of(isFlagOp, replace<FlagAttr>("flag", 2))},
      {"barrier dropped", of(isBarrier, drop())},
      {"barrier repeated", of(isBarrier, repeat())},
      {"barrier before the transfer", of(isBarrier, moveUp(isTransfer))},
      {"barrier after the transfer", of(isBarrier, moveDown(isTransfer))},
      {"transfer dropped", of(isTransfer, drop())},
      {"transfer repeated", of(isTransfer, repeat())},
      {"transfer before the one before", of(isTransfer, moveUp(isTransfer))},
      {"transfer by another channel", of(isTransfer, moveAway())},
      {"pull for push, or back", of(isRemote, pullInstead)},
      {"copy engine, or none", of(isRemote, toggle("dma"))},
      {"next chunk", of(isTransfer, add("chunk", 1))},
      {"a chunk more", of(isTransfer, add("count", 1))},
      {"a chunk less", of(isTransfer, add("count", -1))},
      {"a time more", of(isTransfer, add("times", 1))},
      {"a time less", of(isTransfer, add("times", -1))},
      {"source a slot further", of(isTransfer, add("src_slot", 1))},
      {"source a slot nearer", of(isTransfer, add("src_slot", -1))},
      {"source in another buffer",
       of(isTransfer, replace<BufferAttr>("src_buffer", 3))},
      {"destination a slot further", of(isTransfer, add("dst_slot", 1))},
      {"destination a slot nearer", of(isTransfer, add("dst_slot", -1))},
      {"destination in another buffer",
       of(isTransfer, replace<BufferAttr>("dst_buffer", 3))},
      {"source and destination swapped",
       of(isTransfer, assign("src", "dst", /*both=*/true))},
      {"longer distance", of(isTransfer, add("src_stride", 1))},
      {"operand a slot further", of(isReduction, add("rhs_slot", 1))},
      {"operand in another buffer",
       of(isReduction, replace<BufferAttr>("rhs_buffer", 3))},
      {"operand twice", of(isReduction, assign("src", "rhs", /*both=*/false))},
      {"final, or not", of(isReduction, toggle("final"))},
      {"less scratch", of(isRank, add("scratch", -1))},
      {"double buffering, or none", of(isProgram, toggle("double_buffered"))},
      {"LL words, or none", of(isProgram, toggle("ll"))},
  };
  return classes;
}

/// All ops of the program in `module`, itself included.
static std::vector<Operation *> opsOf(ModuleOp module) {
  std::vector<Operation *> ops;
  for (coll::ProgramOp program : module.getOps<coll::ProgramOp>())
    program->walk<WalkOrder::PreOrder>(
        [&](Operation *op) { ops.push_back(op); });
  return ops;
}

bool test::changeOne(ModuleOp module, const ProgramChange &one,
                     Random &random) {
  std::vector<Operation *> ops = opsOf(module);
  size_t first = random() % ops.size();
  for (size_t i = 0; i < ops.size(); ++i)
    if (one.change(ops[(first + i) % ops.size()], random))
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Fates
//===----------------------------------------------------------------------===//

static Fate judge(ModuleOp module, const RandomCase &given) {
  if (failed(verify(module)))
    return {Fate::Caught, "the verifier"};
  coll::ProgramOp program = *module.getOps<coll::ProgramOp>().begin();
  // In pieces, that is not the collective of the schedule.
  FailureOr<Problem> problem = importProblem(program);
  if (failed(problem))
    return {Fate::Caught, "the verifier"};
  const Collective &collective = problem->collective;
  bool isAccepted = coll::isRight(program, collective, {SumOrder::Any});
  std::optional<std::string> slow = slowFault(program, collective);
  if (!isAccepted)
    // The order that a program needs must show in one launch.
    return {Fate::Caught, slow ? "the check of programs"
                               : "the check of programs, which is stricter"};
  if (slow)
    return {Fate::Missed, "the check of programs (slow check: " + *slow + ")"};
  if (std::optional<std::string> wrong = runModule(module, given))
    return *wrong == doesNotCompile
               ? Fate{Fate::Caught, "the compiler"}
               : Fate{Fate::Missed, "all checks (" + *wrong + ")"};
  return {Fate::Equivalent, "two checks, and it runs"};
}

void test::mutateProgram(const RandomCase &given, Random &random,
                         KillMatrix &matrix) {
  QuietContext quiet;
  OwningOpRef<ModuleOp> module = moduleOf(quiet.context, given);
  if (failed(runPasses(*module, [&](OpPassManager &manager) {
        addLowering(manager, given.lowering);
      }))) {
    matrix.add("program", "none", {Fate::Missed, "lowering: " + quiet.said});
    return;
  }
  if (Fate fate = judge(*module, given); fate.kind != Fate::Equivalent)
    matrix.add("program", "none", {Fate::Missed, fate.by});
  for (const ProgramChange &one : programChanges()) {
    OwningOpRef<ModuleOp> mutant = module->clone();
    if (changeOne(*mutant, one, random))
      matrix.add("program", one.name, judge(*mutant, given));
  }
}
