//===- TimeExpansion.h - Chunks as a flow through time ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gather and scatter are flows in the network of (rank, step) pairs: chunks
// only differ at one end. For other collectives the flow of all that one rank
// must get is a relaxation, whose cuts refute without any search.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_FLOW_TIMEEXPANSION_H
#define SCCL_LIB_SOLVER_FLOW_TIMEEXPANSION_H

#include "Model/FlowNetwork.h"
#include "Solver/RoundSearch.h"
#include "sccl/Model/Instance.h"

namespace sccl {

/// Chunks that are at any of `ranks` before the first, or needed at the only
/// one of `ranks` after the last step.
struct FlowTerminal {
  std::vector<unsigned> ranks;
  int64_t amount;
};

/// The chunks of one flow. Exact if there is only one supply or one demand.
struct FlowProblem {
  std::vector<FlowTerminal> supplies, demands;
};

/// The flow of a gather or scatter.
FlowProblem flowOf(const Collective &collective);

/// The flow of everything that `rank` lacks at the start and must get. Chunks
/// from different sources may be mistaken for one another only.
FlowProblem flowInto(const Collective &collective, unsigned rank);

/// The network of a flow problem on a topology in S steps.
class TimeExpansion {
public:
  TimeExpansion(const Topology &topology, unsigned steps,
                const FlowProblem &problem);

  /// True if all limits are represented: those on one link or on a whole port
  /// of a rank. Others are left out, so that feasible means nothing.
  static bool isExactFor(const Topology &topology);

  /// Decides the problem for the rounds per step.
  bool isFeasible(const std::vector<unsigned> &rounds,
                  const Deadline &deadline);
  /// The inequality that the rounds found infeasible break.
  RoundCut cut() const;
  /// Chunks sent over `link` in `step`, counted from 1, once found feasible.
  int64_t flow(unsigned link, unsigned step) const {
    return network.flow(linkArcs[step - 1][link]);
  }

private:
  /// An arc whose capacity is bandwidth times the rounds of its step.
  struct LimitedArc {
    unsigned arc, step;
    int64_t bandwidth;
  };

  unsigned nodeOf(unsigned rank, unsigned step) const {
    return step * topology.numRanks() + rank;
  }
  void addTerminals(const FlowProblem &problem);
  void addStep(unsigned step);
  void findBandwidths();
  unsigned addPort(unsigned node, unsigned step, int64_t bandwidth,
                   bool isOutput);

  const Topology &topology;
  const unsigned steps;
  FlowNetwork network;
  unsigned source, sink;
  int64_t total = 0;
  std::vector<std::vector<unsigned>> linkArcs; // per step - 1
  std::vector<LimitedArc> limited;
  std::vector<unsigned> terminalArcs;
  std::vector<int64_t> terminalAmounts;
  static constexpr int64_t unlimited = -1;
  std::vector<int64_t> linkBandwidth, outputBandwidth, inputBandwidth;
};

/// The distributions of the rounds that no flow into a rank refutes. There may
/// be a schedule for each of them, and for no other.
class RoundCandidates {
public:
  /// For `instance`, but in `steps` steps.
  RoundCandidates(const Instance &instance, unsigned steps);

  /// The next one; or nothing if there is none, or `deadline` expired.
  std::optional<std::vector<unsigned>> next(const Deadline &deadline);
  size_t numCuts() const { return search.numCuts(); }

private:
  RoundSearch search;
  std::vector<TimeExpansion> flows;
};

} // namespace sccl

#endif // SCCL_LIB_SOLVER_FLOW_TIMEEXPANSION_H
