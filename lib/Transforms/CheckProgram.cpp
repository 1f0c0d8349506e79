//===- CheckProgram.cpp - Symbolic execution with vector clocks -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "sccl/Analysis/Program.h"
#include "sccl/Analysis/VectorClock.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/BitVector.h"

#include <map>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_CHECKPROGRAM
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

namespace {
/// One access: the `time`-th op of a channel.
struct Access {
  size_t channel;
  uint32_t time;
  Operation *op;
  const VectorClock *clock; ///< of the channel; valid while the op executes
  bool happensBefore(const VectorClock &clock) const {
    return clock[channel] >= time;
  }
};

/// What is in a slot, and who touched it.
struct SlotState {
  std::optional<unsigned> chunk;
  llvm::BitVector contributions; ///< by rank; used if the collective combines
  unsigned expression = 0;       ///< likewise, see Expressions
  std::optional<Access> writer;
  std::map<size_t, Access> readers; ///< the last read of each channel
};

/// The ways in which contributions were combined, each with a number of its
/// own. Combining is commutative, but floats round: (a b) c is not a (b c).
class Expressions {
public:
  /// The contribution of a rank, in any chunk, is the expression `rank`.
  explicit Expressions(unsigned numRanks) : pairs(numRanks) {}

  unsigned combine(unsigned a, unsigned b) {
    std::pair<unsigned, unsigned> pair = std::minmax(a, b);
    auto [it, isNew] = numbers.try_emplace(pair, pairs.size());
    if (isNew)
      pairs.push_back(pair);
    return it->second;
  }

  /// "((0 1) 2)".
  std::string toString(unsigned expression) const {
    const auto &pair = pairs[expression];
    if (!pair)
      return std::to_string(expression);
    return "(" + toString(pair->first) + " " + toString(pair->second) + ")";
  }

private:
  std::map<std::pair<unsigned, unsigned>, unsigned> numbers;
  std::vector<std::optional<std::pair<unsigned, unsigned>>> pairs;
};

/// Executes one program and reports the first thing that is wrong.
class ProgramChecker {
public:
  /// With `inPlace`, the send and receive buffers of each rank overlap.
  ProgramChecker(ProgramOp program, const Collective &collective,
                 bool inPlace = false)
      : program(program), collective(collective), inPlace(inPlace),
        clocks(program), expressions(collective.numRanks()) {
    fillInputs();
  }

  /// With `identical`, also compares how the ranks combined.
  LogicalResult run(bool identical) {
    LogicalResult status = success();
    LogicalResult walked =
        walkInExecutionOrder(program, [&](ChannelOp channel, Operation *op) {
          if (succeeded(status))
            status = execute(channel, op);
        });
    if (failed(walked) || failed(status) || failed(checkDoubleBuffering()))
      return failure();
    if (program.getLl() && failed(checkLL()))
      return failure();
    if (failed(checkOutputs()))
      return failure();
    return success(!identical || succeeded(checkIdentical()));
  }

private:
  using SlotKey = std::tuple<unsigned, Buffer, unsigned>;

  /// The state of one slot. In place, what is in both buffers is in the output.
  SlotState &stateOf(const SlotRange &range, unsigned offset) {
    unsigned slot = range[offset];
    int64_t output =
        slot + (inPlace ? collective.inPlaceOffset(range.rank) : 0);
    if (inPlace && range.buffer == Buffer::Input && output >= 0 &&
        output < collective.outputSlots(range.rank))
      return slots[{range.rank, Buffer::Output, unsigned(output)}];
    return slots[{range.rank, range.buffer, slot}];
  }

  void fillInputs() {
    for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
      for (auto [slot, chunk] :
           llvm::enumerate(collective.pre().chunksOf(rank))) {
        SlotState &state = stateOf({rank, Buffer::Input, unsigned(slot), 1}, 0);
        state.chunk = chunk;
        state.contributions.resize(collective.numRanks());
        state.contributions.set(rank);
        state.expression = rank;
      }
  }

  LogicalResult execute(ChannelOp channel, Operation *op) {
    clocks.advance(channel, op);
    std::optional<Transfer> transfer = getTransfer(op);
    if (!transfer)
      return success();
    if (failed(requireReady(channel, op, *transfer)))
      return failure();
    size_t index = clocks.index(channel);
    return executeTransfer(
        op, *transfer,
        {index, clocks.at(channel)[index], op, &clocks.during(channel)});
  }

  /// A peer's buffers belong to this launch only after it has begun there (H3).
  /// Scratch that is double-buffered belongs to it from the start, as far as
  /// the rank that owns it, and has begun this launch, is known to have done so
  /// when this rank's next launch but one begins: see checkDoubleBuffering.
  LogicalResult requireReady(ChannelOp channel, Operation *op,
                             const Transfer &transfer) {
    auto check = [&](const SlotRange &range) -> LogicalResult {
      if (range.rank == getRank(channel) ||
          clocks.knowsLaunch(clocks.throughout(channel), range.rank))
        return success();
      if (program.getDoubleBuffered() && range.buffer == Buffer::Scratch) {
        unsigned position = transfer.chunk % collective.chunksPerSegment();
        auto [it, isNew] = unready.try_emplace({getRank(channel), range.rank},
                                               std::pair(position, op));
        if (!isNew && position < it->second.first)
          it->second = {position, op};
        return success();
      }
      return op->emitOpError()
             << "touches buffers of rank " << range.rank
             << " without knowing that its launch has begun (H3)";
    };
    for (const SlotRange &read : transfer.reads)
      if (failed(check(read)))
        return failure();
    return check(transfer.write);
  }

  /// What a rank writes in launch e into double_buffered scratch may be read
  /// until the owner ends launch e. The rank writes there again in launch e +
  /// 2: it must have heard, by the end of launch e + 1, of something that the
  /// owner did in launch e + 1 (H3). By LL words it hears only if the chunk has
  /// bytes: as it writes chunks only if they have bytes, those at the same
  /// position or before it will do.
  LogicalResult checkDoubleBuffering() {
    SmallVector<RankOp> ranks(program.getBody().getOps<RankOp>());
    for (auto [pair, first] : unready)
      if (!clocks.hearsOf(ranks[pair.first], pair.second, first.first))
        return first.second->emitOpError()
               << "writes scratch of rank " << pair.second << ", of which rank "
               << pair.first
               << " hears nothing before it writes there again (H3)";
    return success();
  }

  LogicalResult executeTransfer(Operation *op, const Transfer &transfer,
                                const Access &access) {
    for (unsigned i = 0; i < transfer.size(); ++i) {
      SlotState result;
      for (const SlotRange &read : transfer.reads)
        if (failed(readSlot(op, read, i, transfer.chunkAt(i), access, result)))
          return failure();
      if (transfer.reads.size() == 2 &&
          failed(checkFinal(op, transfer, i, result)))
        return failure();
      // A chunk that is where it is to be copied to stays there.
      if (isa<CopyOp>(op) &&
          &stateOf(transfer.reads[0], i) == &stateOf(transfer.write, i))
        continue;
      if (failed(writeSlot(op, transfer.write, i, access, std::move(result))))
        return failure();
    }
    return success();
  }

  /// A combine is final if and only if it completes its chunks.
  LogicalResult checkFinal(Operation *op, const Transfer &transfer,
                           unsigned offset, const SlotState &result) {
    unsigned chunk = transfer.chunkAt(offset);
    for (unsigned contributor : collective.pre().ranksOf(chunk))
      if (!result.contributions.test(contributor)) {
        if (!transfer.isFinal)
          return success();
        return op->emitOpError()
               << "is final without the contribution of rank " << contributor
               << " to chunk " << chunk << " (A1)";
      }
    if (!transfer.isFinal)
      return op->emitOpError()
             << "makes chunk " << chunk << " complete, but is not final (A1)";
    return success();
  }

  LogicalResult readSlot(Operation *op, const SlotRange &range, unsigned offset,
                         unsigned chunk, const Access &access,
                         SlotState &result) {
    SlotState &state = stateOf(range, offset);
    auto name = [&](InFlightDiagnostic &&diag) -> InFlightDiagnostic {
      diag << stringifyBuffer(range.buffer) << '[' << range[offset]
           << "] of rank " << range.rank;
      return std::move(diag);
    };
    if (state.writer && !state.writer->happensBefore(*access.clock))
      return reportRace(name(op->emitOpError() << "races: it reads "),
                        *state.writer);
    if (state.chunk != chunk)
      return name(op->emitOpError() << "reads chunk " << chunk << " from ")
             << ", which holds "
             << (state.chunk ? "chunk " + std::to_string(*state.chunk)
                             : std::string("nothing"))
             << " then (A1)";
    if (collective.combining() &&
        result.contributions.anyCommon(state.contributions))
      return op->emitOpError() << "combines the contribution of rank "
                               << firstCommon(result, state) << " to chunk "
                               << chunk << " twice (A1)";
    state.readers.insert_or_assign(access.channel, access);
    result.expression =
        result.chunk ? expressions.combine(result.expression, state.expression)
                     : state.expression;
    result.chunk = chunk;
    result.contributions.resize(collective.numRanks());
    result.contributions |= state.contributions;
    return success();
  }

  static unsigned firstCommon(const SlotState &a, const SlotState &b) {
    llvm::BitVector both = a.contributions;
    both &= b.contributions;
    return both.find_first();
  }

  LogicalResult writeSlot(Operation *op, const SlotRange &range,
                          unsigned offset, const Access &access,
                          SlotState result) {
    SlotState &state = stateOf(range, offset);
    const VectorClock &clock = *access.clock;
    auto race = [&](const Access &other) {
      return reportRace(op->emitOpError()
                            << "races: it writes "
                            << stringifyBuffer(range.buffer) << '['
                            << range[offset] << "] of rank " << range.rank,
                        other);
    };
    if (state.writer && program.getLl())
      return op->emitOpError()
             << "writes " << stringifyBuffer(range.buffer) << '['
             << range[offset] << "] of rank " << range.rank
             << " a second time, but LL words have only a number for each "
                "launch (D4)";
    if (state.writer && !state.writer->happensBefore(clock))
      return race(*state.writer);
    for (auto &[channel, reader] : state.readers)
      if (!reader.happensBefore(clock))
        return race(reader);
    result.writer = access;
    state = std::move(result);
    return success();
  }

  static LogicalResult reportRace(InFlightDiagnostic &&diag,
                                  const Access &other) {
    diag << ", which another channel accesses without being ordered (H1)";
    diag.attachNote(other.op->getLoc()) << "the other access is here";
    return std::move(diag);
  }

  /// LL words that nobody reads may come when the owner has ended the launch,
  /// and destroy those of a later one.
  LogicalResult checkLL() {
    for (auto &[key, state] : slots) {
      auto [rank, buffer, slot] = key;
      if (buffer == Buffer::Scratch && state.writer && state.readers.empty())
        return state.writer->op->emitOpError()
               << "sends LL words to scratch[" << slot << "] of rank " << rank
               << ", which nobody reads, so they may come in a later launch "
                  "(H3)";
    }
    return success();
  }

  /// Every output is right, and nobody is at work on a rank's buffers when it
  /// returns.
  LogicalResult checkOutputs() {
    for (RankOp rankOp : program.getBody().getOps<RankOp>()) {
      unsigned rank = rankOp.getRank();
      for (auto [slot, chunk] :
           llvm::enumerate(collective.post().chunksOf(rank)))
        if (failed(checkOutput(rankOp, slot, chunk)))
          return failure();
      if (failed(checkLateAccesses(rankOp)))
        return failure();
    }
    return success();
  }

  /// Nobody accesses a rank's buffers after it has returned: its next launch,
  /// or its caller, may use them for something else. It is enough to look at
  /// the last write, because those before it happened before it.
  LogicalResult checkLateAccesses(RankOp rankOp) {
    unsigned rank = rankOp.getRank();
    VectorClock end = clocks.endOf(rankOp);
    for (auto it = slots.lower_bound({rank, Buffer::Input, 0});
         it != slots.end() && std::get<0>(it->first) == rank; ++it) {
      const SlotState &state = it->second;
      if (state.writer && !state.writer->happensBefore(end))
        return reportLate(rankOp, it->first, *state.writer, "written");
      for (auto &[channel, reader] : state.readers)
        if (!reader.happensBefore(end))
          return reportLate(rankOp, it->first, reader, "read");
    }
    return success();
  }

  static LogicalResult reportLate(RankOp rankOp, const SlotKey &key,
                                  const Access &access, StringRef done) {
    auto [rank, buffer, slot] = key;
    InFlightDiagnostic diag = rankOp.emitOpError()
                              << "may return before " << stringifyBuffer(buffer)
                              << '[' << slot << "] is " << done << " (H1)";
    diag.attachNote(access.op->getLoc()) << "it is " << done << " here";
    return diag;
  }

  LogicalResult checkOutput(RankOp rankOp, unsigned slot, unsigned chunk) {
    unsigned rank = rankOp.getRank();
    const SlotState &state = slots[{rank, Buffer::Output, slot}];
    if (state.chunk != chunk)
      return rankOp.emitOpError()
             << "ends with "
             << (state.chunk ? "chunk " + std::to_string(*state.chunk)
                             : std::string("nothing"))
             << " in output[" << slot << "], expected chunk " << chunk
             << " (A1)";
    if (!collective.combining())
      return success();
    for (unsigned contributor : collective.pre().ranksOf(chunk))
      if (!state.contributions.test(contributor))
        return rankOp.emitOpError()
               << "ends without the contribution of rank " << contributor
               << " to chunk " << chunk << " (A1)";
    return success();
  }

  /// All ranks that end with a chunk have combined it in the same way.
  LogicalResult checkIdentical() {
    if (!collective.combining())
      return success(); // copies are always identical
    for (unsigned chunk = 0; chunk < collective.chunks(); ++chunk) {
      std::optional<std::pair<unsigned, unsigned>> first;
      for (unsigned rank : collective.post().ranksOf(chunk)) {
        unsigned slot = *collective.outputSlot(rank, chunk);
        unsigned expression = slots[{rank, Buffer::Output, slot}].expression;
        if (!first)
          first = {rank, expression};
        if (expression != first->second)
          return program.emitOpError()
                 << "combines chunk " << chunk << " in different orders: rank "
                 << first->first << " ends with "
                 << expressions.toString(first->second) << ", rank " << rank
                 << " with " << expressions.toString(expression) << " (T1)";
      }
    }
    return success();
  }

  ProgramOp program;
  const Collective &collective;
  bool inPlace;
  ProgramClocks clocks;
  Expressions expressions;
  /// The first op of a rank that touches scratch of another one without knowing
  /// of its launch, among those with chunks at the lowest position; and that.
  std::map<std::pair<unsigned, unsigned>, std::pair<unsigned, Operation *>>
      unready;
  std::map<SlotKey, SlotState> slots;
};

/// Why a program does not work in place, and where.
struct InPlaceFault {
  Location loc;
  std::string message;
};
} // namespace

/// Executes `program` with buffers that overlap, and returns the first fault.
static std::optional<InPlaceFault>
findInPlaceFault(ProgramOp program, const Collective &collective) {
  if (!collective.hasInPlaceLayout())
    return InPlaceFault{program.getLoc(),
                        "send and receive buffers have no places in common"};
  // The clocks take it that threads wait for their block.
  if (program.getLl())
    return InPlaceFault{program.getLoc(),
                        "LL words do not order what blocks do in place"};
  std::optional<InPlaceFault> fault;
  ScopedDiagnosticHandler handler(
      program.getContext(), [&](Diagnostic &diagnostic) {
        if (!fault)
          fault = InPlaceFault{diagnostic.getLocation(), diagnostic.str()};
        return success();
      });
  ProgramChecker checker(program, collective, /*inPlace=*/true);
  if (failed(checker.run(/*identical=*/false)) && !fault)
    fault = InPlaceFault{program.getLoc(), "the check fails"};
  return fault;
}

bool coll::allowsInPlace(ProgramOp program, const Collective &collective) {
  return !findInPlaceFault(program, collective);
}

namespace {
struct CheckProgramPass : coll::impl::CheckProgramBase<CheckProgramPass> {
  using CheckProgramBase::CheckProgramBase;

  void runOnOperation() override {
    for (ProgramOp program : getOperation().getOps<ProgramOp>())
      if (failed(check(program)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }

  LogicalResult check(ProgramOp program) {
    FailureOr<Problem> problem = importProblem(program);
    if (failed(problem) ||
        failed(ProgramChecker(program, problem->collective).run(identical)))
      return failure();
    if (!inPlace)
      return success();
    std::optional<InPlaceFault> fault =
        findInPlaceFault(program, problem->collective);
    if (!fault)
      return success();
    InFlightDiagnostic diag =
        program.emitOpError("does not work in place (H4)");
    diag.attachNote(fault->loc) << fault->message;
    return diag;
  }
};
} // namespace
