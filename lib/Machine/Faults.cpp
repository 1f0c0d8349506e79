//===- Faults.cpp - Machines that have lost something ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Machine/Faults.h"

#include "sccl/Machine/Units.h"
#include "sccl/Model/Text.h"

#include <set>

using namespace sccl;

namespace {
/// What an item names.
struct Parts {
  std::set<unsigned> vertices, edges;
};
} // namespace

/// A vertex by name, or a GPU by rank.
static std::optional<unsigned> findEnd(const Machine &machine,
                                       std::string_view text) {
  if (std::optional<unsigned> rank = wholeNumber(text))
    return *rank < machine.gpus().size() ? std::optional(machine.gpus()[*rank])
                                         : std::nullopt;
  return machine.findVertex(text);
}

static std::optional<Error> addLink(const Machine &machine,
                                    std::string_view text, Parts &parts) {
  // Names may have a dash in them.
  std::optional<unsigned> a, b;
  for (size_t dash = text.find('-'); dash != text.npos && !(a && b);
       dash = text.find('-', dash + 1)) {
    a = findEnd(machine, text.substr(0, dash));
    b = findEnd(machine, text.substr(dash + 1));
  }
  if (!a || !b)
    return Error{
        "machine " + quoted(machine.name()) +
        " does not have both ends of link " + quoted(text) +
        ", which are ranks or names as in link:3-5 and link:gpu3-nic3"};
  bool isFound = false;
  for (auto [src, dst] : {std::pair(*a, *b), std::pair(*b, *a)})
    if (std::optional<unsigned> edge = machine.findEdge(src, dst)) {
      parts.edges.insert(*edge);
      isFound = true;
    }
  if (isFound)
    return std::nullopt;
  std::string near;
  for (unsigned edge : machine.outEdges(*a))
    if (near.size() < 80)
      near += (near.empty() ? "" : ", ") +
              machine.vertices()[machine.edges()[edge].dst].name;
  return Error{"no edge joins " + quoted(machine.vertices()[*a].name) +
               " and " + quoted(machine.vertices()[*b].name) + "; the first " +
               "is joined to: " + near};
}

static std::optional<Error> addNic(const Machine &machine,
                                   std::string_view text, Parts &parts) {
  size_t colon = text.find(':');
  auto box = colon == text.npos ? std::optional(0u)
                                : wholeNumber(text.substr(0, colon));
  auto index = wholeNumber(colon == text.npos ? text : text.substr(colon + 1));
  unsigned seen = 0;
  for (unsigned v = 0; box && index && v < machine.vertices().size(); ++v) {
    const Vertex &vertex = machine.vertices()[v];
    if (vertex.kind != VertexKind::Nic || vertex.box != box)
      continue;
    if (seen++ != *index)
      continue;
    parts.vertices.insert(v);
    return std::nullopt;
  }
  return Error{
      "machine " + quoted(machine.name()) + " has no NIC " + quoted(text) +
      "; say nic:BOX:NUMBER, where a NIC has a number in its box, "
      "from 0" +
      (box && index
           ? "; box " + std::to_string(*box) + " has " + std::to_string(seen)
           : "")};
}

static std::optional<Error> addItem(const Machine &machine,
                                    std::string_view item, Parts &parts) {
  size_t colon = item.find(':');
  std::string_view kind = item.substr(0, colon);
  std::string_view rest = colon == item.npos ? "" : item.substr(colon + 1);
  if (kind == "link")
    return addLink(machine, rest, parts);
  if (kind == "nic")
    return addNic(machine, rest, parts);
  if (kind == "gpu") {
    std::optional<unsigned> rank = wholeNumber(rest);
    if (!rank || *rank >= machine.gpus().size())
      return Error{"machine " + quoted(machine.name()) + " has no GPU " +
                   quoted(rest) + ", its ranks are 0 to " +
                   std::to_string(machine.gpus().size() - 1)};
    parts.vertices.insert(machine.gpus()[*rank]);
    return std::nullopt;
  }
  if (kind == "vertex") {
    std::optional<unsigned> vertex = machine.findVertex(rest);
    if (!vertex)
      return Error{"machine " + quoted(machine.name()) + " has no vertex " +
                   quoted(rest)};
    parts.vertices.insert(*vertex);
    return std::nullopt;
  }
  return Error{"expected link:A-B, gpu:RANK, nic:BOX:NUMBER or vertex:NAME, "
               "got " +
               quoted(item)};
}

static std::vector<std::string_view> splitItems(std::string_view items) {
  std::vector<std::string_view> result;
  for (size_t comma; (comma = items.find(',')) != items.npos;
       items.remove_prefix(comma + 1))
    result.push_back(items.substr(0, comma));
  result.push_back(items);
  return result;
}

/// Edges that touch one of the vertices, or are among the parts.
static bool isTouched(const Parts &parts, const Edge &edge, unsigned number) {
  return parts.edges.count(number) || parts.vertices.count(edge.src) ||
         parts.vertices.count(edge.dst);
}

Result<Machine> sccl::withoutParts(const Machine &machine,
                                   std::string_view items) {
  Parts parts;
  for (std::string_view item : splitItems(items))
    if (std::optional<Error> error = addItem(machine, item, parts))
      return *error;
  Machine left(machine.name());
  std::vector<unsigned> newNumber(machine.vertices().size());
  for (unsigned v = 0; v < newNumber.size(); ++v)
    if (!parts.vertices.count(v))
      newNumber[v] = *left.addVertex(machine.vertices()[v]);
  for (unsigned number = 0; number < machine.edges().size(); ++number) {
    Edge edge = machine.edges()[number];
    if (isTouched(parts, edge, number))
      continue;
    edge.src = newNumber[edge.src];
    edge.dst = newNumber[edge.dst];
    (void)*left.addEdge(std::move(edge));
  }
  for (const std::string &note : machine.notes())
    left.addNote(note);
  left.addNote("without " + std::string(items));
  if (left.gpus().size() < machine.gpus().size())
    left.addNote("ranks after a lost GPU are those of the GPUs that are left");
  return left;
}

Result<Machine> sccl::withSlowerParts(const Machine &machine,
                                      std::string_view items) {
  std::vector<Rational> partLeft(machine.edges().size(), 1);
  for (std::string_view item : splitItems(items)) {
    size_t sign = item.rfind('=');
    Result<Rational> part = sign == item.npos
                                ? Result<Rational>(Error{})
                                : parseDecimal(item.substr(sign + 1));
    if (!part || *part <= Rational(0) || *part >= Rational(1))
      return Error{"expected what is left of a bandwidth, more than 0 and less "
                   "than 1, as in link:3-5=0.5, got " +
                   quoted(item)};
    Parts parts;
    if (std::optional<Error> error =
            addItem(machine, item.substr(0, sign), parts))
      return *error;
    for (unsigned number = 0; number < machine.edges().size(); ++number)
      if (isTouched(parts, machine.edges()[number], number))
        partLeft[number] = std::min(partLeft[number], *part);
  }
  Machine slower(machine.name());
  for (const Vertex &vertex : machine.vertices())
    (void)*slower.addVertex(vertex);
  for (unsigned number = 0; number < machine.edges().size(); ++number) {
    Edge edge = machine.edges()[number];
    if (partLeft[number] != Rational(1)) {
      auto bandwidth = product(edge.bandwidth.value, partLeft[number]);
      if (!bandwidth)
        return Error{"a part of " + partLeft[number].str() +
                     " is too fine to be counted exactly"};
      edge.bandwidth = {*bandwidth, edge.bandwidth.source + ", degraded"};
    }
    if (Result<unsigned> added = slower.addEdge(std::move(edge)); !added)
      return Error{added.error()};
  }
  for (const std::string &note : machine.notes())
    slower.addNote(note);
  slower.addNote("degraded: " + std::string(items));
  return slower;
}
