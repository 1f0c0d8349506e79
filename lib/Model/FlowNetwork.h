//===- FlowNetwork.h - Maximum flow -----------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where chunks need not be told apart, a schedule is an integral flow, which is
// found in polynomial time and refuted by a cut.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MODEL_FLOWNETWORK_H
#define SCCL_LIB_MODEL_FLOWNETWORK_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace sccl {

/// A directed graph with capacities and an integral flow, by Dinic's algorithm.
class FlowNetwork {
public:
  using Amount = int64_t;

  explicit FlowNetwork(unsigned numNodes) : firstArc(numNodes, none) {}

  unsigned addNode() {
    firstArc.push_back(none);
    return static_cast<unsigned>(firstArc.size() - 1);
  }
  /// Returns the number of the new arc.
  unsigned addArc(unsigned from, unsigned to, Amount capacity);
  unsigned numArcs() const { return static_cast<unsigned>(arcs.size() / 2); }
  void reserveArcs(size_t count) { arcs.reserve(2 * count); }

  /// Sets what `arc` may carry and forgets what it carries.
  void setCapacity(unsigned arc, Amount capacity) {
    capacities[arc] = capacity;
    forgetFlow(arc);
  }

  /// Told of units of work, about a microsecond each, that were done. Returns
  /// true to end the search.
  using Meter = std::function<bool(uint64_t units)>;
  /// Computes a maximum flow from nothing, or one of at least `enough`, and
  /// returns its amount; a smaller one if `meter` ends the search.
  Amount maximize(unsigned source, unsigned sink, Amount enough,
                  const Meter &meter = {});
  static constexpr Amount most = std::numeric_limits<Amount>::max();

  // Of the flow computed last; of cuts, only if it is below `enough`:
  Amount flow(unsigned arc) const { return arcs[2 * arc + 1].residual; }
  /// True if some flow could still be pushed from the source to `node`. These
  /// nodes are one side of a minimum cut.
  bool isOnSourceSide(unsigned node) const { return level[node] != none; }
  /// True if `arc` leaves the source side.
  bool isCut(unsigned arc) const {
    return isOnSourceSide(arcs[2 * arc + 1].to) &&
           !isOnSourceSide(arcs[2 * arc].to);
  }

private:
  /// Number 2i is arc i, number 2i+1 its reverse.
  struct HalfArc {
    unsigned to;
    unsigned next; // of the same origin
    Amount residual;
  };
  static constexpr unsigned none = ~0u;
  /// Arcs looked at in a unit of work. Measured: 100 to 300 per microsecond.
  static constexpr size_t arcsPerUnit = 128;

  void forgetFlow(unsigned arc) {
    arcs[2 * arc].residual = capacities[arc];
    arcs[2 * arc + 1].residual = 0;
  }
  bool findLevels(unsigned source, unsigned sink);
  Amount pushAlongLevels(unsigned source, unsigned sink, Amount enough,
                         const Meter &meter);
  Amount pushPath(std::vector<unsigned> &path);

  std::vector<unsigned> firstArc, level, current, queue;
  std::vector<unsigned> used; ///< arcs that had a flow
  std::vector<HalfArc> arcs;
  std::vector<Amount> capacities;
};

} // namespace sccl

#endif // SCCL_LIB_MODEL_FLOWNETWORK_H
