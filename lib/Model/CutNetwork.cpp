//===- CutNetwork.cpp - Maximum flows -------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CutNetwork.h"

#include <algorithm>
#include <limits>

using namespace sccl;

bool CutNetwork::findLevels(unsigned source, unsigned sink) {
  level.assign(arcsOf.size(), unreached);
  level[sink] = 0;
  std::vector<unsigned> queue = {sink};
  for (size_t head = 0; head < queue.size(); ++head)
    for (unsigned arc : arcsOf[queue[head]]) {
      unsigned before = arcs[arc].to;
      if (arcs[arc ^ 1].left == 0 || level[before] != unreached)
        continue;
      level[before] = level[queue[head]] + 1;
      if (before == source)
        return true;
      queue.push_back(before);
    }
  return false;
}

/// Pushes flow along one path of descending levels; 0 if there is none left.
int64_t CutNetwork::augment(unsigned source, unsigned sink) {
  std::vector<unsigned> path;
  unsigned node = sink;
  while (node != source) {
    if (nextArc[node] == arcsOf[node].size()) {
      if (path.empty())
        return 0;
      // A dead end: go back, and not here again.
      node = arcs[path.back()].to;
      ++nextArc[node];
      path.pop_back();
      continue;
    }
    unsigned arc = arcsOf[node][nextArc[node]];
    unsigned before = arcs[arc].to;
    // Of the nodes as far from the sink as the source, none leads on.
    bool leadsOn = before == source || level[before] < level[source];
    if (arcs[arc ^ 1].left > 0 && level[before] == level[node] + 1 && leadsOn) {
      path.push_back(arc ^ 1);
      node = before;
    } else {
      ++nextArc[node];
    }
  }
  int64_t amount = std::numeric_limits<int64_t>::max();
  for (unsigned arc : path)
    amount = std::min(amount, arcs[arc].left);
  for (unsigned arc : path) {
    arcs[arc].left -= amount;
    arcs[arc ^ 1].left += amount;
    used.push_back(arc & ~1u);
  }
  return amount;
}

int64_t CutNetwork::maximize(unsigned source, unsigned sink, int64_t enough) {
  for (unsigned arc : used)
    forgetFlow(arc);
  used.clear();
  int64_t total = 0;
  while (total < enough && findLevels(source, sink)) {
    nextArc.assign(arcsOf.size(), 0);
    while (total < enough) {
      int64_t amount = augment(source, sink);
      if (amount == 0)
        break;
      total += amount;
    }
  }
  return total;
}
