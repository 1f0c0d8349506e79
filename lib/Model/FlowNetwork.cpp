//===- FlowNetwork.cpp - Maximum flow -------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlowNetwork.h"

#include <algorithm>

using namespace sccl;

unsigned FlowNetwork::addArc(unsigned from, unsigned to, Amount capacity) {
  unsigned half = static_cast<unsigned>(arcs.size());
  arcs.push_back({to, firstArc[from], capacity});
  firstArc[from] = half;
  arcs.push_back({from, firstArc[to], 0});
  firstArc[to] = half + 1;
  capacities.push_back(capacity);
  return half / 2;
}

FlowNetwork::Amount FlowNetwork::maximize(unsigned source, unsigned sink,
                                          Amount enough, const Meter &meter) {
  for (unsigned arc : used)
    forgetFlow(arc);
  used.clear();
  Amount total = 0;
  while (total < enough && findLevels(source, sink) &&
         !(meter && meter(1 + numArcs() / arcsPerUnit)))
    total += pushAlongLevels(source, sink, enough - total, meter);
  return total;
}

/// Numbers the nodes by their distance in the residual graph, up to the sink.
/// Returns whether it is reached.
bool FlowNetwork::findLevels(unsigned source, unsigned sink) {
  level.assign(firstArc.size(), none);
  queue.assign(1, source);
  level[source] = 0;
  for (size_t head = 0; head < queue.size(); ++head) {
    unsigned node = queue[head];
    for (unsigned half = firstArc[node]; half != none; half = arcs[half].next) {
      const HalfArc &arc = arcs[half];
      if (arc.residual == 0 || level[arc.to] != none)
        continue;
      level[arc.to] = level[node] + 1;
      if (arc.to == sink)
        return true;
      queue.push_back(arc.to);
    }
  }
  return false;
}

/// Pushes what the whole path can take and cuts the path off before its first
/// full arc.
FlowNetwork::Amount FlowNetwork::pushPath(std::vector<unsigned> &path) {
  Amount amount = arcs[path.front()].residual;
  for (unsigned half : path)
    amount = std::min(amount, arcs[half].residual);
  size_t firstFull = path.size();
  for (size_t i = path.size(); i-- > 0;) {
    arcs[path[i]].residual -= amount;
    arcs[path[i] ^ 1].residual += amount;
    used.push_back(path[i] / 2);
    if (arcs[path[i]].residual == 0)
      firstFull = i;
  }
  path.resize(firstFull);
  return amount;
}

/// A blocking flow. Not recursive, as paths can be as long as the network.
FlowNetwork::Amount FlowNetwork::pushAlongLevels(unsigned source, unsigned sink,
                                                 Amount enough,
                                                 const Meter &meter) {
  current = firstArc;
  size_t looked = 0;
  Amount total = 0;
  std::vector<unsigned> path;
  while (true) {
    unsigned node = path.empty() ? source : arcs[path.back()].to;
    if (node == sink) {
      looked += 2 * path.size();
      total += pushPath(path);
      if (total >= enough || (meter && meter(looked / arcsPerUnit)))
        return total;
      looked %= arcsPerUnit;
      continue;
    }
    unsigned &half = current[node];
    // Of the nodes as far from the source as the sink, none leads on.
    auto leadsOn = [&](const HalfArc &arc) {
      return arc.residual != 0 && level[arc.to] == level[node] + 1 &&
             (arc.to == sink || level[arc.to] < level[sink]);
    };
    while (half != none && !leadsOn(arcs[half])) {
      half = arcs[half].next;
      ++looked;
    }
    if (half != none) {
      path.push_back(half);
    } else if (path.empty()) {
      return total;
    } else {
      // A dead end: step back over the arc that led here.
      unsigned origin = arcs[path.back() ^ 1].to;
      current[origin] = arcs[path.back()].next;
      path.pop_back();
    }
  }
}
