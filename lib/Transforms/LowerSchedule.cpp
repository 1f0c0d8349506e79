//===- LowerSchedule.cpp - From schedules to push programs ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each (rank, chunk) has a row of *versions*: version 0 is the rank's input,
// and every send that arrives makes the next one. A version is never
// overwritten, so the sends of a step, which must read the state before the
// step, need no copies and no synchronization beyond "wait until the version
// exists". The last version of a chunk that the rank must hold at the end lives
// in the output, the others in scratch.
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <set>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_LOWERSCHEDULE
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

namespace {
/// A slot of a buffer of the rank in question.
struct Slot {
  Buffer buffer;
  unsigned index;
  bool operator==(const Slot &) const = default;
};

/// A transfer that some channel will execute.
struct PlannedTransfer {
  unsigned step;
  unsigned chunk;
  unsigned count;
  Slot src;
  std::optional<Slot> rhs; // of a combine
  Slot dst;
  /// True of a combine whose result has all contributions.
  bool isFinal = false;
};

/// Where the chunks of one rank live.
struct RankState {
  /// The newest version of each chunk that the rank has.
  std::map<unsigned, Slot> current;
  /// The number of arrivals of each chunk still to come.
  std::map<unsigned, unsigned> arrivalsLeft;
  /// What the rank's channels execute, by peer, in the order of the steps.
  std::map<unsigned, std::vector<PlannedTransfer>> channels;
  unsigned scratchSlots = 0;
  /// The ranks whose contributions are in the newest version of each chunk.
  std::map<unsigned, std::set<unsigned>> contributors;
};

/// Plans the transfers of all ranks from a schedule.
class Planner {
public:
  Planner(const Collective &collective, const Schedule &schedule)
      : collective(collective), schedule(schedule),
        ranks(collective.numRanks()) {}

  std::vector<RankState> plan() {
    initialize();
    for (auto [index, step] : llvm::enumerate(schedule.steps))
      planStep(index, step);
    for (RankState &rank : ranks)
      for (auto &[peer, transfers] : rank.channels)
        mergeNeighbours(transfers);
    return std::move(ranks);
  }

private:
  /// Enters the inputs, counts arrivals, and copies to the output what no
  /// arrival will replace.
  void initialize() {
    for (const Step &step : schedule.steps)
      for (const Send &send : step.sends)
        ++ranks[send.dst].arrivalsLeft[send.chunk];
    for (unsigned rank = 0; rank < ranks.size(); ++rank) {
      for (auto [slot, chunk] :
           llvm::enumerate(collective.pre().chunksOf(rank))) {
        Slot input{Buffer::Input, unsigned(slot)};
        ranks[rank].current[chunk] = input;
        ranks[rank].contributors[chunk] = {rank};
        std::optional<unsigned> output = collective.outputSlot(rank, chunk);
        if (output && !ranks[rank].arrivalsLeft.count(chunk))
          ranks[rank].channels[rank].push_back(
              {0, chunk, 1, input, std::nullopt, {Buffer::Output, *output}});
      }
    }
  }

  /// The slot for the version that the next arrival of `chunk` makes.
  Slot nextVersion(unsigned rank, unsigned chunk) {
    RankState &state = ranks[rank];
    std::optional<unsigned> output = collective.outputSlot(rank, chunk);
    if (--state.arrivalsLeft[chunk] == 0 && output)
      return {Buffer::Output, *output};
    return {Buffer::Scratch, state.scratchSlots++};
  }

  Slot payloadOf(const Send &send) {
    if (send.payload == SendPayload::Input)
      return {Buffer::Input, *collective.inputSlot(send.src, send.chunk)};
    return ranks[send.src].current.at(send.chunk);
  }

  std::set<unsigned> contributorsOf(const Send &send) {
    if (send.payload == SendPayload::Input)
      return {send.src};
    return ranks[send.src].contributors.at(send.chunk);
  }

  void planStep(unsigned index, const Step &step) {
    // All payloads are looked up before any version changes.
    std::vector<Slot> payloads;
    std::vector<std::set<unsigned>> contributors;
    for (const Send &send : step.sends) {
      payloads.push_back(payloadOf(send));
      contributors.push_back(contributorsOf(send));
    }
    for (auto [send, payload, arriving] :
         llvm::zip_equal(step.sends, payloads, contributors)) {
      RankState &dst = ranks[send.dst];
      bool combines =
          send.action == SendAction::Reduce && dst.current.count(send.chunk);
      Slot landing = combines ? Slot{Buffer::Scratch, dst.scratchSlots++}
                              : nextVersion(send.dst, send.chunk);
      ranks[send.src].channels[send.dst].push_back(
          {index, send.chunk, 1, payload, std::nullopt, landing});
      if (combines) {
        Slot result = nextVersion(send.dst, send.chunk);
        arriving.merge(dst.contributors.at(send.chunk));
        size_t all = collective.pre().ranksOf(send.chunk).size();
        dst.channels[send.dst].push_back(
            {index, send.chunk, 1, dst.current.at(send.chunk), landing, result,
             arriving.size() == all});
        landing = result;
      }
      dst.current[send.chunk] = landing;
      dst.contributors[send.chunk] = std::move(arriving);
    }
  }

  /// True if `b` continues `a` in memory and in the numbering of chunks.
  bool continues(const PlannedTransfer &a, const PlannedTransfer &b) const {
    auto follows = [&](const Slot &first, const Slot &second) {
      return first.buffer == second.buffer &&
             first.index + a.count == second.index;
    };
    return a.step == b.step && a.chunk + a.count == b.chunk &&
           a.isFinal == b.isFinal &&
           b.chunk % collective.chunksPerSegment() != 0 &&
           follows(a.src, b.src) && follows(a.dst, b.dst) &&
           a.rhs.has_value() == b.rhs.has_value() &&
           (!a.rhs || follows(*a.rhs, *b.rhs));
  }

  void mergeNeighbours(std::vector<PlannedTransfer> &transfers) const {
    std::vector<PlannedTransfer> merged;
    for (const PlannedTransfer &transfer : transfers) {
      if (!merged.empty() && continues(merged.back(), transfer))
        ++merged.back().count;
      else
        merged.push_back(transfer);
    }
    transfers = std::move(merged);
  }

  const Collective &collective;
  const Schedule &schedule;
  std::vector<RankState> ranks;
};
} // namespace

static void createTransfer(OpBuilder &builder, Location loc, bool isLocal,
                           const PlannedTransfer &t) {
  if (t.rhs)
    CombineOp::create(builder, loc, t.chunk, t.count, t.src.buffer, t.src.index,
                      t.rhs->buffer, t.rhs->index, t.dst.buffer, t.dst.index,
                      t.step, t.isFinal);
  else if (isLocal)
    CopyOp::create(builder, loc, t.chunk, t.count, t.src.buffer, t.src.index,
                   t.dst.buffer, t.dst.index, t.step);
  else
    PutOp::create(builder, loc, t.chunk, t.count, t.src.buffer, t.src.index,
                  t.dst.buffer, t.dst.index, t.step);
}

static void createRank(OpBuilder &builder, Location loc, unsigned number,
                       RankState &state) {
  auto rank = RankOp::create(builder, loc, number, state.scratchSlots);
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&rank.getBody());
  state.channels[number]; // every rank has a local channel
  for (const auto &[peer, transfers] : state.channels) {
    auto channel = ChannelOp::create(builder, loc, peer);
    OpBuilder::InsertionGuard channelGuard(builder);
    builder.createBlock(&channel.getBody());
    for (const PlannedTransfer &transfer : transfers)
      createTransfer(builder, loc, peer == number, transfer);
  }
}

namespace {
struct LowerSchedulePass : coll::impl::LowerScheduleBase<LowerSchedulePass> {
  using LowerScheduleBase::LowerScheduleBase;

  void runOnOperation() override {
    if (blocks < 1 || blocks > 64) {
      getOperation().emitError()
          << "blocks is " << blocks.getValue() << ", expected between 1 and 64";
      return signalPassFailure();
    }
    for (auto op :
         llvm::make_early_inc_range(getOperation().getOps<ScheduleOp>()))
      if (failed(replace(op)))
        return signalPassFailure();
  }

  LogicalResult replace(ScheduleOp op) {
    FailureOr<Problem> problem = importProblem(op);
    if (failed(problem))
      return failure();
    Schedule schedule = importSchedule(op);
    schedule.normalize();
    if (failed(requireSenders(op, problem->collective, schedule)))
      return failure();
    std::vector<RankState> ranks =
        Planner(problem->collective, schedule).plan();

    OpBuilder builder(op);
    auto program = ProgramOp::create(
        builder, op.getLoc(), op.getSymNameAttr(), op.getCollectiveAttr(),
        op.getTopologyAttr(), op.getChunksAttr(), op.getRootAttr(),
        builder.getI32IntegerAttr(blocks));
    builder.createBlock(&program.getBody());
    for (auto [number, state] : llvm::enumerate(ranks))
      createRank(builder, op.getLoc(), number, state);
    op.erase();
    return success();
  }

  /// Fails if a rank sends what it has not received before the step. Anything
  /// else that is wrong with the schedule shows in coll-check-program.
  static LogicalResult requireSenders(ScheduleOp op,
                                      const Collective &collective,
                                      const Schedule &schedule) {
    RankChunkSet held = collective.pre();
    for (const Step &step : schedule.steps) {
      for (const Send &send : step.sends) {
        const RankChunkSet &source =
            send.payload == SendPayload::Input ? collective.pre() : held;
        if (!source.contains(send.src, send.chunk))
          return op.emitOpError()
                 << "sends chunk " << send.chunk << " from rank " << send.src
                 << ", which does not hold it";
      }
      for (const Send &send : step.sends)
        held.insert(send.dst, send.chunk);
    }
    return success();
  }
};
} // namespace
