//===- ChooseTransport.cpp - Push, pull or copy engine --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/CostModel.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_CHOOSETRANSPORT
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

namespace {
/// What a transport costs relative to a push. docs/Rationale/Transport.md says
/// where the figures are from.
struct TransportCost {
  Transport transport;
  double latency;
  double bandwidth;
};
constexpr TransportCost transportCosts[] = {
    {Transport::Push, 1.0, 1.0},
    {Transport::Pull, 1.0, 0.93},
    {Transport::DMA, 3.2, 1.06},
};

/// A transport and why it was chosen.
struct Choice {
  Transport transport;
  std::string reason;
};

using Link = std::pair<unsigned, unsigned>;

/// Parses "0-1:pull".
std::optional<std::pair<Link, Transport>> parseLinkChoice(StringRef text) {
  auto [ends, word] = text.split(':');
  auto [src, dst] = ends.split('-');
  Link link;
  std::optional<Transport> transport = symbolizeTransport(word);
  if (src.getAsInteger(10, link.first) || dst.getAsInteger(10, link.second) ||
      !transport)
    return std::nullopt;
  return std::pair(link, *transport);
}

struct ChooseTransportPass
    : coll::impl::ChooseTransportBase<ChooseTransportPass> {
  using ChooseTransportBase::ChooseTransportBase;

  void runOnOperation() override {
    if (failed(readOptions()))
      return signalPassFailure();
    for (ScheduleOp schedule : getOperation().getOps<ScheduleOp>())
      if (failed(choose(schedule)))
        return signalPassFailure();
  }

private:
  LogicalResult readOptions() {
    for (const std::string &text : links) {
      auto choice = parseLinkChoice(text);
      if (!choice)
        return getOperation().emitError()
               << "cannot read '" << text
               << "' as the transport of a link, expected SRC-DST:TRANSPORT "
                  "with push, pull or dma";
      linkChoices[choice->first] = choice->second;
    }
    if (transport != "auto" && !symbolizeTransport(transport))
      return getOperation().emitError()
             << "unknown transport '" << transport
             << "', expected push, pull, dma or auto";
    for (auto [name, value] :
         {std::pair<const char *, double>("alpha", alpha), {"beta", beta}})
      if (!(value >= 0))
        return getOperation().emitError()
               << name << " is " << value << ", expected at least 0";
    return success();
  }

  LogicalResult choose(ScheduleOp schedule) {
    FailureOr<Problem> problem = importProblem(schedule);
    if (failed(problem) || failed(requireLinks(schedule, problem->topology)))
      return failure();
    Choice fallback = chooseForAll(schedule, *problem);
    std::map<Link, unsigned> sends;
    for (StepOp step : schedule.getBody().getOps<StepOp>())
      for (Operation &op : step.getBody().getOps()) {
        if (auto send = dyn_cast<SendOp>(op))
          set(send, fallback.transport, sends);
        else
          set(cast<ReduceOp>(op), fallback.transport, sends);
      }
    if (explain)
      report(schedule, fallback, sends);
    return success();
  }

  LogicalResult requireLinks(ScheduleOp schedule, const Topology &topology) {
    for (auto [link, choice] : linkChoices)
      if (link.first >= topology.numRanks() ||
          link.second >= topology.numRanks() ||
          !topology.findLink(link.first, link.second))
        return schedule.emitOpError()
               << "is on a topology without link " << link.first << " -> "
               << link.second << ", for which a transport is given";
    return success();
  }

  Choice chooseForAll(ScheduleOp schedule, const Problem &problem) {
    if (std::optional<Transport> named = symbolizeTransport(transport))
      return {*named, "as the option says"};
    Cost cost = costOf(importSchedule(schedule), problem.collective);
    std::optional<TransportCost> best;
    double bestTime = 0;
    std::string times;
    for (const TransportCost &candidate : transportCosts) {
      if (candidate.transport == Transport::DMA && !engines)
        continue;
      CostModel model{alpha * candidate.latency, beta / candidate.bandwidth};
      double time = model.microseconds(cost, bytes);
      times += llvm::formatv("{0}{1} {2:f1} us", times.empty() ? "" : ", ",
                             stringifyTransport(candidate.transport), time);
      if (!best || time < bestTime) {
        best = candidate;
        bestTime = time;
      }
    }
    return {best->transport, llvm::formatv("estimated for {0} bytes: {1}",
                                           bytes.getValue(), times)};
  }

  template <typename TransferOp>
  void set(TransferOp op, Transport fallback, std::map<Link, unsigned> &sends) {
    Link link{op.getSrc(), op.getDst()};
    ++sends[link];
    auto it = linkChoices.find(link);
    op.setTransport(it == linkChoices.end() ? fallback : it->second);
  }

  void report(ScheduleOp schedule, const Choice &fallback,
              const std::map<Link, unsigned> &sends) {
    for (auto [link, count] : sends) {
      auto it = linkChoices.find(link);
      bool isOwn = it != linkChoices.end();
      schedule.emitRemark()
          << "link " << link.first << " -> " << link.second << " (" << count
          << (count == 1 ? " send): " : " sends): ")
          << stringifyTransport(isOwn ? it->second : fallback.transport) << ", "
          << (isOwn ? "as the option for the link says" : fallback.reason);
    }
  }

  std::map<Link, Transport> linkChoices;
};
} // namespace
