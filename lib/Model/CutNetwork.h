//===- CutNetwork.h - Maximum flows -----------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MODEL_CUTNETWORK_H
#define SCCL_LIB_MODEL_CUTNETWORK_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sccl {

/// A maximum flow by shortest augmenting paths, level by level (Dinic), which
/// are looked for from the sink.
class CutNetwork {
public:
  explicit CutNetwork(unsigned nodes) : arcsOf(nodes) {}

  unsigned addNode() {
    arcsOf.emplace_back();
    return arcsOf.size() - 1;
  }
  unsigned addArc(unsigned from, unsigned to) {
    arcsOf[from].push_back(arcs.size());
    arcs.push_back({to, 0});
    arcsOf[to].push_back(arcs.size());
    arcs.push_back({from, 0});
    capacities.push_back(0);
    return arcs.size() - 2;
  }
  /// Sets what `arc` may carry and forgets what it carries.
  void setCapacity(unsigned arc, int64_t capacity) {
    capacities[arc / 2] = capacity;
    forgetFlow(arc);
  }
  /// Computes a maximum flow from nothing, or one of at least `enough`, and
  /// returns its amount.
  int64_t maximize(unsigned source, unsigned sink, int64_t enough);
  /// After a maximum flow below `enough`: false for nodes on the sink's side of
  /// a smallest cut.
  bool isOnSourceSide(unsigned node) const { return level[node] == unreached; }

private:
  static constexpr unsigned unreached = ~0u;
  struct Arc {
    unsigned to;
    int64_t left;
  };
  void forgetFlow(unsigned arc) {
    arcs[arc].left = capacities[arc / 2];
    arcs[arc + 1].left = 0;
  }
  bool findLevels(unsigned source, unsigned sink);
  int64_t augment(unsigned source, unsigned sink);

  std::vector<Arc> arcs;
  std::vector<int64_t> capacities;
  std::vector<std::vector<unsigned>> arcsOf;
  std::vector<unsigned> level; ///< hops to the sink
  std::vector<size_t> nextArc;
  std::vector<unsigned> used; ///< arcs with a flow
};

} // namespace sccl

#endif // SCCL_LIB_MODEL_CUTNETWORK_H
