//===- Import.cpp - From coll ops to the Model ----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Dialect/Coll/ImportExport.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Model/LimitedLinks.h"

#include <map>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

/// Fails if one of `numbers` of `op` is negative. Attributes have no sign: a
/// rank -1 would otherwise be reported as 4294967295.
static LogicalResult
verifyNotNegative(Operation *op,
                  ArrayRef<std::pair<StringRef, uint32_t>> numbers) {
  for (auto [name, number] : numbers)
    if (static_cast<int32_t>(number) < 0)
      return op->emitOpError() << name << " is " << static_cast<int32_t>(number)
                               << ", expected at least 0";
  return success();
}

namespace {
/// Which op limits which set of links, to find ops that contradict each other.
struct LimitedLinks {
  std::vector<LinkOp> own; ///< by link
  std::map<std::vector<unsigned>, LimitOp> sets;
};
} // namespace

static LogicalResult importLink(LinkOp op, Topology &topology) {
  if (failed(verifyNotNegative(op,
                               {{"rank", op.getSrc()},
                                {"rank", op.getDst()},
                                {"bandwidth", op.getBandwidth().value_or(0)}})))
    return failure();
  Result<unsigned> added =
      op.getBandwidth().value_or(0) != 0
          ? topology.addLink(op.getSrc(), op.getDst(), *op.getBandwidth())
          : topology.addLink(op.getSrc(), op.getDst());
  if (!added)
    return op.emitOpError(added.error());
  return success();
}

/// Fails if `first` is there and limits the links of `second` to something
/// else.
template <typename FirstOp>
static LogicalResult verifySameBandwidth(FirstOp first, LimitOp second,
                                         std::optional<uint32_t> bandwidth) {
  if (!first || !bandwidth || *bandwidth == second.getBandwidth())
    return success();
  InFlightDiagnostic diag = second.emitOpError()
                            << "limits the same links to bandwidth "
                            << second.getBandwidth() << " that are limited to "
                            << *bandwidth << " already";
  diag.attachNote(first.getLoc()) << "the other limit is here";
  return diag;
}

static LogicalResult importLimit(LimitOp op, Topology &topology,
                                 LimitedLinks &limited) {
  if (failed(verifyNotNegative(op, {{"bandwidth", op.getBandwidth()}})))
    return failure();
  std::vector<unsigned> links;
  for (auto [src, dst] : llvm::zip_equal(op.getSrcs(), op.getDsts())) {
    std::optional<unsigned> link = topology.findLink(src, dst);
    if (!link)
      return op.emitOpError() << "names link " << src << " -> " << dst
                              << ", which is not declared before it";
    links.push_back(*link);
  }
  Result<unsigned> added = topology.addLimit(links, op.getBandwidth());
  if (!added)
    return op.emitOpError(added.error());
  llvm::sort(links);
  if (links.size() == 1) {
    LinkOp own = limited.own[links.front()];
    bool hasOwn = own.getBandwidth().value_or(0) != 0;
    if (hasOwn && failed(verifySameBandwidth(own, op, own.getBandwidth())))
      return failure();
  }
  LimitOp first = limited.sets.try_emplace(links, op).first->second;
  return verifySameBandwidth(first, op, first.getBandwidth());
}

static LogicalResult importSwitch(SwitchOp op, Topology &topology) {
  Switch added{{}, op.getMulticast(), op.getReduces(), op.getOwnCopies()};
  for (int32_t rank : op.getRanks()) {
    if (failed(verifyNotNegative(op, {{"rank", rank}})))
      return failure();
    added.ranks.push_back(unsigned(rank));
  }
  if (Result<unsigned> index = topology.addSwitch(std::move(added)); !index)
    return op.emitOpError() << "is none: " << index.error();
  return success();
}

/// Fails unless each link of `own` is limited somehow or says that it is not:
/// a forgotten bandwidth would be another topology, with optimal schedules of
/// its own.
static LogicalResult verifyLimited(const Topology &topology,
                                   ArrayRef<LinkOp> own) {
  for (auto [op, limited] : llvm::zip_equal(own, limitedLinks(topology))) {
    LinkOp link = op;
    if (limited && link.getBandwidth() == 0u)
      return link.emitOpError("is unlimited, and a limit names it");
    if (!limited && !link.getBandwidth())
      return link.emitOpError("has no bandwidth, and no limit names it; give "
                              "it a bandwidth, such as 'bandwidth = 1', or say "
                              "'unlimited'");
  }
  return success();
}

FailureOr<Topology> coll::importTopology(TopologyOp op) {
  if (failed(verifyNotNegative(op, {{"the number of ranks", op.getRanks()}})))
    return failure();
  if (op.getRanks() < 1 || op.getRanks() > Topology::maxRanks)
    return op.emitOpError()
           << "has " << op.getRanks() << " ranks, expected between 1 and "
           << Topology::maxRanks;
  Topology topology(op.getSymName().str(), op.getRanks());
  LimitedLinks limited;
  for (Operation &child : op.getBody().getOps()) {
    if (auto link = dyn_cast<LinkOp>(child)) {
      if (failed(importLink(link, topology)))
        return failure();
      limited.own.push_back(link);
    } else if (auto limit = dyn_cast<LimitOp>(child)) {
      if (failed(importLimit(limit, topology, limited)))
        return failure();
    } else if (auto joined = dyn_cast<SwitchOp>(child)) {
      if (failed(importSwitch(joined, topology)))
        return failure();
    }
  }
  if (failed(verifyLimited(topology, limited.own)))
    return failure();
  return topology;
}

/// Adds what one coll.pre or coll.post says to `set`.
template <typename ConditionOp>
static LogicalResult importCondition(ConditionOp op, RankChunkSet &set) {
  if (failed(verifyNotNegative(op, {{"rank", op.getRank()}})))
    return failure();
  if (op.getRank() >= set.numRanks())
    return op.emitOpError()
           << "names rank " << op.getRank() << ", but the collective has "
           << set.numRanks() << " ranks";
  for (int32_t chunk : op.getChunks()) {
    if (chunk < 0 || unsigned(chunk) >= set.numChunks())
      return op.emitOpError()
             << "names chunk " << chunk << ", but the collective has "
             << set.numChunks() << " distinct chunks";
    set.insert(op.getRank(), chunk);
  }
  return success();
}

FailureOr<Collective> coll::importCollective(CollectiveOp op) {
  if (failed(verifyNotNegative(
          op, {{"the number of ranks", op.getRanks()},
               {"the number of chunks", op.getChunks()},
               {"the number of distinct chunks", op.getDistinct()},
               {"the size of a segment", op.getSegment().value_or(1)}})))
    return failure();
  if (op.getRanks() < 1 || op.getRanks() > Topology::maxRanks)
    return op.emitOpError()
           << "has " << op.getRanks() << " ranks, expected between 1 and "
           << Topology::maxRanks;
  if (op.getDistinct() < 1 ||
      uint64_t(op.getRanks()) * op.getDistinct() > Collective::maxPairs)
    return op.emitOpError()
           << "has " << op.getDistinct() << " distinct chunks on "
           << op.getRanks() << " ranks, expected at least 1 and at most "
           << Collective::maxPairs << " pairs";
  RankChunkSet pre(op.getRanks(), op.getDistinct());
  RankChunkSet post(op.getRanks(), op.getDistinct());
  for (PreOp condition : op.getBody().getOps<PreOp>())
    if (failed(importCondition(condition, pre)))
      return failure();
  for (PostOp condition : op.getBody().getOps<PostOp>())
    if (failed(importCondition(condition, post)))
      return failure();
  Result<Collective> collective = Collective::makeCustom(
      op.getSymName().str(), op.getChunks(), op.getCombining(), std::move(pre),
      std::move(post), op.getSegment().value_or(1));
  if (!collective)
    return op.emitOpError(collective.error());
  return std::move(*collective);
}

static FailureOr<RankGroups> importGroups(GroupedOp op) {
  RankGroups groups;
  for (Attribute group : op.getGroups()) {
    auto ranks = dyn_cast<ArrayAttr>(group);
    if (!ranks)
      return op.emitOpError()
             << "has group " << group << ", expected a list of ranks";
    groups.emplace_back();
    for (Attribute element : ranks) {
      auto rank = dyn_cast<IntegerAttr>(element);
      if (!rank || !rank.getValue().isIntN(32))
        return op.emitOpError() << "has rank " << element
                                << " in a group, expected a number from 0 on";
      groups.back().push_back(unsigned(rank.getValue().getZExtValue()));
    }
  }
  return groups;
}

FailureOr<Collective> coll::importCollective(GroupedOp op) {
  unsigned root = op.getRoot().value_or(0);
  if (failed(verifyNotNegative(op, {{"the number of ranks", op.getRanks()},
                                    {"the number of chunks", op.getChunks()},
                                    {"root", root}})))
    return failure();
  std::optional<CollectiveKind> kind =
      parseCollectiveName(op.getCollective().str());
  if (!kind || *kind == CollectiveKind::Custom)
    return op.emitOpError() << "names collective " << op.getCollective()
                            << ", which does not exist";
  if (op.getRoot() && !isRooted(*kind))
    return op.emitOpError()
           << "gives a root to " << op.getCollective() << ", which has none";
  if (op.getRanks() < 1 || op.getRanks() > Topology::maxRanks)
    return op.emitOpError()
           << "has " << op.getRanks() << " ranks, expected between 1 and "
           << Topology::maxRanks;
  FailureOr<RankGroups> groups = importGroups(op);
  if (failed(groups))
    return failure();
  Result<Collective> collective = Collective::makeGrouped(
      *kind, op.getRanks(), std::move(*groups), op.getChunks(), root);
  if (!collective)
    return op.emitOpError(collective.error());
  collective->setName(op.getSymName().str());
  return std::move(*collective);
}

LogicalResult GroupedOp::verify() {
  return importCollective(*this); // grouped_c1-c2
}

FailureOr<std::vector<Collective>> coll::importCollectives(ModuleOp module) {
  std::vector<Collective> collectives;
  for (Operation &op : module.getOps()) {
    FailureOr<Collective> collective = failure();
    if (auto custom = dyn_cast<CollectiveOp>(op))
      collective = importCollective(custom);
    else if (auto grouped = dyn_cast<GroupedOp>(op))
      collective = importCollective(grouped);
    else
      continue;
    if (failed(collective))
      return failure();
    collectives.push_back(std::move(*collective));
  }
  return collectives;
}

/// The same for whichever of the two ops it is.
static FailureOr<Collective> importDefined(Operation *op) {
  if (auto custom = dyn_cast_or_null<CollectiveOp>(op))
    return importCollective(custom);
  return importCollective(cast<GroupedOp>(op));
}

static SendTransport importTransport(std::optional<Transport> transport) {
  if (!transport)
    return SendTransport::Any;
  switch (*transport) {
  case Transport::Push:
    return SendTransport::Push;
  case Transport::Pull:
    return SendTransport::Pull;
  case Transport::DMA:
    return SendTransport::DMA;
  case Transport::Multicast:
    return SendTransport::Multicast;
  case Transport::LoadReduce:
    return SendTransport::LoadReduce;
  }
  llvm_unreachable("unknown transport");
}

Send coll::importSend(SendOpInterface op) {
  Send send{uint32_t(op.getRanges()[0]),
            op.getSrc(),
            op.getDst(),
            op.getAction(),
            op.getFromInput() ? SendPayload::Input : SendPayload::Current,
            importTransport(op.getTransport()),
            uint8_t(op.getKeep().value_or(0))};
  if (std::optional<ArrayRef<int32_t>> kept = op.getKept()) {
    for (int32_t number : *kept)
      send.kept |= 1u << (number - 1);
    if (!op.getFromInput())
      send.payload = SendPayload::Kept;
  }
  return send;
}

Schedule coll::importSchedule(ScheduleOp op) {
  Schedule schedule;
  schedule.period = op.getPeriod().value_or(0);
  for (StepOp stepOp : op.getBody().getOps<StepOp>()) {
    Step &step = schedule.steps.emplace_back();
    step.rounds = stepOp.getRounds();
    size_t numSends = 0;
    for (auto op : stepOp.getBody().getOps<SendOpInterface>())
      numSends += op.numChunks();
    step.sends.reserve(numSends);
    for (auto op : stepOp.getBody().getOps<SendOpInterface>()) {
      Send send = importSend(op);
      op.forEachChunk([&](uint32_t chunk) {
        send.chunk = chunk;
        step.sends.push_back(send);
      });
    }
  }
  return schedule;
}

OrderedSums coll::importOrder(ScheduleOp op, const Collective &collective,
                              const SumOrder &asked, bool oneRounding) {
  OrderedSums order(collective, asked, oneRounding);
  if (!order.isNeeded())
    return order;
  for (StepOp step : op.getBody().getOps<StepOp>())
    for (auto sendOp : step.getBody().getOps<SendOpInterface>()) {
      Send send = importSend(sendOp);
      sendOp.forEachChunk([&](uint32_t chunk) {
        send.chunk = chunk;
        order.enter(send);
      });
    }
  order.finish();
  return order;
}

/// The collective that `op` names, on `topology`.
template <typename OpTy>
static FailureOr<Collective> importNamedCollective(OpTy op,
                                                   const Topology &topology) {
  unsigned root = op.getRoot().value_or(0);
  if (failed(verifyNotNegative(
          op, {{"the number of chunks", op.getChunks()}, {"root", root}})))
    return failure();
  if (auto symbol = dyn_cast<FlatSymbolRefAttr>(op.getCollective())) {
    Operation *custom = SymbolTable::lookupNearestSymbolFrom(op, symbol);
    if (!isa_and_nonnull<CollectiveOp, GroupedOp>(custom))
      return op.emitOpError()
             << "names collective " << symbol << ", which does not exist";
    if (op.getRoot())
      return op.emitOpError() << "gives a root to " << symbol
                              << ", which says itself who has what";
    FailureOr<Collective> collective = importDefined(custom);
    if (failed(collective))
      return failure();
    if (collective->numRanks() != topology.numRanks())
      return op.emitOpError()
             << "puts collective " << symbol << " of " << collective->numRanks()
             << " ranks on a topology of " << topology.numRanks();
    if (collective->chunks() != op.getChunks())
      return op.emitOpError()
             << "has chunks = " << op.getChunks() << ", but collective "
             << symbol << " has chunks = " << collective->chunks();
    return collective;
  }
  StringRef name = cast<StringAttr>(op.getCollective()).getValue();
  std::optional<CollectiveKind> kind = parseCollectiveName(name);
  if (!kind || *kind == CollectiveKind::Custom)
    return op.emitOpError()
           << "names collective " << name << ", which does not exist";
  if (op.getRoot() && !isRooted(*kind))
    return op.emitOpError() << "gives a root to " << name << ", which has none";
  Result<Collective> collective =
      Collective::make(*kind, topology.numRanks(), op.getChunks(), root);
  if (!collective)
    return op.emitOpError(collective.error());
  return std::move(*collective);
}

template <typename OpTy> static FailureOr<Problem> importProblemOf(OpTy op) {
  auto topologyOp = SymbolTable::lookupNearestSymbolFrom<TopologyOp>(
      op, op.getTopologyAttr());
  if (!topologyOp)
    return op.emitOpError() << "names topology @" << op.getTopology()
                            << ", which does not exist";
  FailureOr<Topology> topology = importTopology(topologyOp);
  if (failed(topology))
    return failure();
  FailureOr<Collective> collective = importNamedCollective(op, *topology);
  if (failed(collective))
    return failure();
  return Problem{std::move(*topology), std::move(*collective)};
}

FailureOr<Problem> coll::importProblem(ScheduleOp op) {
  return importProblemOf(op);
}
FailureOr<Problem> coll::importProblem(ProgramOp op) {
  return importProblemOf(op);
}

FailureOr<Instance> coll::importInstance(SynthesizeOp op) {
  if (failed(verifyNotNegative(
          op, {{"steps", op.getSteps()}, {"rounds", op.getRounds()}})))
    return failure();
  FailureOr<Problem> problem = importProblemOf(op);
  if (failed(problem))
    return failure();
  SumOrder order;
  if (std::optional<StringRef> text = op.getSumOrder()) {
    Result<SumOrder> asked = SumOrder::parse(*text);
    if (!asked)
      return op.emitOpError("has a sum_order that is none: ") << asked.error();
    order = *asked;
  }
  Result<Instance> instance = Instance::make(
      std::move(problem->topology), std::move(problem->collective),
      op.getSteps(), op.getRounds(), std::move(order));
  if (!instance)
    return op.emitOpError(instance.error());
  return std::move(*instance);
}
