//===- Export.cpp - From the Model to coll ops ----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Dialect/Coll/ImportExport.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Model/LimitedLinks.h"
#include "sccl/Model/Threads.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

std::string coll::topologySymbolName(StringRef name) {
  std::string symbol = name.str();
  for (char &c : symbol)
    if (!llvm::isAlnum(c) && c != '_')
      c = '_';
  return symbol;
}

namespace {
/// Limits by their numbers.
struct SplitLimits {
  std::vector<unsigned> own;    ///< `bandwidth` of links, in their order
  std::vector<unsigned> shared; ///< coll.limit
};
} // namespace

static SplitLimits splitLimits(const Topology &topology) {
  SplitLimits result;
  std::vector<std::optional<unsigned>> ofLink(topology.links().size());
  for (auto [number, limit] : llvm::enumerate(topology.limits()))
    if (limit.links.size() == 1 && !ofLink[limit.links.front()])
      ofLink[limit.links.front()] = number;
    else
      result.shared.push_back(number);
  for (std::optional<unsigned> number : ofLink)
    if (number)
      result.own.push_back(*number);
  return result;
}

std::vector<unsigned> coll::exportedLimits(const Topology &topology) {
  auto [limits, shared] = splitLimits(topology);
  limits.insert(limits.end(), shared.begin(), shared.end());
  return limits;
}

TopologyOp coll::exportTopology(OpBuilder &builder, Location loc,
                                const Topology &topology) {
  auto op = TopologyOp::create(
      builder, loc, topologySymbolName(topology.name()), topology.numRanks());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&op.getBody());

  std::vector<std::optional<unsigned>> ownBandwidth(topology.links().size());
  auto [own, shared] = splitLimits(topology);
  for (unsigned number : own) {
    const BandwidthLimit &limit = topology.limits()[number];
    ownBandwidth[limit.links.front()] = limit.bandwidth;
  }
  for (auto [link, bandwidth, limited] :
       llvm::zip_equal(topology.links(), ownBandwidth, limitedLinks(topology)))
    LinkOp::create(builder, loc, builder.getI32IntegerAttr(link.src),
                   builder.getI32IntegerAttr(link.dst),
                   bandwidth || !limited
                       ? builder.getI32IntegerAttr(bandwidth.value_or(0))
                       : IntegerAttr());
  for (unsigned number : shared) {
    const BandwidthLimit &limit = topology.limits()[number];
    SmallVector<int32_t> srcs, dsts;
    for (unsigned link : limit.links) {
      srcs.push_back(topology.links()[link].src);
      dsts.push_back(topology.links()[link].dst);
    }
    LimitOp::create(builder, loc, srcs, dsts, limit.bandwidth);
  }
  for (const Switch &joined : topology.switches())
    SwitchOp::create(
        builder, loc,
        SmallVector<int32_t>(joined.ranks.begin(), joined.ranks.end()),
        joined.multicast, joined.reduces, joined.ownCopies);
  return op;
}

/// Lists the chunks of each rank in `set` by ops of type `ConditionOp`.
template <typename ConditionOp>
static void exportConditions(OpBuilder &builder, Location loc,
                             const RankChunkSet &set) {
  for (unsigned rank = 0; rank < set.numRanks(); ++rank) {
    std::vector<unsigned> chunks = set.chunksOf(rank);
    if (!chunks.empty())
      ConditionOp::create(builder, loc, rank,
                          SmallVector<int32_t>(chunks.begin(), chunks.end()));
  }
}

static void exportGrouped(OpBuilder &builder, Location loc,
                          const Collective &collective) {
  SmallVector<Attribute> groups;
  for (const std::vector<unsigned> &group : collective.groups())
    groups.push_back(builder.getI64ArrayAttr(
        SmallVector<int64_t>(group.begin(), group.end())));
  bool hasRoot = isRooted(collective.groupKind());
  GroupedOp::create(
      builder, loc, builder.getStringAttr(collective.name()),
      builder.getStringAttr(collectiveName(collective.groupKind())),
      builder.getI32IntegerAttr(collective.numRanks()),
      builder.getI32IntegerAttr(collective.chunks()),
      hasRoot ? builder.getI32IntegerAttr(collective.root()) : IntegerAttr(),
      builder.getArrayAttr(groups));
}

void coll::exportCollective(OpBuilder &builder, Location loc,
                            const Collective &collective) {
  if (!collective.groups().empty())
    return exportGrouped(builder, loc, collective);
  unsigned segment = collective.chunksPerSegment();
  auto op = CollectiveOp::create(
      builder, loc, builder.getStringAttr(collective.name()),
      builder.getI32IntegerAttr(collective.numRanks()),
      builder.getI32IntegerAttr(collective.chunks()),
      builder.getI32IntegerAttr(collective.numChunks()),
      segment > 1 ? builder.getI32IntegerAttr(segment) : IntegerAttr(),
      collective.combining() ? builder.getUnitAttr() : UnitAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&op.getBody());
  exportConditions<PreOp>(builder, loc, collective.pre());
  exportConditions<PostOp>(builder, loc, collective.post());
}

/// How ops name `collective`.
static Attribute collectiveRef(OpBuilder &builder,
                               const Collective &collective) {
  if (collective.kind() == CollectiveKind::Custom)
    return FlatSymbolRefAttr::get(builder.getContext(), collective.name());
  return builder.getStringAttr(collective.name());
}

static TransportAttr exportTransport(OpBuilder &builder,
                                     SendTransport transport) {
  auto attr = [&](Transport by) {
    return TransportAttr::get(builder.getContext(), by);
  };
  switch (transport) {
  case SendTransport::Any:
    return TransportAttr();
  case SendTransport::Push:
    return attr(Transport::Push);
  case SendTransport::Pull:
    return attr(Transport::Pull);
  case SendTransport::DMA:
    return attr(Transport::DMA);
  case SendTransport::Multicast:
    return attr(Transport::Multicast);
  case SendTransport::LoadReduce:
    return attr(Transport::LoadReduce);
  }
  llvm_unreachable("unknown transport");
}

namespace {
/// Sends that differ in their chunks only.
struct SendGroup {
  Send first;
  std::vector<ChunkRange> ranges;
};
} // namespace

/// Sorts stably by a number below `limit`.
template <typename Number>
static void sortByNumber(std::vector<Send> &sends, size_t limit,
                         Number numberOf) {
  std::vector<size_t> begins(limit + 1);
  for (const Send &send : sends)
    ++begins[numberOf(send) + 1];
  for (size_t i = 1; i < begins.size(); ++i)
    begins[i] += begins[i - 1];
  std::vector<Send> sorted(sends.size());
  for (const Send &send : sends)
    sorted[begins[numberOf(send)]++] = send;
  sends = std::move(sorted);
}

/// Sorts stably by source and destination.
static void sortByEnds(std::vector<Send> &sends) {
  size_t limit = 0;
  for (const Send &send : sends)
    limit = std::max<size_t>(limit, std::max(send.src, send.dst) + 1);
  if (limit > Topology::maxRanks) { // which some schedule that is wrong may say
    llvm::stable_sort(sends, [](const Send &a, const Send &b) {
      return std::pair(a.src, a.dst) < std::pair(b.src, b.dst);
    });
  } else if (limit * limit <= sends.size()) {
    sortByNumber(sends, limit * limit, [limit](const Send &send) {
      return send.src * limit + send.dst;
    });
  } else {
    sortByNumber(sends, limit, [](const Send &send) { return send.dst; });
    sortByNumber(sends, limit, [](const Send &send) { return send.src; });
  }
}

/// Sorts by link, and then by all the rest with the chunk last.
static void sortByLink(std::vector<Send> &sends) {
  sortByEnds(sends);
  auto isLess = [](const Send &a, const Send &b) {
    return std::tie(a.action, a.payload, a.transport, a.keep, a.kept, a.chunk) <
           std::tie(b.action, b.payload, b.transport, b.keep, b.kept, b.chunk);
  };
  for (auto begin = sends.begin(); begin != sends.end();) {
    auto end = std::find_if(begin, sends.end(), [&](const Send &send) {
      return send.src != begin->src || send.dst != begin->dst;
    });
    if (!std::is_sorted(begin, end, isLess))
      std::sort(begin, end, isLess);
    begin = end;
  }
}

/// `sends` in groups, in the order of their first chunks.
static std::vector<SendGroup> groupSends(std::vector<Send> sends) {
  sortByLink(sends);
  std::vector<SendGroup> groups;
  std::vector<uint32_t> chunks;
  for (size_t begin = 0, end; begin < sends.size(); begin = end) {
    Send next = sends[begin];
    chunks.clear();
    // A chunk that is sent twice, which no checker accepts, is a group apart.
    for (end = begin; end < sends.size(); ++end) {
      next.chunk = sends[end].chunk;
      if (next != sends[end] ||
          (!chunks.empty() && chunks.back() == next.chunk))
        break;
      chunks.push_back(next.chunk);
    }
    groups.push_back({sends[begin], toRanges(chunks)});
  }
  llvm::stable_sort(groups, [](const SendGroup &a, const SendGroup &b) {
    return a.first < b.first;
  });
  return groups;
}

/// The numbers of kept arrivals; null if there are none.
static DenseI32ArrayAttr exportKept(OpBuilder &builder, const Send &send) {
  SmallVector<int32_t> numbers;
  send.forEachKept([&](unsigned number) { numbers.push_back(number); });
  return numbers.empty() ? DenseI32ArrayAttr()
                         : builder.getDenseI32ArrayAttr(numbers);
}

static void exportSends(OpBuilder &builder, Location loc,
                        const std::vector<SendGroup> &groups) {
  SmallVector<int32_t> ranges;
  for (const SendGroup &group : groups) {
    ranges.clear();
    for (const ChunkRange &range : group.ranges)
      ranges.append(
          {int32_t(range.first), int32_t(range.count), int32_t(range.stride)});
    const Send &send = group.first;
    auto create = [&](auto op) {
      decltype(op)::create(builder, loc, send.payload == SendPayload::Input,
                           exportKept(builder, send), ranges, send.src,
                           send.dst, exportTransport(builder, send.transport),
                           send.keep ? builder.getI32IntegerAttr(send.keep)
                                     : IntegerAttr());
    };
    if (send.action == SendAction::Copy)
      create(SendOp());
    else if (send.action == SendAction::Reduce)
      create(ReduceOp());
    else
      create(KeepOp());
  }
}

ScheduleOp coll::exportSchedule(OpBuilder &builder, Location loc,
                                StringRef name, StringRef topologySymbol,
                                const Collective &collective,
                                const Schedule &schedule, StringRef certificate,
                                ArrayRef<Way> ways) {
  auto op = ScheduleOp::create(
      builder, loc, builder.getStringAttr(name),
      collectiveRef(builder, collective),
      FlatSymbolRefAttr::get(builder.getContext(), topologySymbol),
      builder.getI32IntegerAttr(collective.chunks()),
      isRooted(collective.kind()) ? builder.getI32IntegerAttr(collective.root())
                                  : IntegerAttr(),
      schedule.isPipelined() ? builder.getI32IntegerAttr(schedule.period)
                             : IntegerAttr(),
      certificate.empty() ? StringAttr() : builder.getStringAttr(certificate),
      exportWays(builder.getContext(), ways));
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&op.getBody());
  // To group the sends of a step takes as long as to make ops of them.
  std::optional<Beside<std::vector<SendGroup>>> next;
  auto beginToGroup = [&](size_t index) {
    constexpr size_t worthThread = 1 << 16;
    if (index == schedule.steps.size())
      return;
    const std::vector<Send> &sends = schedule.steps[index].sends;
    next.emplace([&sends] { return groupSends(sends); },
                 sends.size() >= worthThread);
  };
  beginToGroup(0);
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    std::vector<SendGroup> groups = std::move(next->get());
    beginToGroup(i + 1);
    auto stepOp = StepOp::create(builder, loc, schedule.steps[i].rounds);
    OpBuilder::InsertionGuard stepGuard(builder);
    builder.createBlock(&stepOp.getBody());
    exportSends(builder, loc, groups);
  }
  return op;
}

OwningOpRef<ModuleOp> coll::exportModule(MLIRContext &context, StringRef name,
                                         const Topology &topology,
                                         const Collective &collective,
                                         const Schedule &schedule,
                                         StringRef certificate,
                                         ArrayRef<Way> ways) {
  context.loadDialect<CollDialect>();
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  TopologyOp topologyOp = exportTopology(builder, loc, topology);
  if (collective.kind() == CollectiveKind::Custom)
    exportCollective(builder, loc, collective);
  exportSchedule(builder, loc, name, topologyOp.getSymName(), collective,
                 schedule, certificate, ways);
  return module;
}

OwningOpRef<ModuleOp> coll::extract(ScheduleOp schedule) {
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(schedule->getParentOp()).clone();
  for (auto other : llvm::make_early_inc_range(copy->getOps<ScheduleOp>()))
    if (other.getSymName() != schedule.getSymName())
      other.erase();
  return copy;
}
