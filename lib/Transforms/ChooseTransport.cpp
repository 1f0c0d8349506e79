//===- ChooseTransport.cpp - Push, pull or copy engine --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Transforms/Passes.h"

#include "sccl/Analysis/ProblemAnalysis.h"
#include "sccl/Model/Schedule.h"
#include "sccl/Model/Topology.h"
#include "sccl/Options/Log.h"

#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <set>

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

namespace sccl::coll {
#define GEN_PASS_DEF_CHOOSETRANSPORT
#include "sccl/Transforms/Passes.h.inc"
} // namespace sccl::coll

static Log chooseTransportLog("choose-transport");

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

/// What a schedule does with a link.
struct LinkUse {
  unsigned steps = 0;  ///< in which the link is used
  unsigned chunks = 0; ///< that it carries in all
  bool inFirstStep = false, inLastStep = false;
  double bandwidth = 1;
};

/// A transport and why it was chosen.
struct Choice {
  Transport transport = Transport::Push;
  std::string reason;
  auto operator<=>(const Choice &) const = default;
};

using Link = std::pair<unsigned, unsigned>;

/// The sends of each link, by what was chosen for them.
using SendCounts = std::map<Choice, std::map<Link, unsigned>>;

/// The transport that `choice` names; nothing if it is none.
std::optional<Transport> transportOf(TransportChoice choice) {
  switch (choice) {
  case TransportChoice::Push:
    return Transport::Push;
  case TransportChoice::Pull:
    return Transport::Pull;
  case TransportChoice::DMA:
    return Transport::DMA;
  case TransportChoice::Given:
  case TransportChoice::Auto:
    return std::nullopt;
  }
  llvm_unreachable("no other choices");
}

struct ChooseTransportPass
    : coll::impl::ChooseTransportBase<ChooseTransportPass> {
  using ChooseTransportBase::ChooseTransportBase;

  void runOnOperation() override {
    const Problem *problem = getAnalysis<ProblemAnalysis>().get();
    if (!problem || failed(readOptions()) ||
        failed(choose(getOperation(), *problem)))
      return signalPassFailure();
    markAnalysesPreserved<ProblemAnalysis>();
  }

private:
  LogicalResult readOptions() {
    for (const LinkTransport &choice : links) {
      Link link{choice.src, choice.dst};
      Transport given = *transportOf(choice.transport);
      auto [it, isNew] = linkChoices.try_emplace(link, given);
      if (it->second != given)
        return getOperation().emitError()
               << "link " << link.first << " -> " << link.second
               << " is to be by " << stringifyTransport(it->second)
               << " and by " << stringifyTransport(given);
    }
    for (auto [name, value] :
         {std::pair<const char *, double>("alpha", alpha), {"beta", beta}})
      if (!(value >= 0))
        return getOperation().emitError()
               << name << " is " << value << ", expected at least 0";
    return success();
  }

  LogicalResult choose(ScheduleOp schedule, const Problem &problem) {
    if (failed(requireLinks(schedule, problem.topology)))
      return failure();
    std::map<Link, Choice> estimates;
    if (transport == TransportChoice::Auto)
      for (const auto &[link, use] : readUses(schedule, problem.topology))
        estimates[link] = estimate(use, problem.collective.chunks());
    if (!inNetwork)
      warnOfSwitches(schedule);
    SendCounts sends;
    for (StepOp step : schedule.getBody().getOps<StepOp>())
      for (auto send : step.getBody().getOps<SendOpInterface>())
        set(send, estimates, sends);
    if (explain)
      report(schedule, sends);
    return success();
  }

  static bool isBySwitch(Transport transport) {
    return transport == Transport::Multicast ||
           transport == Transport::LoadReduce;
  }

  /// The program takes longer than the schedule says.
  static void warnOfSwitches(ScheduleOp schedule) {
    for (StepOp step : schedule.getBody().getOps<StepOp>())
      for (auto send : step.getBody().getOps<SendOpInterface>())
        if (auto by = send.getTransport(); by && isBySwitch(*by)) {
          schedule.emitWarning()
              << "moves chunks by " << stringifyTransport(*by)
              << ", but the program sends to each rank by itself: in-network "
                 "lets switches do it";
          return;
        }
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

  /// Links that the topology leaves unbounded count as others do.
  static double bandwidthOf(const Topology &topology, unsigned link) {
    unsigned capacity = topology.capacity(link);
    return capacity == Topology::maxBandwidth ? 1 : capacity;
  }

  static std::map<Link, LinkUse> readUses(ScheduleOp op,
                                          const Topology &topology) {
    std::map<Link, LinkUse> uses;
    auto steps = op.getBody().getOps<StepOp>();
    size_t numSteps = std::distance(steps.begin(), steps.end());
    for (auto [index, step] : llvm::enumerate(steps)) {
      std::set<Link> inStep;
      for (auto send : step.getBody().getOps<SendOpInterface>()) {
        Link link{send.getSrc(), send.getDst()};
        LinkUse &use = uses[link];
        use.steps += inStep.insert(link).second;
        use.chunks += send.numChunks();
        use.inFirstStep |= index == 0;
        use.inLastStep |= index + 1 == numSteps;
        use.bandwidth =
            bandwidthOf(topology, *topology.findLink(link.first, link.second));
      }
    }
    return uses;
  }

  /// The latencies, of a push each, that a link adds in all. With flags a push
  /// in the first step waits for one more, that the receiver is ready; a pull
  /// in the last step has one more waited for, that the chunk has been read. In
  /// other steps both come while something else goes on.
  double latencies(const TransportCost &candidate, const LinkUse &use) const {
    bool hasFlags = !steps;
    bool hasExtra = candidate.transport == Transport::Push ? use.inFirstStep
                                                           : use.inLastStep;
    return use.steps * candidate.latency + (hasFlags && hasExtra);
  }

  /// The fastest transport for a link; send buffers have `chunks` chunks.
  Choice estimate(const LinkUse &use, unsigned chunks) {
    double linkBytes = double(bytes) / chunks * use.chunks;
    Choice best;
    double bestTime = 0;
    std::string times;
    for (const TransportCost &candidate : transportCosts) {
      if (candidate.transport == Transport::DMA && !steps)
        continue;
      double time = latencies(candidate, use) * alpha +
                    linkBytes * beta / (use.bandwidth * candidate.bandwidth);
      times += llvm::formatv("{0}{1} {2:f1} us", times.empty() ? "" : ", ",
                             stringifyTransport(candidate.transport), time);
      if (candidate.transport == Transport::Push || time < bestTime) {
        best.transport = candidate.transport;
        bestTime = time;
      }
    }
    best.reason =
        llvm::formatv("estimated for {0} bytes: {1}", bytes.getValue(), times);
    return best;
  }

  void set(SendOpInterface op, const std::map<Link, Choice> &estimates,
           SendCounts &sends) {
    Link link{op.getSrc(), op.getDst()};
    Choice choice{Transport::Push, "by default"};
    if (auto it = linkChoices.find(link); it != linkChoices.end())
      choice = {it->second, "as the option for the link says"};
    else if (transport == TransportChoice::Auto)
      choice = estimates.at(link);
    else if (std::optional<Transport> named = transportOf(transport))
      choice = {*named, "as the option says"};
    else if (std::optional<Transport> given = op.getTransport())
      choice = isBySwitch(*given) && !inNetwork
                   ? Choice{Transport::Push, "since in-network is off"}
                   : Choice{*given, "as the schedule says"};
    op.setTransport(choice.transport);
    SCCL_LOG(chooseTransportLog,
             op->getName() << " over " << link.first << " -> " << link.second
                           << ": " << stringifyTransport(choice.transport)
                           << ", " << choice.reason);
    sends[choice][link] += op.numChunks();
  }

  /// One remark for each choice, with the first links that it was made for.
  void report(ScheduleOp schedule, const SendCounts &sends) {
    constexpr unsigned shown = 8;
    for (const auto &[choice, links] : sends) {
      unsigned count = 0, index = 0;
      std::string names;
      for (const auto &[link, sendsOfLink] : links) {
        count += sendsOfLink;
        if (index++ < shown)
          names += llvm::formatv("{0}{1} -> {2}", index == 1 ? "" : ", ",
                                 link.first, link.second);
      }
      if (links.size() > shown)
        names += llvm::formatv(" and {0} more", links.size() - shown);
      schedule.emitRemark()
          << (links.size() == 1 ? "link " : "links ") << names << " (" << count
          << (count == 1 ? " send): " : " sends): ")
          << stringifyTransport(choice.transport) << ", " << choice.reason;
    }
  }

  std::map<Link, Transport> linkChoices;
};
} // namespace
