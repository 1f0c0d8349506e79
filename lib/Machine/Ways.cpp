//===- Ways.cpp - What all ways from a GPU have in common -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dominators by iteration over vertices in reverse postorder (Cooper, Harvey,
// Kennedy: A Simple, Fast Dominance Algorithm). Edges have nodes of their own,
// each below its source.
//
//===----------------------------------------------------------------------===//

#include "Ways.h"

#include <algorithm>

using namespace sccl;

Ways::Ways(const Machine &machine, const std::vector<bool> &isOpen)
    : machine(machine), isOpen(isOpen), into(machine.vertices().size()),
      places(machine.vertices().size(), none),
      entry(machine.vertices().size(), none) {
  for (unsigned edge = 0; edge < machine.edges().size(); ++edge)
    if (isOpen[edge])
      into[machine.edges()[edge].dst].push_back(edge);
}

/// Fills `reached` by a search in depth, and `places`.
void Ways::order() {
  struct Visit {
    unsigned vertex;
    size_t next;
  };
  std::vector<Visit> path = {{start, 0}};
  places[start] = 0; // visited
  while (!path.empty()) {
    auto &[vertex, next] = path.back();
    const std::vector<unsigned> &edges = machine.outEdges(vertex);
    if (next == edges.size()) {
      reached.push_back(vertex);
      path.pop_back();
      continue;
    }
    unsigned edge = edges[next++];
    unsigned dst = machine.edges()[edge].dst;
    if (!isOpen[edge] || isGpu(dst) || places[dst] != none)
      continue;
    places[dst] = 0;
    path.push_back({dst, 0});
  }
  std::reverse(reached.begin(), reached.end());
  for (unsigned i = 0; i < reached.size(); ++i)
    places[reached[i]] = 2 * i;
}

unsigned Ways::meet(unsigned a, unsigned b) const {
  while (a != b) {
    if (place(a) < place(b))
      std::swap(a, b);
    a = above(a);
  }
  return a;
}

/// The node above a vertex, from what is known of those before it.
unsigned Ways::entryOf(unsigned vertex) const {
  unsigned common = none;
  for (unsigned edge : into[vertex]) {
    unsigned src = machine.edges()[edge].src;
    if (places[src] == none || (src != start && entry[src] == none))
      continue;
    common = common == none ? nodeOf(edge) : meet(common, nodeOf(edge));
  }
  return common;
}

void Ways::findFrom(unsigned vertex) {
  for (unsigned old : reached)
    places[old] = entry[old] = none;
  reached.clear();
  meetings.clear();
  start = vertex;
  order();
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (unsigned next : reached) {
      unsigned found = next == start ? none : entryOf(next);
      isChanged |= found != entry[next];
      entry[next] = found;
    }
  }
  for (unsigned src : reached)
    for (unsigned edge : machine.outEdges(src)) {
      unsigned dst = machine.edges()[edge].dst;
      if (!isOpen[edge] || !isGpu(dst) || dst == start)
        continue;
      auto [it, isNew] = meetings.try_emplace(dst, nodeOf(edge));
      if (!isNew)
        it->second = meet(it->second, nodeOf(edge));
    }
}

std::vector<unsigned> Ways::edgesAbove(unsigned node) const {
  std::vector<unsigned> edges;
  for (; node != start; node = above(node))
    if (isEdge(node))
      edges.push_back(node - entry.size());
  return edges;
}

bool Ways::isOnlyWay(unsigned node) const {
  // Edges and vertices take turns, unless several edges lead to a vertex.
  for (; node != start; node = above(edgeOf(node).src))
    if (!isEdge(node) || edgeOf(node).src == start)
      return isEdge(node);
  return false;
}
