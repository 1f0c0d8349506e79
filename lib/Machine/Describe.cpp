//===- Describe.cpp - Machines as people read them ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Machine/Machine.h"
#include "sccl/Machine/Units.h"

#include <algorithm>
#include <map>

using namespace sccl;

namespace {
/// Text that grows column by column.
class Columns {
public:
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }

  std::string str(const std::string &indent) const {
    std::vector<size_t> widths;
    for (const auto &row : rows)
      for (size_t i = 0; i < row.size(); ++i) {
        widths.resize(std::max(widths.size(), i + 1));
        widths[i] = std::max(widths[i], row[i].size());
      }
    std::string text;
    for (const auto &row : rows) {
      std::string line = indent;
      for (size_t i = 0; i < row.size(); ++i)
        line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
    return text;
  }

private:
  std::vector<std::vector<std::string>> rows;
};

class Describer {
public:
  explicit Describer(const Machine &machine) : machine(machine) {}
  std::string run();

private:
  std::string headline() const;
  /// What is in a box, without names and bus ids.
  std::string boxContents(unsigned box) const;
  std::string parts(unsigned box) const;
  std::string matrix(unsigned box) const;
  std::string edges() const;
  std::vector<unsigned> verticesOf(unsigned box, VertexKind kind) const {
    std::vector<unsigned> result;
    for (unsigned v : byBox[box])
      if (machine.vertices()[v].kind == kind)
        result.push_back(v);
    return result;
  }

  const Machine &machine;
  std::vector<std::vector<unsigned>> byBox;
};
} // namespace

static std::string counted(size_t count, std::string_view what) {
  std::string text = std::to_string(count) + " " + std::string(what);
  if (count == 1)
    return text;
  if (what == "memory")
    return text.substr(0, text.size() - 1) + "ies";
  return text + (what == "switch" ? "es" : "s");
}

static std::string featuresOf(const Vertex &vertex) {
  std::string text = vertex.chip;
  for (auto [has, what] : {std::pair(vertex.multicast, "multicasts"),
                           std::pair(vertex.reduces, "reduces")})
    if (has)
      text += (text.empty() ? "" : ", ") + std::string(what);
  return text;
}

std::string Describer::headline() const {
  std::string text =
      "machine " + machine.name() + ": " +
      counted(machine.gpus().size(), "GPU") + " in " +
      (machine.numBoxes() == 1 ? "1 box"
                               : std::to_string(machine.numBoxes()) + " boxes");
  for (VertexKind kind : {VertexKind::Nic, VertexKind::Switch,
                          VertexKind::Bridge, VertexKind::Memory})
    if (unsigned count = machine.count(kind))
      text += ", " + counted(count, vertexKindName(kind));
  return text + '\n';
}

std::string Describer::boxContents(unsigned box) const {
  std::string text;
  for (VertexKind kind : {VertexKind::Gpu, VertexKind::Nic, VertexKind::Switch,
                          VertexKind::Bridge, VertexKind::Memory}) {
    std::map<std::string, unsigned> kinds;
    for (unsigned v : verticesOf(box, kind))
      ++kinds[featuresOf(machine.vertices()[v])];
    // NICs have names of their own for chips.
    if (kind == VertexKind::Nic && !kinds.empty())
      kinds = {{"", unsigned(verticesOf(box, kind).size())}};
    for (const auto &[features, count] : kinds)
      text += (text.empty() ? "" : ", ") +
              counted(count, vertexKindName(kind)) +
              (features.empty() ? "" : " (" + features + ")");
  }
  return text;
}

std::string Describer::parts(unsigned box) const {
  Columns columns;
  for (VertexKind kind : {VertexKind::Gpu, VertexKind::Nic})
    for (unsigned v : verticesOf(box, kind)) {
      const Vertex &vertex = machine.vertices()[v];
      if (vertex.busId.empty() &&
          (kind == VertexKind::Gpu || vertex.chip.empty()))
        continue;
      columns.add({vertex.name, vertex.busId.empty() ? "-" : vertex.busId,
                   vertex.chip});
    }
  return columns.str("    ");
}

std::string Describer::matrix(unsigned box) const {
  constexpr size_t most = 16;
  std::vector<unsigned> gpus = verticesOf(box, VertexKind::Gpu);
  Columns columns;
  std::vector<std::string> header = {""};
  bool hasLinks = false;
  for (unsigned src : gpus)
    header.push_back(machine.vertices()[src].name);
  columns.add(header);
  for (unsigned src : gpus) {
    std::vector<std::string> row = {machine.vertices()[src].name};
    for (unsigned dst : gpus) {
      auto edge = machine.findEdge(src, dst);
      hasLinks |= edge.has_value();
      row.push_back(src == dst ? "-"
                    : !edge
                        ? "."
                        : decimalText(machine.edges()[*edge].bandwidth.value));
    }
    columns.add(row);
  }
  if (!hasLinks || gpus.size() > most)
    return "";
  return "    GB/s from GPU (row) to GPU:\n" + columns.str("      ");
}

std::string Describer::edges() const {
  // Numbered by first appearance, so that the order is the machine's.
  std::map<std::vector<std::string>, size_t> known;
  std::vector<std::pair<std::vector<std::string>, unsigned>> groups;
  auto end = [&](unsigned v) {
    return std::string(vertexKindName(machine.vertices()[v].kind));
  };
  auto alike = [](const Edge &a, const Edge &b) {
    return a.kind == b.kind && a.lanes == b.lanes &&
           a.bandwidth.value == b.bandwidth.value &&
           a.bandwidth.source == b.bandwidth.source;
  };
  for (const Edge &edge : machine.edges()) {
    auto back = machine.findEdge(edge.dst, edge.src);
    bool isPair = back && alike(edge, machine.edges()[*back]);
    // The edge that comes first speaks for both.
    if (isPair && edge.src > edge.dst)
      continue;
    bool sameBox =
        machine.vertices()[edge.src].box == machine.vertices()[edge.dst].box;
    std::string ends = end(edge.src) + (isPair ? " <-> " : " -> ") +
                       end(edge.dst) + (sameBox ? "" : " out of the box");
    std::string rate = decimalText(edge.bandwidth.value) + " GB/s";
    std::string delay = edge.latency ? decimalText(edge.latency->value) +
                                           " us (" + edge.latency->source + ")"
                                     : "";
    std::vector<std::string> key = {
        ends, edge.kind + " x" + std::to_string(edge.lanes), rate,
        "(" + edge.bandwidth.source + ")", delay};
    auto [it, isNew] = known.try_emplace(key, groups.size());
    if (isNew)
      groups.emplace_back(key, 0);
    ++groups[it->second].second;
  }
  Columns columns;
  for (auto &[key, count] : groups) {
    std::vector<std::string> row = {std::to_string(count) + " x"};
    row.insert(row.end(), key.begin(), key.end());
    columns.add(row);
  }
  return columns.str("    ");
}

std::string Describer::run() {
  byBox.resize(machine.numBoxes());
  unsigned between = 0;
  for (unsigned v = 0; v < machine.vertices().size(); ++v)
    if (machine.vertices()[v].box)
      byBox[*machine.vertices()[v].box].push_back(v);
    else
      ++between;
  std::map<std::string, std::vector<unsigned>> alike;
  std::vector<std::string> order;
  for (unsigned box = 0; box < byBox.size(); ++box) {
    std::string contents = boxContents(box) + matrix(box);
    if (alike[contents].empty())
      order.push_back(contents);
    alike[contents].push_back(box);
  }
  std::string text = headline();
  for (const std::string &contents : order) {
    unsigned first = alike[contents].front();
    size_t count = alike[contents].size();
    text += count == 1 ? "  box " + std::to_string(first) + ": "
                       : "  " + std::to_string(count) + " boxes, each: ";
    text += boxContents(first) + '\n' + parts(first) + matrix(first);
  }
  if (between)
    text += "  between boxes: " + counted(between, "switch") + '\n';
  text += "  edges, each direction:\n" + edges();
  for (const std::string &note : machine.notes())
    text += "  note: " + note + '\n';
  return text;
}

std::string sccl::describe(const Machine &machine) {
  return Describer(machine).run();
}
