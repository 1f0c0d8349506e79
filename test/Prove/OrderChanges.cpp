//===- OrderChanges.cpp - Other orders of summation -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Changes.h"

#include "sccl/Analysis/Program.h"

#include "mlir/IR/Builders.h"

#include <algorithm>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;
using namespace sccl::test;

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static unsigned numberAt(Operation *op, const Twine &name) {
  auto number = op->getAttrOfType<IntegerAttr>(name.str());
  return number ? number.getInt() : 0;
}
static void setNumber(Operation *op, const Twine &name, unsigned number) {
  op->setAttr(name.str(),
              IntegerAttr::get(IntegerType::get(op->getContext(), 32), number));
}
static bool isReduction(Operation *op) { return op->hasAttr("rhs_slot"); }

/// Gives place `to` of `b` what place `from` of `a` is, and the other way
/// round; both move the same chunks.
static void exchange(Operation *a, StringRef from, Operation *b, StringRef to) {
  for (StringRef what : {"_slot", "_buffer", "_stride"}) {
    std::string mine = (from + what).str(), other = (to + what).str();
    Attribute kept = a->getAttr(mine);
    a->setAttr(mine, b->getAttr(other));
    b->setAttr(other, kept);
  }
}

/// The transfers of the ranks in `program` that move the same chunks as `op`,
/// which is not among them.
static std::vector<Operation *> othersLike(Operation *op) {
  Transfer given = *getTransfer(op);
  std::vector<Operation *> others;
  op->getParentOfType<coll::ProgramOp>()->walk([&](Operation *other) {
    std::optional<Transfer> transfer = getTransfer(other);
    if (other != op && transfer && transfer->chunk == given.chunk &&
        transfer->count == given.count && transfer->times == given.times &&
        transfer->chunkStride == given.chunkStride)
      others.push_back(other);
  });
  return others;
}

/// A random one of `others` that `fits`, or null.
template <typename Fits>
static Operation *pick(const std::vector<Operation *> &others, Random &random,
                       Fits fits) {
  std::vector<Operation *> fitting;
  llvm::copy_if(others, std::back_inserter(fitting), fits);
  return fitting.empty() ? nullptr : fitting[random() % fitting.size()];
}

/// Makes an op of its own of the first chunk that `op` moves, before the rest.
static Operation *peel(Operation *op) {
  unsigned times = numberAt(op, "times"), count = numberAt(op, "count");
  bool isRepeated = times > 1;
  Operation *first = OpBuilder(op).clone(*op);
  auto advance = [&](StringRef name, StringRef stride) {
    setNumber(op, name,
              numberAt(op, name) + (isRepeated ? numberAt(op, stride) : 1));
  };
  advance("chunk", "chunk_stride");
  for (StringRef end : {"src", "rhs", "dst"})
    if (op->hasAttr((end + "_slot").str()))
      advance((end + "_slot").str(), (end + "_stride").str());
  setNumber(op, isRepeated ? "times" : "count",
            (isRepeated ? times : count) - 1);
  for (Operation *part : {op, first}) {
    if (part == first)
      setNumber(part, isRepeated ? "times" : "count", 1);
    if (numberAt(part, "times") == 1)
      for (StringRef what : {"chunk", "src", "rhs", "dst"})
        if (part->hasAttr((what + "_stride").str()))
          setNumber(part, what + "_stride", 0);
  }
  return first;
}

namespace {
using Change = ProgramChange::Change;

/// Another operand first.
bool swapOperands(Operation *op, Random &) {
  if (!isReduction(op))
    return false;
  exchange(op, "src", op, "rhs");
  return true;
}

/// Exchanges `from` of an op with `to` of another one of the rank; of the first
/// chunk only, if the others are to stay.
Change exchangeInRank(StringRef from, StringRef to, bool ofOneChunk) {
  return [=](Operation *op, Random &random) {
    if (!getTransfer(op) || !op->hasAttr((from + "_slot").str()))
      return false;
    auto rank = op->getParentOfType<RankOp>();
    Operation *other = pick(othersLike(op), random, [&](Operation *other) {
      return other->getParentOfType<RankOp>() == rank &&
             other->hasAttr((to + "_slot").str()) &&
             (isReduction(op) || isReduction(other));
    });
    if (!other || (ofOneChunk && getTransfer(op)->size() == 1))
      return false;
    exchange(ofOneChunk ? peel(op) : op, from, ofOneChunk ? peel(other) : other,
             to);
    return true;
  };
}

/// Exchanges the places of two arrivals at one rank.
bool exchangeArrivals(Operation *op, Random &random) {
  std::optional<Transfer> transfer = getTransfer(op);
  if (!transfer || transfer->write.buffer != Buffer::Scratch)
    return false;
  Operation *other = pick(othersLike(op), random, [&](Operation *other) {
    const SlotRange write = getTransfer(other)->write;
    return write.rank == transfer->write.rank &&
           write.buffer == Buffer::Scratch && write != transfer->write;
  });
  if (!other)
    return false;
  exchange(op, "dst", other, "dst");
  return true;
}

/// Exchanges what two puts or gets of a rank bring.
bool exchangeSources(Operation *op, Random &random) {
  if (!isa<PutOp, GetOp>(op))
    return false;
  Operation *other = pick(othersLike(op), random, [&](Operation *other) {
    return other->getName() == op->getName() &&
           getTransfer(other)->reads[0].rank == getTransfer(op)->reads[0].rank;
  });
  if (!other)
    return false;
  exchange(op, "src", other, "src");
  return true;
}

/// Exchanges two reductions of a channel.
bool exchangeReductions(Operation *op, Random &random) {
  if (!isReduction(op))
    return false;
  Operation *other = pick(othersLike(op), random, [&](Operation *other) {
    return isReduction(other) && other->getBlock() == op->getBlock();
  });
  if (!other)
    return false;
  Operation *next = other->getNextNode();
  other->moveBefore(op);
  if (next != op)
    op->moveBefore(other->getBlock(),
                   next ? Block::iterator(next) : other->getBlock()->end());
  return true;
}

/// Adds some of the terms first.
bool splitTerms(Operation *op, Random &random) {
  unsigned terms = isReduction(op) ? numberAt(op, "terms") : 1;
  if (terms < 2 || !isa<LocalReduceOp>(op))
    return false;
  unsigned split = 1 + random() % (terms - 1);
  Operation *first = OpBuilder(op).clone(*op);
  first->removeAttr("final");
  setNumber(first, "terms", split);
  setNumber(op, "terms", terms - split);
  setNumber(op, "rhs_slot",
            numberAt(op, "rhs_slot") + split * numberAt(op, "term_stride"));
  for (Operation *part : {first, op})
    if (numberAt(part, "terms") == 1)
      setNumber(part, "term_stride", 0);
  for (StringRef what : {"_slot", "_buffer", "_stride"})
    op->setAttr(("src" + what).str(), first->getAttr(("dst" + what).str()));
  return true;
}

/// Adds with the reduction before what it is added to.
bool joinTerms(Operation *op, Random &random) {
  if (!isa<LocalReduceOp>(op) || numberAt(op, "terms") != 1)
    return false;
  Operation *before = pick(othersLike(op), random, [&](Operation *other) {
    return isa<LocalReduceOp>(other) && other->getBlock() == op->getBlock() &&
           numberAt(other, "terms") == 1 &&
           getTransfer(other)->write == getTransfer(op)->reads[0] &&
           other->getAttr("rhs_buffer") == op->getAttr("rhs_buffer") &&
           numberAt(other, "rhs_slot") < numberAt(op, "rhs_slot");
  });
  if (!before)
    return false;
  setNumber(op, "terms", 2);
  setNumber(op, "term_stride",
            numberAt(op, "rhs_slot") - numberAt(before, "rhs_slot"));
  for (StringRef what :
       {"src_slot", "src_buffer", "src_stride", "rhs_slot", "rhs_stride"})
    op->setAttr(what, before->getAttr(what));
  before->erase();
  return true;
}
} // namespace

const std::vector<ProgramChange> &test::programOrderChanges() {
  static const std::vector<ProgramChange> classes = {
      {"operands of one reduction swapped", swapOperands},
      {"right operands of two exchanged", exchangeInRank("rhs", "rhs", false)},
      {"left operands of two exchanged", exchangeInRank("src", "src", false)},
      {"left for right operand of another",
       exchangeInRank("src", "rhs", false)},
      {"right operands exchanged for one chunk",
       exchangeInRank("rhs", "rhs", true)},
      {"left for right operand of another, for one chunk",
       exchangeInRank("src", "rhs", true)},
      {"results of two exchanged", exchangeInRank("dst", "dst", false)},
      {"arrivals of two exchanged", exchangeArrivals},
      {"what two transfers bring exchanged", exchangeSources},
      {"two reductions exchanged", exchangeReductions},
      {"terms in two reductions", splitTerms},
      {"two reductions as terms of one", joinTerms},
  };
  return classes;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// Visits the sends of `chunk`, with the numbers of their steps.
template <typename Visit>
static void forEachSend(Schedule &schedule, uint32_t chunk, Visit visit) {
  for (size_t step = 0; step < schedule.steps.size(); ++step)
    for (Send &send : schedule.steps[step].sends)
      if (send.chunk == chunk)
        visit(step, send);
}

/// Two ranks take each other's part in the sum of one chunk.
static bool exchangeRanks(const RandomCase &given, Schedule &schedule,
                          size_t step, size_t index, Random &random) {
  uint32_t chunk = schedule.steps[step].sends[index].chunk;
  uint32_t a = random() % given.topology.numRanks();
  uint32_t b = random() % given.topology.numRanks();
  auto renamed = [&](uint32_t rank) {
    return rank == a ? b : rank == b ? a : rank;
  };
  forEachSend(schedule, chunk, [&](size_t, Send &send) {
    send.src = renamed(send.src);
    send.dst = renamed(send.dst);
  });
  return a != b;
}

/// Exchanges a part of a send with that of another one of the chunk.
template <typename Member>
static ScheduleChange::Change exchangeOf(Member member) {
  return [=](const RandomCase &, Schedule &schedule, size_t step, size_t index,
             Random &random) {
    Send &send = schedule.steps[step].sends[index];
    std::vector<Send *> others;
    forEachSend(schedule, send.chunk, [&](size_t, Send &other) {
      if (member(other) != member(send))
        others.push_back(&other);
    });
    if (others.empty())
      return false;
    std::swap(member(send), member(*others[random() % others.size()]));
    return true;
  };
}
static uint32_t &sourceOf(Send &send) { return send.src; }
static uint32_t &targetOf(Send &send) { return send.dst; }
static Send &allOf(Send &send) { return send; }

/// The sends of a chunk in a step change places with those in the next one;
/// or all of them go into the first, or into a step between, of which the
/// others know nothing.
enum class Steps { Swapped, Joined, Split };
static ScheduleChange::Change changeSteps(Steps kind) {
  return [=](const RandomCase &, Schedule &schedule, size_t step, size_t index,
             Random &random) {
    uint32_t chunk = schedule.steps[step].sends[index].chunk;
    auto take = [&](Step &from) {
      auto others = std::stable_partition(
          from.sends.begin(), from.sends.end(),
          [&](const Send &send) { return send.chunk != chunk; });
      std::vector<Send> taken(others, from.sends.end());
      from.sends.erase(others, from.sends.end());
      return taken;
    };
    auto put = [](Step &to, const std::vector<Send> &sends) {
      to.sends.insert(to.sends.end(), sends.begin(), sends.end());
    };
    if (kind == Steps::Split) {
      std::vector<Send> sends = take(schedule.steps[step]);
      size_t half = random() % sends.size();
      Step later{schedule.steps[step].rounds,
                 {sends.begin() + half, sends.end()}};
      put(schedule.steps[step], {sends.begin(), sends.begin() + half});
      schedule.steps.insert(schedule.steps.begin() + step + 1, later);
      return half != 0;
    }
    if (step + 1 == schedule.steps.size())
      return false;
    Step &first = schedule.steps[step], &second = schedule.steps[step + 1];
    std::vector<Send> early = take(first), late = take(second);
    put(first, late);
    put(kind == Steps::Joined ? first : second, early);
    return !late.empty();
  };
}

/// Leaves out a part of what is sent, or adds one.
static bool otherParts(const RandomCase &, Schedule &schedule, size_t step,
                       size_t index, Random &random) {
  Send &send = schedule.steps[step].sends[index];
  if (send.payload == SendPayload::Current)
    return false;
  send.kept ^= 1u << random() % 3;
  return true;
}

const std::vector<ScheduleChange> &test::scheduleOrderChanges() {
  static const std::vector<ScheduleChange> classes = {
      {"ranks exchanged for one chunk", exchangeRanks},
      {"senders of two exchanged", exchangeOf(sourceOf)},
      {"receivers of two exchanged", exchangeOf(targetOf)},
      {"sends of a chunk exchanged", exchangeOf(allOf)},
      {"steps of a chunk swapped", changeSteps(Steps::Swapped)},
      {"steps of a chunk joined", changeSteps(Steps::Joined)},
      {"step of a chunk split", changeSteps(Steps::Split)},
      {"other parts of a sum", otherParts},
  };
  return classes;
}
