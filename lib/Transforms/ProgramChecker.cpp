//===- ProgramChecker.cpp - Symbolic execution of a program ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is wrong with values is found at once. What is wrong with the order is
// found when EventOrder has answered; as claims and answers keep the order
// of execution, the first fault is reported all the same.
//
//===----------------------------------------------------------------------===//

#include "ProgramChecker.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

ProgramChecker::ProgramChecker(ProgramOp program, const Collective &collective,
                               Mode mode)
    : program(program), collective(collective), mode(mode),
      inPlaceOffsets(collective.numRanks()), slots(program, collective),
      order(program, collective.chunksPerSegment()),
      expressions(collective.numRanks()),
      numContributors(collective.numChunks()), states(slots.size()),
      ranks(ranksOf(program)) {
  for (unsigned rank = 0; mode.inPlace && rank < collective.numRanks(); ++rank)
    inPlaceOffsets[rank] = collective.inPlaceOffset(rank);
  fillInputs();
  markRewritten();
}

LogicalResult ProgramChecker::run(const SumContract &contract) {
  // Where partial sums are wide, terms at once are what they are one by one.
  bool isWide = program.getSumWidth() != 1;
  roundsOnce = contract.roundsOnce || (contract.oneRounding && !isWide);
  LogicalResult status = success();
  LogicalResult walked = walkInExecutionOrder(
      program,
      [&](ChannelOp channel, Operation *op) {
        status = execute(channel, op);
        return WalkResult(status);
      },
      mode.isQuiet);
  if (failed(walked) || failed(status) || failed(settle()) ||
      failed(checkDoubleBuffering()))
    return failure();
  if (program.getLl() && failed(checkLL()))
    return failure();
  if (failed(checkOutputs()))
    return failure();
  if (failed(checkOrder(contract.order)))
    return failure();
  return contract.oneRounding && !isWide ? checkRoundings() : success();
}

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

/// The number of a slot. In place, what is in both buffers is in the output.
size_t ProgramChecker::numberOf(unsigned rank, Buffer buffer,
                                unsigned slot) const {
  if (mode.inPlace && buffer == Buffer::Input) {
    int64_t output = slot + inPlaceOffsets[rank];
    auto [begin, end] = std::pair(slots.number(rank, Buffer::Output, 0),
                                  slots.number(rank, Buffer::Scratch, 0));
    if (output >= 0 && output < int64_t(end - begin))
      return begin + output;
  }
  return slots.number(rank, buffer, slot);
}

void ProgramChecker::fillInputs() {
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
    for (auto [slot, chunk] :
         llvm::enumerate(collective.pre().chunksOf(rank))) {
      SlotState &state = states[numberOf(rank, Buffer::Input, slot)];
      state.chunk = chunk;
      state.expression = rank;
      ++numContributors[chunk];
    }
}

/// Finds the slots in which something is overwritten. Who reads one of the
/// others before it is written reads nothing, which is wrong in itself.
void ProgramChecker::markRewritten() {
  std::vector<bool> isFilled(states.size());
  for (auto [number, state] : llvm::enumerate(states))
    isFilled[number] = state.chunk != none;
  forEachOp<TransferOpInterface>(program, [&](TransferOpInterface transfer) {
    SlotRange write = transfer.getWrite();
    slots.forEach(write, [&](size_t number) {
      if (isFilled[number])
        states[number].isRewritten = true;
      isFilled[number] = true;
    });
  });
}

//===----------------------------------------------------------------------===//
// One transfer
//===----------------------------------------------------------------------===//

LogicalResult ProgramChecker::execute(ChannelOp channel, Operation *op) {
  order.advance(channel, op);
  std::optional<Transfer> transfer = getTransfer(op);
  if (!transfer)
    return success();
  requireReady(channel, op, *transfer);
  Access access = order.last(channel);
  executed.push_back({op, access});
  for (const SlotRange &read : transfer->reads)
    lastAccesses[{read.rank, access.channel}] = access;
  lastAccesses[{transfer->write.rank, access.channel}] = access;
  if (failed(checkOverlap(op, *transfer)))
    return failure();
  for (unsigned i = 0; i < transfer->size(); ++i)
    if (failed(executeChunk(op, *transfer, i)))
      return failure();
  return success();
}

/// A peer's buffers belong to this launch only after it has begun there (H3).
/// Scratch that is double-buffered belongs to it from the start, as far as the
/// rank that owns it, and has begun this launch, is known to have done so when
/// this rank's next launch but one begins: see checkDoubleBuffering.
void ProgramChecker::requireReady(ChannelOp channel, Operation *op,
                                  const Transfer &transfer) {
  auto check = [&](const SlotRange &range) {
    if (range.rank == getRank(channel))
      return;
    bool mayWait =
        program.getDoubleBuffered() && range.buffer == Buffer::Scratch;
    claim({mayWait ? Claim::UnreadyScratch : Claim::Unready,
           order.knowsLaunch(range.rank), op, range, nullptr});
  };
  for (const SlotRange &read : transfer.reads)
    check(read);
  check(transfer.write);
}

LogicalResult ProgramChecker::executeChunk(Operation *op,
                                           const Transfer &transfer,
                                           unsigned i) {
  SlotState result;
  unsigned chunk = transfer.chunkAt(i);
  for (const SlotRange &read : transfer.reads)
    if (failed(readSlot(op, read, i, chunk, &read == &transfer.reads.back(),
                        result)))
      return failure();
  if (transfer.bySwitch && transfer.reduces())
    result.expression = expressions.inUnknownOrder(result.expression);
  if (transfer.reduces() &&
      failed(checkFinal(op, chunk, transfer.isFinal, result)))
    return failure();
  if (program.getSumWidth() != 1 &&
      failed(checkWidth(op, transfer.write, i, result)))
    return failure();
  // A chunk that is where it is to be copied to stays there.
  if (isa<CopyOp>(op) &&
      numberOf(transfer.reads[0], i) == numberOf(transfer.write, i))
    return success();
  return writeSlot(op, transfer.write, i, result);
}

/// "scratch[3] of rank 0".
static Fault name(Fault &&fault, const SlotRange &range, unsigned i) {
  return std::move(fault) << stringifyBuffer(range.buffer) << '[' << range[i]
                          << "] of rank " << range.rank;
}

/// A partial sum stays in f32: what is not wide holds inputs and results.
LogicalResult ProgramChecker::checkWidth(Operation *op, const SlotRange &write,
                                         unsigned i, const SlotState &result) {
  unsigned contributions = collective.combining()
                               ? expressions.numContributions(result.expression)
                               : 1;
  if (contributions == 1 || contributions == numContributors[result.chunk] ||
      isWide(ranks[write.rank], write))
    return success();
  if (failed(settle()))
    return failure();
  return name(fault(op) << "rounds a partial sum of chunk " << result.chunk
                        << ": it writes ",
              write, i)
         << ", which is not wide (T3)";
}

/// The chunks of a transfer move at the same time, in any order: none may be
/// read where another is written. A chunk that is written where it was read is
/// in the hands of one thread.
LogicalResult ProgramChecker::checkOverlap(Operation *op,
                                           const Transfer &transfer) {
  const SlotRange &write = transfer.write;
  llvm::DenseMap<unsigned, unsigned> written;
  for (const SlotRange &read : transfer.reads) {
    if (read.rank != write.rank || read.buffer != write.buffer ||
        read == write || !read.touches(write[0], write[write.size() - 1] + 1))
      continue;
    for (unsigned i = 0; i < write.size(); ++i)
      written.try_emplace(write[i], i);
    for (unsigned i = 0; i < read.size(); ++i)
      if (auto it = written.find(read[i]);
          it != written.end() && it->second != i)
        return failed(settle())
                   ? failure()
                   : name(fault(op) << "races with itself: it reads ", read, i)
                         << ", and writes another chunk there (H1)";
  }
  return success();
}

LogicalResult ProgramChecker::readSlot(Operation *op, const SlotRange &range,
                                       unsigned i, unsigned chunk, bool isLast,
                                       SlotState &result) {
  size_t number = numberOf(range, i);
  SlotState &state = states[number];
  auto slot = [&] { return SlotRange{range.rank, range.buffer, range[i], 1}; };
  // What the same op wrote needs to be asked for once.
  std::pair<size_t, uint32_t> pair(executed.size(), state.writer);
  if (state.writer != none && pair != lastAsked) {
    const Executed &writer = executed[state.writer];
    claim({Claim::ReadRace, order.isBefore(writer.access), op, slot(),
           writer.op});
    lastAsked = pair;
  }
  if (state.chunk != chunk) {
    if (failed(settle()))
      return failure();
    return name(fault(op) << "reads chunk " << chunk << " from ", range, i)
           << ", which holds "
           << (state.chunk != none ? "chunk " + std::to_string(state.chunk)
                                   : std::string("nothing"))
           << " then (A1)";
  }
  if (collective.combining() && result.chunk != none) {
    std::optional<unsigned> reduced = expressions.reduce(
        result.expression, state.expression, roundsOnce && !isLast);
    if (!reduced) {
      llvm::BitVector both = expressions.contributions(result.expression);
      both &= expressions.contributions(state.expression);
      if (failed(settle()))
        return failure();
      return fault(op) << "combines the contribution of rank "
                       << both.find_first() << " to chunk " << chunk
                       << " twice (A1)";
    }
    result.expression = *reduced;
  } else {
    result.expression = state.expression;
  }
  result.chunk = chunk;
  state.isRead = true;
  if (state.isRewritten) {
    auto &known = readers[number];
    uint32_t self = executed.size() - 1;
    llvm::erase_if(known, [&](uint32_t reader) {
      return executed[reader].access.channel == executed[self].access.channel;
    });
    known.push_back(self);
  }
  return success();
}

/// The lowest rank whose contribution to `chunk` is not in `expression`.
unsigned ProgramChecker::firstMissing(unsigned chunk,
                                      unsigned expression) const {
  llvm::BitVector has = expressions.contributions(expression);
  for (unsigned rank : collective.pre().ranksOf(chunk))
    if (!has.test(rank))
      return rank;
  llvm_unreachable("nothing is missing");
}

/// A reduction is final if and only if it completes its chunks.
LogicalResult ProgramChecker::checkFinal(Operation *op, unsigned chunk,
                                         bool isFinal,
                                         const SlotState &result) {
  bool isComplete =
      expressions.numContributions(result.expression) == numContributors[chunk];
  if (isComplete == isFinal)
    return success();
  if (failed(settle()))
    return failure();
  if (isFinal)
    return fault(op) << "is final without the contribution of rank "
                     << firstMissing(chunk, result.expression) << " to chunk "
                     << chunk << " (A1)";
  return fault(op) << "makes chunk " << chunk
                   << " complete, but is not final (A1)";
}

LogicalResult ProgramChecker::writeSlot(Operation *op, const SlotRange &range,
                                        unsigned i, const SlotState &result) {
  size_t number = numberOf(range, i);
  SlotState &state = states[number];
  if (state.writer != none && holdsLL(program, range)) {
    if (failed(settle()))
      return failure();
    return name(fault(op) << "writes ", range, i)
           << " a second time, but LL words have only a number for each "
              "launch (D4)";
  }
  auto claimOver = [&](uint32_t other) {
    claim({Claim::WriteRace,
           order.isBefore(executed[other].access),
           op,
           {range.rank, range.buffer, range[i], 1},
           executed[other].op});
  };
  if (state.writer != none)
    claimOver(state.writer);
  if (state.isRewritten) {
    auto &known = readers[number];
    llvm::sort(known, [&](uint32_t a, uint32_t b) {
      return executed[a].access.channel < executed[b].access.channel;
    });
    for (uint32_t reader : known)
      claimOver(reader);
    known.clear();
  }
  state.chunk = result.chunk;
  state.expression = result.expression;
  state.isRead = false;
  state.writer = executed.size() - 1;
  return success();
}

//===----------------------------------------------------------------------===//
// Claims
//===----------------------------------------------------------------------===//

void ProgramChecker::claim(Claim claim) {
  if (claim.question != EventOrder::yes)
    claims.push_back(claim);
}

/// Reports the first claim that is not true. What touches double-buffered
/// scratch of a rank that may not have begun is noted for the end.
LogicalResult ProgramChecker::settle() {
  order.answer();
  for (const Claim &claim : claims) {
    if (order.isTrue(claim.question))
      continue;
    if (claim.kind != Claim::UnreadyScratch)
      return report(claim);
    Transfer transfer = *getTransfer(claim.op);
    unsigned rank = getRank(cast<ChannelOp>(claim.op->getParentOp()));
    unsigned position = transfer.chunk % collective.chunksPerSegment();
    auto [it, isNew] = unready.try_emplace({rank, claim.slot.rank},
                                           FirstUse{position, claim.op});
    if (!isNew && position < it->second.position)
      it->second = {position, claim.op};
  }
  claims.clear();
  return success();
}

LogicalResult ProgramChecker::report(const Claim &claim) {
  if (claim.kind == Claim::Unready)
    return fault(claim.op) << "touches buffers of rank " << claim.slot.rank
                           << " without knowing that its launch has begun (H3)";
  StringRef does = claim.kind == Claim::ReadRace ? "reads " : "writes ";
  return (name(fault(claim.op) << "races: it " << does, claim.slot, 0)
          << ", which another channel accesses without being ordered (H1)")
      .note(claim.other, "the other access is here");
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

/// What a rank writes in launch e into double-buffered scratch may be read
/// until the owner ends launch e. The rank writes there again in launch e + 2:
/// it must have heard, by the end of launch e + 1, of something that the owner
/// did in launch e + 1 (H3). By LL words it hears only if the chunk has bytes:
/// as it writes chunks only if they have bytes, those at the same position or
/// before it will do.
LogicalResult ProgramChecker::checkDoubleBuffering() {
  std::vector<EventOrder::Question> questions;
  for (const auto &[pair, first] : unready)
    questions.push_back(order.hearsOf(pair.first, pair.second, first.position));
  order.answer();
  for (auto [entry, question] : llvm::zip_equal(unready, questions))
    if (!order.isTrue(question))
      return fault(entry.second.op)
             << "writes scratch of rank " << entry.first.second
             << ", of which rank " << entry.first.first
             << " hears nothing before it writes there again (H3)";
  return success();
}

/// LL words that nobody reads may come when the owner has ended the launch, and
/// destroy those of a later one.
LogicalResult ProgramChecker::checkLL() {
  for (auto [number, state] : llvm::enumerate(states)) {
    if (state.writer == none || state.isRead)
      continue;
    SlotRange slot = slots.slotAt(number);
    if (slot.buffer == Buffer::Scratch)
      return fault(executed[state.writer].op)
             << "sends LL words to scratch[" << slot.slot << "] of rank "
             << slot.rank
             << ", which nobody reads, so they may come in a later launch "
                "(H3)";
  }
  return success();
}

/// Every output is right, and nobody accesses a rank's buffers after it has
/// returned: its next launch, or its caller, may use them for something else.
LogicalResult ProgramChecker::checkOutputs() {
  std::vector<std::pair<unsigned, EventOrder::Question>> ends;
  for (const auto &[key, access] : lastAccesses)
    ends.push_back({key.first, order.isBeforeEnd(access, key.first)});
  order.answer();
  auto end = ends.begin();
  for (RankOp rankOp : program.getBody().getOps<RankOp>()) {
    unsigned rank = rankOp.getRank();
    for (auto [slot, chunk] : llvm::enumerate(collective.post().chunksOf(rank)))
      if (failed(checkOutput(rankOp, slot, chunk)))
        return failure();
    for (; end != ends.end() && end->first == rank; ++end)
      if (!order.isTrue(end->second))
        return reportLate(rankOp);
  }
  return success();
}

/// Finds the first slot of a rank with an access that may come after its end,
/// and reports it. What is overwritten happened before what overwrites it.
LogicalResult ProgramChecker::reportLate(RankOp rankOp) {
  struct Use {
    bool isWrite;
    uint32_t channel;
    EventOrder::Question question;
    Operation *op;
  };
  unsigned rank = rankOp.getRank();
  std::map<size_t, std::vector<Use>> uses;
  for (const auto &[op, access] : executed) {
    auto add = [&, op = op, access = access](const SlotRange &range,
                                             bool isWrite) {
      if (range.rank != rank)
        return;
      auto question = order.isBeforeEnd(access, rank);
      for (unsigned i = 0; i < range.size(); ++i) {
        std::vector<Use> &list = uses[numberOf(range, i)];
        if (isWrite)
          list.clear();
        list.push_back({isWrite, access.channel, question, op});
      }
    };
    Transfer transfer = *getTransfer(op);
    for (const SlotRange &read : transfer.reads)
      add(read, false);
    add(transfer.write, true);
  }
  order.answer();
  for (auto &[number, list] : uses) {
    llvm::stable_sort(list, [](const Use &a, const Use &b) {
      return std::pair(!a.isWrite, a.channel) <
             std::pair(!b.isWrite, b.channel);
    });
    for (const Use &use : list) {
      if (order.isTrue(use.question))
        continue;
      SlotRange slot = slots.slotAt(number);
      StringRef done = use.isWrite ? "written" : "read";
      return (fault(rankOp)
              << "may return before " << stringifyBuffer(slot.buffer) << '['
              << slot.slot << "] is " << done << " (H1)")
          .note(use.op, "it is " + done + " here");
    }
  }
  return fault(rankOp) << "may return too early (H1)";
}

LogicalResult ProgramChecker::checkOutput(RankOp rankOp, unsigned slot,
                                          unsigned chunk) {
  unsigned rank = rankOp.getRank();
  const SlotState &state = states[numberOf(rank, Buffer::Output, slot)];
  if (state.chunk != chunk)
    return fault(rankOp) << "ends with "
                         << (state.chunk != none
                                 ? "chunk " + std::to_string(state.chunk)
                                 : std::string("nothing"))
                         << " in output[" << slot << "], expected chunk "
                         << chunk << " (A1)";
  if (collective.combining() &&
      expressions.numContributions(state.expression) != numContributors[chunk])
    return fault(rankOp) << "ends without the contribution of rank "
                         << firstMissing(chunk, state.expression)
                         << " to chunk " << chunk << " (A1)";
  return success();
}
