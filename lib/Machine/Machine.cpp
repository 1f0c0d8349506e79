//===- Machine.cpp - What people own --------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Machine/Machine.h"

#include "sccl/Machine/Units.h"
#include "sccl/Model/Topology.h"

#include <algorithm>

using namespace sccl;

std::string_view sccl::vertexKindName(VertexKind kind) {
  switch (kind) {
  case VertexKind::Gpu:
    return "GPU";
  case VertexKind::Switch:
    return "switch";
  case VertexKind::Nic:
    return "NIC";
  case VertexKind::Bridge:
    return "bridge";
  case VertexKind::Memory:
    return "memory";
  }
  return "";
}

bool sccl::isHostKind(std::string_view kind) {
  return kind.starts_with("PCIe") || kind == "host";
}

unsigned Machine::count(VertexKind kind) const {
  return std::count_if(allVertices.begin(), allVertices.end(),
                       [&](const Vertex &v) { return v.kind == kind; });
}

std::optional<unsigned> Machine::findVertex(std::string_view name) const {
  auto it = byName.find(name);
  return it == byName.end() ? std::nullopt : std::optional(it->second);
}

static uint64_t endsKey(unsigned src, unsigned dst) {
  return uint64_t(src) << 32 | dst;
}

std::optional<unsigned> Machine::findEdge(unsigned src, unsigned dst) const {
  auto it = byEnds.find(endsKey(src, dst));
  return it == byEnds.end() ? std::nullopt : std::optional(it->second);
}

/// What is wrong with a vertex on its own.
static std::optional<Error> checkVertex(const Vertex &vertex) {
  std::string who =
      std::string(vertexKindName(vertex.kind)) + " '" + vertex.name + "'";
  if (vertex.name.empty())
    return Error{"a " + std::string(vertexKindName(vertex.kind)) +
                 " has no name"};
  if (vertex.box && *vertex.box >= Machine::maxBoxes)
    return Error{who + " is in box " + std::to_string(*vertex.box) +
                 ", the limit is " + std::to_string(Machine::maxBoxes - 1)};
  if (vertex.kind == VertexKind::Switch)
    return std::nullopt;
  if (!vertex.box)
    return Error{who + " is in no box, which only a switch may be"};
  if (vertex.multicast || vertex.reduces)
    return Error{who + " is said to multicast or reduce, which only a switch "
                       "does"};
  return std::nullopt;
}

Result<unsigned> Machine::addVertex(Vertex vertex) {
  if (std::optional<Error> error = checkVertex(vertex))
    return *error;
  if (allVertices.size() >= maxVertices)
    return Error{"'" + vertex.name + "' is one more than " +
                 std::to_string(maxVertices) + ", the most vertices allowed"};
  if (vertex.kind == VertexKind::Gpu &&
      gpuVertices.size() >= Topology::maxRanks)
    return Error{"'" + vertex.name + "' is one more than " +
                 std::to_string(Topology::maxRanks) +
                 ", the most GPUs allowed"};
  if (findVertex(vertex.name))
    return Error{"the name '" + vertex.name + "' is there twice"};
  auto number = static_cast<unsigned>(allVertices.size());
  if (!vertex.busId.empty()) {
    unsigned box = vertex.box ? *vertex.box : maxBoxes;
    auto [it, isNew] = byBusId.try_emplace({box, vertex.busId}, number);
    if (!isNew)
      return Error{"bus id " + vertex.busId + " belongs to '" +
                   allVertices[it->second].name + "' and to '" + vertex.name +
                   "'"};
  }
  byName.emplace(vertex.name, number);
  if (vertex.box)
    boxes = std::max(boxes, *vertex.box + 1);
  if (vertex.kind == VertexKind::Gpu)
    gpuVertices.push_back(number);
  allVertices.push_back(std::move(vertex));
  out.emplace_back();
  return number;
}

Result<unsigned> Machine::addEdge(Edge edge) {
  for (unsigned end : {edge.src, edge.dst})
    if (end >= allVertices.size())
      return Error{"vertex number " + std::to_string(end) +
                   " of an edge is out of range for " +
                   std::to_string(allVertices.size()) + " vertices"};
  auto fail = [&](const std::string &what) {
    return Error{"the edge from '" + allVertices[edge.src].name + "' to '" +
                 allVertices[edge.dst].name + "' " + what};
  };
  if (edge.src == edge.dst)
    return fail("joins a vertex to itself");
  if (allEdges.size() >= maxEdges)
    return fail("is one more than " + std::to_string(maxEdges) +
                ", the most edges allowed");
  const Rational &bandwidth = edge.bandwidth.value;
  if (bandwidth <= Rational(0) || bandwidth > Rational(maxQuantity))
    return fail("has " + decimalText(bandwidth) +
                " GB/s, expected more than 0 and at most " +
                std::to_string(maxQuantity));
  if (edge.latency && (edge.latency->value < Rational(0) ||
                       edge.latency->value > Rational(maxQuantity)))
    return fail("has a latency of " + decimalText(edge.latency->value) +
                " us, expected at least 0 and at most " +
                std::to_string(maxQuantity));
  if (edge.lanes == 0)
    return fail("has no lanes");
  auto number = static_cast<unsigned>(allEdges.size());
  if (!byEnds.try_emplace(endsKey(edge.src, edge.dst), number).second)
    return fail("is there already; say cables in parallel as lanes");
  out[edge.src].push_back(number);
  allEdges.push_back(std::move(edge));
  return number;
}

std::vector<unsigned> Machine::gpusAndMemories() const {
  std::vector<unsigned> found = gpuVertices;
  for (unsigned vertex = 0; vertex < allVertices.size(); ++vertex)
    if (allVertices[vertex].kind == VertexKind::Memory)
      found.push_back(vertex);
  return found;
}

Result<unsigned> Machine::addEdgePair(const Edge &edge) {
  Result<unsigned> there = addEdge(edge);
  if (!there)
    return there;
  Edge back = edge;
  std::swap(back.src, back.dst);
  Result<unsigned> added = addEdge(std::move(back));
  return added ? there : added;
}

std::vector<std::vector<unsigned>> sccl::ranksByBox(const Machine &machine,
                                                    bool withMemories) {
  std::vector<std::vector<unsigned>> boxes(machine.numBoxes());
  std::vector<unsigned> ends =
      withMemories ? machine.gpusAndMemories() : machine.gpus();
  // Neither a GPU nor a memory is outside of a box.
  for (unsigned rank = 0; rank < ends.size(); ++rank)
    boxes[*machine.vertices()[ends[rank]].box].push_back(rank);
  std::erase_if(boxes, [](const auto &box) { return box.empty(); });
  return boxes;
}
