//===- LowerSchedule.cpp - From schedules to programs ---------------------===//
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
// Through scratch, peers touch nothing but scratch: what a peer pushes lands
// there and is copied to the output, and what a peer pulls is put there first.
//
// With LL words a rank also keeps in scratch what it sends on, since outputs
// hold no LL words; and what nobody reads is not sent, because nobody would
// wait for it either.
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Options/Log.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <set>
#include <tuple>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

static Log logger("lower-schedule");

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

/// What a channel does within a step, in this order: nothing that comes first
/// waits for anything that comes later, on any rank.
enum class Phase { Stage, Move, Combine, Deliver };

/// A transfer that some channel will execute.
struct PlannedTransfer {
  unsigned step;
  Phase phase;
  Transport transport; // of a move
  unsigned chunk;
  unsigned count;
  Slot src;
  std::optional<Slot> rhs; // of a combine
  Slot dst;
  bool isFinal = false; // of a combine whose result has all contributions
};

/// A send of the schedule.
struct PlannedSend {
  Send send;
  Transport transport;
};
using PlannedStep = std::vector<PlannedSend>;

/// Where the chunks of one rank live.
struct RankState {
  /// Where each chunk of the rank's input can be read.
  std::map<unsigned, Slot> inputs;
  /// The newest version of each chunk that the rank has.
  std::map<unsigned, Slot> current;
  /// The ranks whose contributions are in it.
  std::map<unsigned, std::set<unsigned>> contributors;
  /// The number of arrivals of each chunk still to come.
  std::map<unsigned, unsigned> arrivalsLeft;
  /// The chunks that peers pull from the rank.
  std::set<unsigned> pulled;
  /// The last step in which the rank sends on what it has of a chunk.
  std::map<unsigned, unsigned> lastSent;
  /// What the rank's channels execute, by peer.
  std::map<unsigned, std::vector<PlannedTransfer>> channels;
  unsigned scratchSlots = 0;

  Slot newScratch() { return {Buffer::Scratch, scratchSlots++}; }
};

/// What a send brings.
struct Payload {
  Slot slot;
  std::set<unsigned> contributors;
};

/// Plans the transfers of all ranks from a schedule.
class Planner {
public:
  Planner(const Collective &collective, const std::vector<PlannedStep> &steps,
          bool throughScratch, bool ll)
      : collective(collective), steps(steps),
        throughScratch(throughScratch || ll), ll(ll),
        ranks(collective.numRanks()) {}

  std::vector<RankState> plan() {
    countSends();
    for (unsigned rank = 0; rank < ranks.size(); ++rank)
      enterInputs(rank);
    for (auto [index, step] : llvm::enumerate(steps))
      planStep(index, step);
    while (ll && dropUnread())
      ;
    for (RankState &rank : ranks)
      for (auto &[peer, transfers] : rank.channels)
        orderAndMerge(transfers);
    return std::move(ranks);
  }

private:
  void countSends() {
    for (auto [index, step] : llvm::enumerate(steps))
      for (const auto &[send, transport] : step) {
        ++ranks[send.dst].arrivalsLeft[send.chunk];
        if (transport == Transport::Pull)
          ranks[send.src].pulled.insert(send.chunk);
        if (send.payload != SendPayload::Input)
          ranks[send.src].lastSent[send.chunk] = index;
      }
  }

  /// Enters the inputs, copies to the output what no arrival will replace, and
  /// to scratch what peers pull from there.
  void enterInputs(unsigned rank) {
    RankState &state = ranks[rank];
    for (auto [slot, chunk] :
         llvm::enumerate(collective.pre().chunksOf(rank))) {
      Slot input{Buffer::Input, unsigned(slot)};
      std::optional<unsigned> output = collective.outputSlot(rank, chunk);
      if (output && !state.arrivalsLeft.count(chunk))
        addLocal(rank, 0, Phase::Stage, chunk, input,
                 {Buffer::Output, *output});
      if (throughScratch && state.pulled.count(chunk)) {
        Slot staged = state.newScratch();
        addLocal(rank, 0, Phase::Stage, chunk, input, staged);
        input = staged;
      }
      state.inputs[chunk] = state.current[chunk] = input;
      state.contributors[chunk] = {rank};
    }
  }

  void addLocal(unsigned rank, unsigned step, Phase phase, unsigned chunk,
                Slot src, Slot dst, std::optional<Slot> rhs = std::nullopt,
                bool isFinal = false) {
    ranks[rank].channels[rank].push_back(
        {step, phase, Transport::Push, chunk, 1, src, rhs, dst, isFinal});
  }

  /// The slot for the version that the next arrival of `chunk` makes, in step
  /// `step`, and that a peer writes if `byPeer`.
  Slot nextVersion(unsigned rank, unsigned chunk, unsigned step, bool byPeer) {
    RankState &state = ranks[rank];
    std::optional<unsigned> output = collective.outputSlot(rank, chunk);
    bool isLast = --state.arrivalsLeft[chunk] == 0 && output;
    auto sent = state.lastSent.find(chunk);
    bool isSentOn = ll && sent != state.lastSent.end() && sent->second > step;
    bool mustPass =
        throughScratch && (byPeer || isSentOn || state.pulled.count(chunk));
    if (isLast && !mustPass)
      return {Buffer::Output, *output};
    Slot version = state.newScratch();
    if (isLast)
      deliveries.push_back({rank, chunk, version, {Buffer::Output, *output}});
    return version;
  }

  Slot payloadOf(const Send &send) {
    RankState &src = ranks[send.src];
    return (send.payload == SendPayload::Input ? src.inputs : src.current)
        .at(send.chunk);
  }

  std::set<unsigned> contributorsOf(const Send &send) {
    if (send.payload == SendPayload::Input)
      return {send.src};
    return ranks[send.src].contributors.at(send.chunk);
  }

  void planStep(unsigned index, const PlannedStep &step) {
    // All payloads are looked up before any version changes.
    std::vector<Payload> payloads;
    for (const auto &[send, transport] : step)
      payloads.push_back({payloadOf(send), contributorsOf(send)});
    for (auto [planned, payload] : llvm::zip_equal(step, payloads))
      planSend(index, planned.send, planned.transport, std::move(payload));
    for (const Delivery &delivery : deliveries)
      addLocal(delivery.rank, index, Phase::Deliver, delivery.chunk,
               delivery.version, delivery.output);
    deliveries.clear();
  }

  void planSend(unsigned index, const Send &send, Transport transport,
                Payload payload) {
    RankState &dst = ranks[send.dst];
    bool isPull = transport == Transport::Pull;
    bool combines =
        send.action == SendAction::Reduce && dst.current.count(send.chunk);
    Slot landing = combines ? dst.newScratch()
                            : nextVersion(send.dst, send.chunk, index, !isPull);
    unsigned mover = isPull ? send.dst : send.src;
    unsigned peer = isPull ? send.src : send.dst;
    ranks[mover].channels[peer].push_back({index, Phase::Move, transport,
                                           send.chunk, 1, payload.slot,
                                           std::nullopt, landing});
    if (combines) {
      Slot result = nextVersion(send.dst, send.chunk, index, false);
      payload.contributors.merge(dst.contributors.at(send.chunk));
      bool isFinal = payload.contributors.size() ==
                     collective.pre().ranksOf(send.chunk).size();
      addLocal(send.dst, index, Phase::Combine, send.chunk,
               dst.current.at(send.chunk), result, landing, isFinal);
      landing = result;
    }
    dst.current[send.chunk] = landing;
    dst.contributors[send.chunk] = std::move(payload.contributors);
  }

  /// Drops the transfers to scratch that nobody reads. Returns whether there
  /// were any.
  bool dropUnread() {
    std::set<std::pair<unsigned, unsigned>> reads; // rank and slot of scratch
    for (auto [number, state] : llvm::enumerate(ranks))
      for (auto &[peer, transfers] : state.channels)
        for (const PlannedTransfer &transfer : transfers)
          for (const std::optional<Slot> &slot :
               {std::optional(transfer.src), transfer.rhs})
            if (slot && slot->buffer == Buffer::Scratch)
              reads.insert({unsigned(number), slot->index});
    size_t dropped = 0;
    for (RankState &state : ranks)
      for (auto &[peer, transfers] : state.channels) {
        size_t before = transfers.size();
        llvm::erase_if(transfers, [&, owner = peer](const auto &transfer) {
          return transfer.dst.buffer == Buffer::Scratch &&
                 !reads.count({owner, transfer.dst.index});
        });
        dropped += before - transfers.size();
      }
    for (RankState &state : ranks)
      std::erase_if(state.channels,
                    [](const auto &channel) { return channel.second.empty(); });
    return dropped > 0;
  }

  /// True if `b` continues `a` in memory and in the numbering of chunks.
  bool continues(const PlannedTransfer &a, const PlannedTransfer &b) const {
    auto follows = [&](const Slot &first, const Slot &second) {
      return first.buffer == second.buffer &&
             first.index + a.count == second.index;
    };
    return a.step == b.step && a.phase == b.phase && a.isFinal == b.isFinal &&
           a.transport == b.transport && a.chunk + a.count == b.chunk &&
           b.chunk % collective.chunksPerSegment() != 0 &&
           follows(a.src, b.src) && follows(a.dst, b.dst) &&
           a.rhs.has_value() == b.rhs.has_value() &&
           (!a.rhs || follows(*a.rhs, *b.rhs));
  }

  void orderAndMerge(std::vector<PlannedTransfer> &transfers) const {
    llvm::stable_sort(transfers, [](const auto &a, const auto &b) {
      return std::tie(a.step, a.phase) < std::tie(b.step, b.phase);
    });
    std::vector<PlannedTransfer> merged;
    for (const PlannedTransfer &transfer : transfers) {
      if (!merged.empty() && continues(merged.back(), transfer))
        ++merged.back().count;
      else
        merged.push_back(transfer);
    }
    transfers = std::move(merged);
  }

  /// A copy of a last version from scratch to the output.
  struct Delivery {
    unsigned rank, chunk;
    Slot version, output;
  };

  const Collective &collective;
  const std::vector<PlannedStep> &steps;
  bool throughScratch;
  bool ll;
  std::vector<RankState> ranks;
  std::vector<Delivery> deliveries; ///< of the step in hand
};
} // namespace

static void createTransfer(OpBuilder &builder, Location loc,
                           const PlannedTransfer &t) {
  auto slots = [&](auto create) {
    create(t.chunk, t.count, t.src.buffer, t.src.index, t.dst.buffer,
           t.dst.index, t.step);
  };
  if (t.rhs)
    LocalReduceOp::create(builder, loc, t.chunk, t.count, t.src.buffer,
                          t.src.index, t.rhs->buffer, t.rhs->index,
                          t.dst.buffer, t.dst.index, t.step, t.isFinal);
  else if (t.phase != Phase::Move)
    slots([&](auto... s) { CopyOp::create(builder, loc, s...); });
  else if (t.transport == Transport::Pull)
    slots([&](auto... s) { GetOp::create(builder, loc, false, s...); });
  else
    slots([&](auto... s) {
      PutOp::create(builder, loc, t.transport == Transport::DMA, s...);
    });
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
      createTransfer(builder, loc, transfer);
  }
}

namespace {
struct LowerSchedulePass : coll::impl::LowerScheduleBase<LowerSchedulePass> {
  using LowerScheduleBase::LowerScheduleBase;

  void runOnOperation() override {
    if (blocksPerLink < 1 || blocksPerLink > 64) {
      getOperation().emitError()
          << "blocks-per-link is " << blocksPerLink.getValue()
          << ", expected between 1 and 64";
      return signalPassFailure();
    }
    for (auto op :
         llvm::make_early_inc_range(getOperation().getOps<ScheduleOp>()))
      if (failed(replace(op)))
        return signalPassFailure();
  }

  LogicalResult replace(ScheduleOp op) {
    FailureOr<Problem> problem = importProblem(op);
    if (failed(problem) ||
        failed(requireSenders(op, problem->collective, importSchedule(op))))
      return failure();
    std::vector<PlannedStep> steps = readSteps(op);
    if (ll && failed(requirePushes(op, steps)))
      return failure();
    std::vector<RankState> ranks =
        Planner(problem->collective, steps, throughScratch, ll).plan();

    OpBuilder builder(op);
    auto program = ProgramOp::create(
        builder, op.getLoc(), op.getSymNameAttr(), op.getCollectiveAttr(),
        op.getTopologyAttr(), op.getChunksAttr(), op.getRootAttr(),
        builder.getI32IntegerAttr(blocksPerLink),
        doubleBuffer || ll ? builder.getUnitAttr() : nullptr,
        ll ? builder.getUnitAttr() : nullptr);
    builder.createBlock(&program.getBody());
    for (auto [number, state] : llvm::enumerate(ranks)) {
      createRank(builder, op.getLoc(), number, state);
      SCCL_LOG(logger, "rank " << number << ": " << state.channels.size()
                               << " channels, " << state.scratchSlots
                               << " slots of scratch");
    }
    op.erase();
    return success();
  }

  /// The sends of each step in a fixed order, with their transports.
  static std::vector<PlannedStep> readSteps(ScheduleOp op) {
    std::vector<PlannedStep> steps;
    Schedule schedule = importSchedule(op);
    for (auto [stepOp, step] :
         llvm::zip_equal(op.getBody().getOps<StepOp>(), schedule.steps)) {
      PlannedStep &planned = steps.emplace_back();
      for (auto [child, send] :
           llvm::zip_equal(stepOp.getBody().getOps(), step.sends))
        planned.push_back({send, getTransport(&child)});
      llvm::stable_sort(planned, [](const auto &a, const auto &b) {
        return a.send < b.send;
      });
    }
    return steps;
  }

  static Transport getTransport(Operation *op) {
    if (auto send = dyn_cast<SendOp>(op))
      return send.getTransport().value_or(Transport::Push);
    return cast<ReduceOp>(op).getTransport().value_or(Transport::Push);
  }

  /// Fails if a send is not pushed.
  static LogicalResult requirePushes(ScheduleOp op,
                                     const std::vector<PlannedStep> &steps) {
    for (const PlannedStep &step : steps)
      for (const auto &[send, transport] : step)
        if (transport != Transport::Push)
          return op.emitOpError()
                 << "moves chunk " << send.chunk << " from rank " << send.src
                 << " to rank " << send.dst << " by "
                 << stringifyTransport(transport)
                 << ", but LL words are always pushed";
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
