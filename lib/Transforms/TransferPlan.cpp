//===- TransferPlan.cpp - What each channel does for a schedule -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A schedule on 1024 ranks has 10^7 sends. Steps are expanded one at a time,
// and what is known of each (rank, chunk) takes a few words in one array.
//
//===----------------------------------------------------------------------===//

#include "TransferPlan.h"

#include "PairTable.h"
#include "WaitingSums.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/Threads.h"

#include "mlir/IR/Threading.h"
#include "llvm/Support/MathExtras.h"

#include <atomic>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace {
/// What is known of a chunk at a rank.
struct PairState {
  /// Where the rank's input is to be had, packed.
  uint32_t input = ChunkValue::absent;
  ChunkValue current;        ///< the newest version that the rank has
  uint32_t arrivalsLeft = 0; ///< still to come
};

/// Plans the transfers of all ranks.
class Planner {
public:
  Planner(const Collective &collective, ScheduleOp schedule,
          TransferPlanOptions options)
      : collective(collective), perSegment(collective.chunksPerSegment()),
        schedule(schedule),
        throughScratch(options.throughScratch || options.ll),
        eager(options.eager), ll(options.ll), options(options),
        pairs(collective.numRanks(), collective.numChunks()),
        ranks(collective.numRanks()), numContributors(collective.numChunks()) {}

  FailureOr<std::vector<PlannedRank>> plan() {
    if (failed(countSends()))
      return failure();
    waiting.setOrder(importOrder(schedule, collective, options.sumOrder,
                                 options.oneRounding));
    for (unsigned rank = 0; rank < ranks.size(); ++rank)
      enterInputs(rank);
    if (failed(planSteps()))
      return failure();
    if (ll)
      dropUnread(ranks);
    parallelForEach(schedule.getContext(), ranks, [&](PlannedRank &rank) {
      for (auto &[peer, channel] : rank.channels)
        order(channel, perSegment);
    });
    return std::move(ranks);
  }

private:
  static Slot unpack(uint32_t packed) {
    return {Buffer(packed >> 30), packed & ((1u << 30) - 1)};
  }
  static uint32_t pack(Slot slot) {
    return uint32_t(slot.buffer) << 30 | slot.index;
  }

  PairState &stateOf(unsigned rank, unsigned chunk) {
    return states[pairs.number(rank, chunk)];
  }

  /// Calls `visit` with each send to a rank from `first` to `end`, and its
  /// step.
  template <typename Visit>
  void forEachSend(unsigned first, unsigned end, Visit visit) {
    unsigned index = 0;
    for (StepOp step : schedule.getBody().getOps<StepOp>()) {
      for (SendOpInterface op : step.getBody().getOps<SendOpInterface>()) {
        Send send = importSend(op);
        if (send.dst < first || send.dst >= end)
          continue;
        op.forEachChunk([&](uint32_t chunk) {
          send.chunk = chunk;
          visit(index, send);
        });
      }
      ++index;
    }
  }

  /// Calls `visit` with each send; threads share the ranks that receive.
  template <typename Visit> void forEachArrival(Visit visit) {
    // A multiple of the bits in a word of `pairs`, which no two threads write.
    constexpr unsigned perShare = 256;
    parallelFor(schedule.getContext(), 0,
                llvm::divideCeil(ranks.size(), perShare), [&](size_t share) {
                  unsigned first = share * perShare;
                  forEachSend(first, first + perShare,
                              [&](unsigned, const Send &send) { visit(send); });
                });
  }

  LogicalResult refuseSender(const Send &send) {
    return schedule.emitOpError()
           << "sends chunk " << send.chunk << " from rank " << send.src
           << ", which does not hold it";
  }

  /// Finds which ranks ever have which chunks, and counts arrivals. Fails if a
  /// rank sends what it never has.
  LogicalResult countSends();
  /// Notes, through scratch, what peers pull and until when chunks are sent on.
  /// Fails for the first rank that sends what it never has.
  LogicalResult noteSenders();

  bool isPulled(unsigned rank, unsigned chunk) const {
    return throughScratch && pulled[pairs.number(rank, chunk)];
  }

  Slot newScratch(unsigned rank, unsigned count = 1) {
    unsigned first = ranks[rank].scratchSlots;
    ranks[rank].scratchSlots += count;
    return {Buffer::Scratch, first};
  }

  /// Enters the inputs, copies to the output what no arrival will replace, and
  /// to scratch what peers pull from there.
  void enterInputs(unsigned rank);

  void addLocal(unsigned rank, unsigned step, Phase phase, unsigned chunk,
                Slot src, Slot dst, std::optional<Slot> rhs = std::nullopt,
                bool isFinal = false) {
    add(ranks[rank].channels[rank],
        {step, phase, SendTransport::Push, chunk, 1, src, rhs, dst, isFinal});
  }

  /// Appends a transfer, or lets the last one of its phase go on.
  void add(PlannedChannel &channel, const PlannedTransfer &transfer) {
    std::optional<size_t> &last = channel.last[size_t(transfer.phase)];
    // With LL words some may be dropped yet, one by one.
    if (!ll && last &&
        continues(channel.transfers[*last], transfer, perSegment)) {
      ++channel.transfers[*last].count;
      return;
    }
    last = channel.transfers.size();
    channel.transfers.push_back(transfer);
  }

  /// The slot for the version that the next arrival of `chunk` makes, in step
  /// `step`, and that a peer writes if `byPeer`.
  Slot nextVersion(unsigned rank, unsigned chunk, unsigned step, bool byPeer);

  std::optional<unsigned> outputSlot(unsigned rank, unsigned chunk) {
    if (outputs.empty())
      for (unsigned i = 0; i < ranks.size(); ++i)
        outputs.emplace_back(collective.post(), i);
    return outputs[rank].slotOf(chunk);
  }

  ChunkValue payloadOf(unsigned index, const Send &send) {
    size_t pair = pairs.number(send.src, send.chunk);
    if (send.payload != SendPayload::Current)
      return send.kept == 0 ? inputOf(send) : sumOfKept(index, send);
    if (waiting.contains(pair))
      sumUp(send.src, send.chunk, /*isLast=*/false);
    return states[pair].current;
  }
  ChunkValue inputOf(const Send &send) {
    return {states[pairs.number(send.src, send.chunk)].input, 1,
            waiting.order().inputOf(send.src, send.chunk)};
  }
  /// What `send` carries of what its source has kept, with its input if that is
  /// asked for: summed up as soon as all of it is there.
  ChunkValue sumOfKept(unsigned index, const Send &send);

  /// While a step is planned, another thread sorts the next one.
  LogicalResult planSteps();
  LogicalResult planStep(unsigned index, const std::vector<Send> &sends);

  /// The channel that moves what `send` does; of a link's many sends only the
  /// first looks for it.
  PlannedChannel &channelOf(const Send &send) {
    bool isPull = send.transport == SendTransport::Pull;
    std::pair ends(isPull ? send.dst : send.src, isPull ? send.src : send.dst);
    if (!lastChannel || lastEnds != ends) {
      lastEnds = ends;
      lastChannel = &ranks[ends.first].channels[ends.second];
    }
    return *lastChannel;
  }

  /// Joins what the step has sent over the link of `send`, unless it is joined
  /// one by one later: reductions with puts and gets. With LL words some of it
  /// may be dropped yet.
  void endLink(const Send &send) {
    if (ll || collective.combining())
      return;
    for (auto [mover, peer] :
         {std::pair(send.src, send.dst), std::pair(send.dst, send.src)})
      if (auto channel = ranks[mover].channels.find(peer);
          channel != ranks[mover].channels.end())
        repeatMoves(channel->second, perSegment);
  }

  /// What the receiver of `send` does with it. Returns where it lands: in
  /// `apart` if it has to stay apart from what the receiver has.
  Slot planArrival(unsigned index, const Send &send, ChunkValue payload,
                   Slot apart);

  /// Where `part` lands, if it waits for the others of its sum.
  Slot waitingPlace(unsigned rank, unsigned chunk, SumPart part) {
    auto allocate = [&](uint32_t count) {
      return newScratch(rank, count).index;
    };
    return {Buffer::Scratch,
            waiting.placeOf(rank, chunk, part, collective, pairs, allocate)};
  }
  /// Sums up what waits, in the step in which the last of it has come.
  void sumUp(unsigned rank, unsigned chunk, bool isLast);
  /// Adds the reduction of two values in `step`, to `result`.
  ChunkValue addSum(unsigned rank, unsigned step, unsigned chunk,
                    const ChunkValue &a, const ChunkValue &b, Slot result) {
    ChunkValue sum{pack(result), a.contributors + b.contributors,
                   waiting.order().sumOf(chunk, a.part, b.part)};
    addLocal(rank, step, Phase::Reduce, chunk, unpack(a.slot), result,
             unpack(b.slot), sum.contributors == numContributors[chunk]);
    return sum;
  }

  /// A copy of a last version from scratch to the output.
  struct Delivery {
    unsigned rank, chunk;
    Slot version, output;
  };

  const Collective &collective;
  const unsigned perSegment;
  ScheduleOp schedule;
  bool throughScratch, eager, ll;
  const TransferPlanOptions options;
  PairTable pairs; ///< a rank, and a chunk that it has at some time
  std::vector<PairState> states;
  std::vector<bool> pulled;         ///< by pair, through scratch: by peers
  std::vector<uint32_t> lastSent;   ///< by pair, with LL words: the last step
  std::vector<SlotCounter> outputs; ///< by rank
  std::vector<PlannedRank> ranks;
  std::vector<unsigned> numContributors; ///< to each chunk
  /// Arrivals that ranks keep, by pair and number.
  std::map<std::pair<size_t, unsigned>, ChunkValue> kept;
  /// Sums that sends of the step in hand carry, by what they are made of.
  std::map<std::tuple<size_t, SendPayload, uint32_t>, ChunkValue> sums;
  WaitingSums waiting;
  std::vector<Delivery> deliveries;       ///< of the step in hand
  std::pair<unsigned, unsigned> lastEnds; ///< of the last send
  PlannedChannel *lastChannel = nullptr;  ///< likewise
};
} // namespace

LogicalResult Planner::countSends() {
  for (unsigned rank = 0; rank < ranks.size(); ++rank)
    for (unsigned chunk : collective.pre().chunksOf(rank)) {
      pairs.insert(rank, chunk);
      ++numContributors[chunk];
    }
  forEachArrival([&](const Send &send) { pairs.insert(send.dst, send.chunk); });
  states.resize(pairs.finish());
  std::atomic<bool> isWrong = false;
  forEachArrival([&](const Send &send) {
    if (!pairs.contains(send.src, send.chunk))
      isWrong = true;
    if (send.action != SendAction::Keep)
      ++stateOf(send.dst, send.chunk).arrivalsLeft;
  });
  return isWrong || throughScratch ? noteSenders() : success();
}

LogicalResult Planner::noteSenders() {
  pulled.resize(states.size());
  if (ll)
    lastSent.resize(states.size());
  std::optional<Send> wrong;
  forEachSend(0, ranks.size(), [&](unsigned step, const Send &send) {
    if (!pairs.contains(send.src, send.chunk)) {
      if (!wrong)
        wrong = send;
      return;
    }
    if (send.transport == SendTransport::Pull)
      pulled[pairs.number(send.src, send.chunk)] = true;
    if (ll && !send.carriesInputOnly())
      lastSent[pairs.number(send.src, send.chunk)] = step;
  });
  return wrong ? refuseSender(*wrong) : success();
}

ChunkValue Planner::sumOfKept(unsigned index, const Send &send) {
  size_t pair = pairs.number(send.src, send.chunk);
  auto [sum, isNew] = sums.try_emplace({pair, send.payload, send.kept});
  if (!isNew)
    return sum->second;
  SmallVector<ChunkValue> parts;
  if (send.payload == SendPayload::Input)
    parts.push_back(inputOf(send));
  send.forEachKept([&](unsigned number) {
    parts.push_back(kept[{pair, number}]);
  });
  // In a schedule that is right nothing is kept before the first step.
  bool isThere = index > 0 && llvm::none_of(parts, [](const ChunkValue &part) {
                   return part.slot == ChunkValue::absent;
                 });
  if (!isThere)
    return {};
  for (const SumChain &chain :
       waiting.order().chainsOfKept(send.chunk, partsOf(parts))) {
    ChunkValue total = parts[chain.terms.front()];
    for (uint32_t i : ArrayRef(chain.terms).drop_front())
      total = addSum(send.src, index - 1, send.chunk, total, parts[i],
                     newScratch(send.src));
    parts.push_back(total);
  }
  return sum->second = parts.back();
}

LogicalResult Planner::planSteps() {
  SmallVector<StepOp> steps(schedule.getBody().getOps<StepOp>());
  std::optional<Beside<std::vector<Send>>> next;
  auto beginToSort = [&](size_t index) {
    if (index < steps.size())
      next.emplace([step = steps[index]] { return sortedSends(step); },
                   schedule.getContext()->isMultithreadingEnabled());
  };
  beginToSort(0);
  for (size_t index = 0; index < steps.size(); ++index) {
    std::vector<Send> sends = std::move(next->get());
    beginToSort(index + 1);
    if (failed(planStep(index, sends)))
      return failure();
  }
  return success();
}

Slot Planner::nextVersion(unsigned rank, unsigned chunk, unsigned step,
                          bool byPeer) {
  std::optional<unsigned> output = outputSlot(rank, chunk);
  bool isLast = --stateOf(rank, chunk).arrivalsLeft == 0 && output;
  bool isSentOn = ll && lastSent[pairs.number(rank, chunk)] > step;
  bool mustPass =
      (throughScratch && (byPeer || isSentOn || isPulled(rank, chunk))) ||
      (eager && byPeer && step == 0);
  if (isLast && !mustPass)
    return {Buffer::Output, *output};
  Slot version = newScratch(rank);
  if (isLast)
    deliveries.push_back({rank, chunk, version, {Buffer::Output, *output}});
  return version;
}

Slot Planner::planArrival(unsigned index, const Send &send, ChunkValue payload,
                          Slot apart) {
  size_t pair = pairs.number(send.dst, send.chunk);
  PairState &state = states[pair];
  bool keepsOnly = send.action == SendAction::Keep;
  bool reduces = send.action == SendAction::Reduce &&
                 state.current.slot != ChunkValue::absent;
  Slot landing = reduces || keepsOnly
                     ? apart
                     : nextVersion(send.dst, send.chunk, index,
                                   send.transport != SendTransport::Pull);
  payload.slot = pack(landing);
  if (send.keep)
    kept[{pair, send.keep}] = payload;
  if (keepsOnly)
    return landing;
  if (waiting.waits(send)) {
    waiting.add(pair, index, payload);
    if (state.arrivalsLeft == 1)
      sumUp(send.dst, send.chunk, /*isLast=*/true);
    else
      --state.arrivalsLeft;
    return landing;
  }
  if (reduces) {
    // Contributions are disjoint in a schedule that is right.
    payload = addSum(send.dst, index, send.chunk, state.current, payload,
                     nextVersion(send.dst, send.chunk, index, false));
  }
  state.current = payload;
  return landing;
}

void Planner::sumUp(unsigned rank, unsigned chunk, bool isLast) {
  size_t pair = pairs.number(rank, chunk);
  PairState &state = states[pair];
  auto [step, parts] = waiting.take(pair);
  auto own = uint32_t(parts.size());
  parts.push_back(state.current);
  std::vector<SumChain> chains =
      waiting.order().chainsOf(chunk, partsOf(parts));
  for (const SumChain &chain : chains) {
    std::vector<uint32_t> terms = chain.terms;
    auto at = llvm::find(terms, own);
    // Two may change places.
    if (at != terms.end() && terms.size() == 2) {
      std::iter_swap(at, terms.begin());
    } else if (at != terms.end() && at != terms.begin()) {
      Slot copy = waitingPlace(rank, chunk, parts[own].part);
      addLocal(rank, step, Phase::Stage, chunk, unpack(parts[own].slot), copy);
      parts[own].slot = pack(copy);
    }
    ChunkValue total = parts[terms.front()];
    for (uint32_t term : ArrayRef(terms).drop_front()) {
      Slot result;
      if (term == terms.back() && &chain != &chains.back())
        result = waitingPlace(rank, chunk, {total.part.first, chain.node});
      else if (term == terms.back() && isLast)
        result = nextVersion(rank, chunk, step, /*byPeer=*/false);
      else
        result = newScratch(rank);
      total = addSum(rank, step, chunk, total, parts[term], result);
    }
    parts.push_back(total);
  }
  state.current = parts.back();
  waiting.leavePlaces(pair);
}

LogicalResult Planner::planStep(unsigned index,
                                const std::vector<Send> &sends) {
  // All payloads are looked up before any version changes.
  sums.clear();
  std::vector<ChunkValue> payloads;
  payloads.reserve(sends.size());
  for (const Send &send : sends) {
    payloads.push_back(payloadOf(index, send));
    if (payloads.back().slot == ChunkValue::absent)
      return refuseSender(send);
  }
  // A rank can reduce and copy together what lands side by side.
  std::vector<Slot> places(sends.size());
  std::vector<uint32_t> order = orderOfArrivals(sends);
  auto allocate = [&](unsigned rank, uint32_t count) {
    return newScratch(rank, count).index;
  };
  std::vector<uint32_t> apart =
      landingSlots(sends, order, perSegment, allocate,
                   [&](const Send &send) { return waiting.waits(send); });
  for (uint32_t i : order) {
    const Send &send = sends[i];
    Slot place = waiting.waits(send)
                     ? waitingPlace(send.dst, send.chunk, payloads[i].part)
                     : Slot{Buffer::Scratch, apart[i]};
    places[i] = planArrival(index, send, payloads[i], place);
  }
  for (size_t i = 0; i < sends.size(); ++i) {
    const Send &send = sends[i];
    add(channelOf(send), {index, Phase::Move, send.transport, send.chunk, 1,
                          unpack(payloads[i].slot), std::nullopt, places[i]});
    if (i + 1 == sends.size() || !isSameLink(send, sends[i + 1]))
      endLink(send);
  }
  for (const Delivery &delivery : deliveries)
    addLocal(delivery.rank, index, Phase::Deliver, delivery.chunk,
             delivery.version, delivery.output);
  deliveries.clear();
  return success();
}

void Planner::enterInputs(unsigned rank) {
  SlotCounter outputs(collective.post(), rank);
  for (auto [slot, chunk] : llvm::enumerate(collective.pre().chunksOf(rank))) {
    PairState &state = stateOf(rank, chunk);
    Slot input{Buffer::Input, unsigned(slot)};
    std::optional<unsigned> output = outputs.slotOf(chunk);
    if (output && state.arrivalsLeft == 0)
      addLocal(rank, 0, Phase::Stage, chunk, input, {Buffer::Output, *output});
    if (isPulled(rank, chunk)) {
      Slot staged = newScratch(rank);
      addLocal(rank, 0, Phase::Stage, chunk, input, staged);
      input = staged;
    }
    state.input = pack(input);
    state.current = {state.input, 1, waiting.order().inputOf(rank, chunk)};
  }
}

FailureOr<std::vector<PlannedRank>>
coll::planTransfers(const Collective &collective, ScheduleOp schedule,
                    TransferPlanOptions options) {
  return Planner(collective, schedule, options).plan();
}
