//===- Traffic.cpp - What a coll.program sends ----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Simulate/Traffic.h"

#include "sccl/Analysis/Program.h"
#include "sccl/Analysis/SwitchAccesses.h"
#include "sccl/Analysis/WordGroups.h"
#include "sccl/Model/SwitchLoads.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

void Action::setOperands(unsigned operands, bool readsWords, bool writesWords) {
  isWords = readsWords || writesWords;
  unsigned sources = std::max(operands, 1u);
  inputs = sources;
  // LL words are polled eight at a time. In plain memory the first two operands
  // are loaded together, then four of the others, two and one.
  constexpr unsigned atOnce = 8;
  unsigned others = sources - 1, first = others > 0 && !isWords;
  others -= first;
  accesses = isWords ? (others + atOnce - 1) / atOnce
                     : first + others / 4 + unsigned(std::popcount(others % 4));
  accesses = std::max(accesses, 1u);
  constexpr unsigned teamsOfBlock = 8; // of 256 threads
  teams = isWords && operands <= 1 ? teamsOfBlock : 1;
  if (writesWords)
    bytes *= 2;
  else if (readsWords)
    inputs *= 2;
}

void Action::setWidths(double moved, double loaded) {
  bytes *= moved;
  inputs = loaded / moved;
}

using Kind = Action::Kind;

std::pair<unsigned, unsigned> coll::endsOf(unsigned rank,
                                           const Transfer &transfer) {
  unsigned src = rank;
  for (const SlotRange &read : transfer.reads)
    if (read.rank != rank)
      src = read.rank;
  return {src, transfer.write.rank};
}

Action coll::actionOf(ProgramOp program, unsigned rank,
                      const Transfer &transfer, double chunkBytes) {
  auto [src, dst] = endsOf(rank, transfer);
  Action action{.kind = src == dst    ? Kind::Copy
                        : src == rank ? Kind::Push
                                      : Kind::Pull,
                .bytes = transfer.size() * chunkBytes};
  bool readsWords = llvm::any_of(transfer.reads, [&](const SlotRange &read) {
    return holdsLL(program, read);
  });
  const SlotRange &write = transfer.write;
  action.setOperands(transfer.bySwitch ? 1 : transfer.reads.size(), readsWords,
                     holdsLL(program, write));
  if (program.getSumWidth() != 1) {
    SmallVector<RankOp, 0> ranks = ranksOf(program);
    auto widthOf = [&](const SlotRange &range) -> double {
      return isWide(ranks[range.rank], range) ? program.getSumWidth() : 1;
    };
    double moved = widthOf(write), loaded = 0;
    for (const SlotRange &read : transfer.reads) {
      loaded += widthOf(read);
      if (read.rank != rank)
        moved = widthOf(read);
    }
    action.setWidths(moved, loaded);
  }
  // Blocks share a run of LL words, but have a part of each other chunk.
  action.pieces = write.size() / (action.isWords ? write.count : 1);
  return action;
}

namespace {
class TrafficBuilder {
public:
  TrafficBuilder(ProgramOp program, const Topology &topology, double chunkBytes)
      : program(program), topology(topology), chunkBytes(chunkBytes),
        flags(program), switches(topology) {}

  FailureOr<Traffic> build();

private:
  LogicalResult add(ChannelOp channel, Operation &op);
  FailureOr<Action> linkedAction(unsigned rank, const Transfer &transfer,
                                 Operation &op) const;
  LogicalResult addGroup(unsigned rank,
                         const std::vector<SharedTransfer> &group);
  LogicalResult addSwitched(unsigned rank, const Transfer &transfer,
                            Operation &op);
  const std::vector<unsigned> &limitsOf(unsigned link);
  unsigned switchedThrough(unsigned rank, bool isMulticast,
                           ArrayRef<unsigned> others);
  LogicalResult addAll(ChannelOp channel);
  void addLLWaits(const Transfer &transfer);
  void addLLSignals(const Transfer &transfer, unsigned link);
  FailureOr<unsigned> linkOf(unsigned src, unsigned dst, Operation &op) const;
  unsigned flagOf(const FlagId &flag) const {
    return firstFlag[flag.dst] + flags.index(flag);
  }
  unsigned wordOf(unsigned rank, unsigned slot);
  std::vector<Action> &actions() { return traffic.channels.back().actions; }

  ProgramOp program;
  const Topology &topology;
  double chunkBytes;
  FlagTable flags;
  SwitchLimits switches;
  std::vector<std::vector<unsigned>> limitsOfLink; ///< empty until it is asked
  std::vector<unsigned> firstFlag;                 ///< of each rank
  std::map<std::vector<unsigned>, unsigned> switched; ///< numbers of limits
  /// The flags that stand for LL words, by rank and slot.
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> words;
  Traffic traffic;
};
} // namespace

/// A signal to a rank that is pulled from goes against the link; one between
/// channels of a rank takes none.
FailureOr<unsigned> TrafficBuilder::linkOf(unsigned src, unsigned dst,
                                           Operation &op) const {
  if (src == dst)
    return Action::noLink;
  if (std::optional<unsigned> link = topology.findLink(src, dst))
    return *link;
  if (std::optional<unsigned> link = topology.findLink(dst, src))
    return *link;
  return op.emitOpError() << "goes from rank " << src << " to rank " << dst
                          << ", which no link joins";
}

unsigned TrafficBuilder::wordOf(unsigned rank, unsigned slot) {
  auto [it, isNew] = words.try_emplace({rank, slot}, traffic.numFlags);
  if (isNew)
    ++traffic.numFlags;
  return it->second;
}

void TrafficBuilder::addLLWaits(const Transfer &transfer) {
  for (const SlotRange &read : transfer.reads)
    for (unsigned i = 0; holdsLL(program, read) && i < read.size(); ++i)
      actions().push_back({.kind = Kind::Wait,
                           .flag = wordOf(read.rank, read[i]),
                           .value = 1,
                           .isWords = true});
}

void TrafficBuilder::addLLSignals(const Transfer &transfer, unsigned link) {
  const SlotRange &write = transfer.write;
  for (unsigned i = 0; holdsLL(program, write) && i < write.size(); ++i)
    actions().push_back({.kind = Kind::Signal,
                         .link = link,
                         .flag = wordOf(write.rank, write[i]),
                         .value = 1,
                         .isWords = true});
}

FailureOr<Action> TrafficBuilder::linkedAction(unsigned rank,
                                               const Transfer &transfer,
                                               Operation &op) const {
  Action action = actionOf(program, rank, transfer, chunkBytes);
  if (auto [src, dst] = endsOf(rank, transfer); src != dst) {
    FailureOr<unsigned> link = linkOf(src, dst, op);
    if (failed(link))
      return failure();
    action.link = *link;
  }
  return action;
}

/// All begin when the words of all are there, which is late by what the first
/// could have done before. Their loads are under way together, as far as there
/// are blocks: the first takes the longest that any of them does, and as often
/// as a block has one.
LogicalResult
TrafficBuilder::addGroup(unsigned rank,
                         const std::vector<SharedTransfer> &group) {
  unsigned blocks = traffic.blocks * traffic.channels.back().spread;
  auto rounds = unsigned(llvm::divideCeil(group.size(), blocks));
  for (const SharedTransfer &shared : group)
    addLLWaits(shared.transfer);
  size_t first = actions().size();
  for (const SharedTransfer &shared : group) {
    FailureOr<Action> action = linkedAction(rank, shared.transfer, *shared.op);
    if (failed(action))
      return failure();
    action->isBeside = actions().size() != first;
    action->share =
        double(shared.share.end - shared.share.begin) / BlockShare::units;
    actions().push_back(*action);
    Action &longest = actions()[first];
    longest.accesses = std::max(longest.accesses, action->accesses);
    longest.pieces = std::max(longest.pieces, action->pieces);
  }
  actions()[first].accesses *= rounds;
  for (size_t i = 0; i < group.size(); ++i)
    addLLSignals(group[i].transfer, actions()[first + i].link);
  return success();
}

const std::vector<unsigned> &TrafficBuilder::limitsOf(unsigned link) {
  if (limitsOfLink.empty()) {
    limitsOfLink.resize(topology.links().size());
    for (auto [number, limit] : llvm::enumerate(topology.limits()))
      for (unsigned each : limit.links)
        limitsOfLink[each].push_back(number);
  }
  return limitsOfLink[link];
}

/// The number of the limits that an access of `rank` through a switch takes
/// from, which copies to `others` or reduces what they have, and its own copy.
unsigned TrafficBuilder::switchedThrough(unsigned rank, bool isMulticast,
                                         ArrayRef<unsigned> others) {
  std::set<unsigned> through;
  for (unsigned other : others) {
    auto [src, dst] =
        isMulticast ? std::pair(rank, other) : std::pair(other, rank);
    std::optional<unsigned> link = topology.findLink(src, dst);
    if (!link)
      continue;
    through.insert(limitsOf(*link).begin(), limitsOf(*link).end());
    const Link &ends = topology.links()[*link];
    std::optional<unsigned> by =
        isMulticast ? switches.multicasting(ends) : switches.reducing(ends);
    if (!by)
      continue;
    const std::vector<unsigned> &own =
        isMulticast ? switches.behind(*by, rank) : switches.before(*by, rank);
    through.insert(own.begin(), own.end());
  }
  auto [it, isNew] = switched.try_emplace({through.begin(), through.end()},
                                          traffic.switched.size() + 1);
  if (isNew)
    traffic.switched.push_back(it->first);
  return it->second;
}

/// All copies of a multicast are one access, and so are all terms of a sum.
LogicalResult TrafficBuilder::addSwitched(unsigned rank,
                                          const Transfer &transfer,
                                          Operation &op) {
  SmallVector<unsigned> others = ranksOfAccess(&op);
  if (others.empty()) // it is of the one before
    return success();
  llvm::erase(others, rank);
  if (others.empty()) // a switch of one rank
    return op.emitOpError("reaches no other rank");
  bool isMulticast = !transfer.reduces();
  FailureOr<unsigned> link = isMulticast ? linkOf(rank, others.front(), op)
                                         : linkOf(others.front(), rank, op);
  if (failed(link))
    return failure();
  Action action = actionOf(program, rank, transfer, chunkBytes);
  action.kind = isMulticast ? Kind::Push : Kind::Pull;
  action.link = *link;
  action.switched = switchedThrough(rank, isMulticast, others);
  actions().push_back(action);
  return success();
}

LogicalResult TrafficBuilder::add(ChannelOp channel, Operation &op) {
  unsigned rank = getRank(channel);
  if (std::optional<Transfer> transfer = getTransfer(&op)) {
    if (transfer->bySwitch)
      return addSwitched(rank, *transfer, op);
    FailureOr<Action> action = linkedAction(rank, *transfer, op);
    if (succeeded(action))
      actions().push_back(*action);
    return action;
  }
  if (auto signal = dyn_cast<SignalOp>(op)) {
    FlagId flag = getFlag(signal);
    FailureOr<unsigned> link = linkOf(flag.src, flag.dst, op);
    if (failed(link))
      return failure();
    actions().push_back({.kind = Kind::Signal,
                         .link = *link,
                         .flag = flagOf(flag),
                         .value = unsigned(signal.getValue())});
  } else if (auto wait = dyn_cast<WaitOp>(op)) {
    actions().push_back({.kind = Kind::Wait,
                         .flag = flagOf(getFlag(wait)),
                         .value = unsigned(wait.getValue())});
  } else if (isa<BarrierOp>(op)) {
    actions().push_back({.kind = Kind::Barrier});
  }
  return success();
}

LogicalResult TrafficBuilder::addAll(ChannelOp channel) {
  std::vector<std::vector<SharedTransfer>> groups = wordGroupsOf(channel);
  auto group = groups.begin();
  auto ops = channel.getBody().getOps();
  for (auto op = ops.begin(); op != ops.end();) {
    if (group == groups.end() || group->front().op != &*op) {
      if (failed(add(channel, *op++)))
        return failure();
      continue;
    }
    if (failed(addGroup(getRank(channel), *group)))
      return failure();
    std::advance(op, group->size());
    ++group;
  }
  return success();
}

FailureOr<Traffic> TrafficBuilder::build() {
  traffic.blocks = program.getBlocks();
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
    firstFlag.push_back(traffic.numFlags);
    traffic.numFlags += flags.numFlags(rank);
  }
  for (RankOp rank : program.getBody().getOps<RankOp>())
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>()) {
      traffic.channels.push_back(
          {unsigned(rank.getRank()), {}, channel.getSpread()});
      if (failed(addAll(channel)))
        return failure();
    }
  return std::move(traffic);
}

FailureOr<Traffic> coll::trafficOf(ProgramOp program, const Topology &topology,
                                   double chunkBytes) {
  return TrafficBuilder(program, topology, chunkBytes).build();
}
