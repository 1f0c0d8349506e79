//===- InfraGraph.cpp - Machines of InfraGraph ----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instances with accelerators are boxes. Of those without, the parts become one
// vertex, a NIC or a switch: a switch with 16 ports is not 17 vertices.
//
//===----------------------------------------------------------------------===//

#include "InfraGraph.h"

#include "sccl/Machine/Units.h"

#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

namespace {
class GraphReader {
public:
  GraphReader(const Graph &graph, const ImportOptions &options,
              Reading &reading)
      : graph(graph), options(options), reading(reading) {}
  std::optional<Error> run();

private:
  void findBoxes();
  std::optional<Error> addVertices();
  std::optional<Error> addVertex(VertexKind kind, const std::string &name,
                                 std::optional<unsigned> box, unsigned node);
  std::optional<Error> addEdges();
  Quantity rateOf(const GraphEdge &edge, std::string &kind) const;
  void addCounts();
  Error fail(const std::string &message) const {
    return Error{reading.path + ": " + message};
  }

  const Graph &graph;
  const ImportOptions &options;
  Reading &reading;
  Machine machine{"infragraph"};
  std::map<std::string, unsigned> boxOf;        ///< by instance with GPUs
  std::map<std::string, unsigned> vertexOfInst; ///< by instance without
  std::vector<unsigned> vertexOf;               ///< by node
};
} // namespace

bool import::isAccelerator(StringRef kind) {
  return kind == "xpu" || kind == "npu" || kind == "gpu" || kind == "tpu";
}

void GraphReader::findBoxes() {
  std::set<std::string> withGpus;
  for (const GraphNode &node : graph.nodes)
    if (isAccelerator(node.kind))
      withGpus.insert(node.instance);
  for (const std::string &instance : graph.instances)
    if (withGpus.count(instance))
      boxOf.try_emplace(instance, boxOf.size());
}

std::optional<Error> GraphReader::addVertex(VertexKind kind,
                                            const std::string &name,
                                            std::optional<unsigned> box,
                                            unsigned node) {
  Result<unsigned> added = machine.addVertex({kind, name, box});
  if (!added)
    return fail(added.error());
  vertexOf[node] = *added;
  return std::nullopt;
}

std::optional<Error> GraphReader::addVertices() {
  vertexOf.resize(graph.nodes.size());
  std::map<std::string, unsigned> partsOf;
  for (const GraphNode &node : graph.nodes)
    ++partsOf[node.instance];
  for (unsigned i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode &node = graph.nodes[i];
    if (auto box = boxOf.find(node.instance); box != boxOf.end()) {
      VertexKind kind = isAccelerator(node.kind) ? VertexKind::Gpu
                        : node.kind == "nic"     ? VertexKind::Nic
                        : node.kind == "cpu"     ? VertexKind::Bridge
                                                 : VertexKind::Switch;
      if (std::optional<Error> error =
              addVertex(kind, node.name, box->second, i))
        return error;
      continue;
    }
    auto known = vertexOfInst.find(node.instance);
    if (known != vertexOfInst.end()) {
      vertexOf[i] = known->second;
      continue;
    }
    if (std::optional<Error> error =
            addVertex(VertexKind::Switch, node.instance, std::nullopt, i))
      return error;
    vertexOfInst[node.instance] = vertexOf[i];
  }
  return std::nullopt;
}

/// What the file has, or a name such as "nvlink_4" or "PCIE_GEN5 x16" tells.
Quantity GraphReader::rateOf(const GraphEdge &edge, std::string &kind) const {
  std::string words = StringRef(edge.link + " " + edge.about).lower();
  StringRef text = words;
  bool isNvlink = text.contains("nvlink") || text.contains("xpu_fabric");
  bool isPcie = text.contains("pci");
  kind = isNvlink ? "NVLink" : isPcie ? "PCIe" : edge.link;
  std::optional<unsigned> generation;
  for (char digit : {'2', '3', '4', '5'})
    if (!generation && ((isNvlink && text.contains(digit)) ||
                        (isPcie && text.contains(std::string("gen") + digit))))
      generation = unsigned(digit - '0');
  if (generation)
    kind += std::to_string(*generation);
  if (edge.rate.gigabytes)
    return {*edge.rate.gigabytes, "the file"};
  // A byte a transfer of 8 lanes; codings are left out, as elsewhere.
  if (auto rate = edge.rate.transfers
                      ? product(*edge.rate.transfers, Rational(2))
                      : std::nullopt)
    return {*rate, "assumed: 16 lanes with the transfers of the file"};
  if (generation && isNvlink)
    return {options.linkRate.value_or(*generation == 5 ? 50 : 25),
            "assumed: one link of its generation, from its name"};
  if (generation)
    return {Rational(1 << (*generation + 1)),
            "16 lanes of its generation, from its name"};
  if (options.linkRate && isNvlink)
    return {*options.linkRate, "--link-rate"};
  if (!isNvlink && !isPcie && options.nicGbps)
    return {quotient(*options.nicGbps, 8).value_or(1), "--nic-gbps"};
  return isPcie ? Quantity{32, "assumed: the file has no rate; as PCIe 4 x16"}
                : Quantity{25, "assumed: the file has no rate"};
}

std::optional<Error> GraphReader::addEdges() {
  std::map<std::pair<unsigned, unsigned>, Edge> bundles;
  for (const GraphEdge &edge : graph.edges) {
    unsigned a = vertexOf[edge.a], b = vertexOf[edge.b];
    if (a == b)
      continue;
    std::string kind;
    Quantity rate = rateOf(edge, kind);
    auto [it, isNew] = bundles.try_emplace(
        std::minmax(a, b), Edge{a, b, rate, std::nullopt, kind, 1});
    if (isNew)
      continue;
    Edge &bundle = it->second;
    bundle.bandwidth.value = sum(bundle.bandwidth.value, rate.value)
                                 .value_or(bundle.bandwidth.value);
    ++bundle.lanes;
  }
  for (const auto &[ends, edge] : bundles)
    if (Result<unsigned> added = machine.addEdgePair(edge); !added)
      return fail(added.error());
  return std::nullopt;
}

void GraphReader::addCounts() {
  reading.numGpus = machine.gpus().size();
  reading.numNics = machine.count(VertexKind::Nic);
  std::set<unsigned> fabric;
  for (const Edge &edge : machine.edges()) {
    bool fromGpu = machine.vertices()[edge.src].kind == VertexKind::Gpu;
    if (fromGpu && !isHostKind(edge.kind) &&
        machine.vertices()[edge.dst].kind == VertexKind::Switch)
      fabric.insert(edge.dst);
  }
  reading.hasSwitch = !fabric.empty();
  if (boxOf.size() > 1)
    reading.extras["servers"] = boxOf.size();
  if (!fabric.empty())
    reading.extras["switches"] = fabric.size();
}

std::optional<Error> GraphReader::run() {
  findBoxes();
  llvm::json::Object counts;
  for (const auto &[name, count] : graph.counts)
    counts[name] = count;
  if (!graph.counts.empty())
    reading.extras["instances"] = std::move(counts);
  if (boxOf.empty()) {
    reading.noMachine = "there is no accelerator (xpu) in it; give the files "
                        "of all devices, joined by commas";
    return std::nullopt;
  }
  if (std::optional<Error> error = addVertices())
    return error;
  if (std::optional<Error> error = addEdges())
    return error;
  addCounts();
  reading.cluster = std::move(machine);
  return std::nullopt;
}

Result<Reading>
import::readInfraGraph(const std::vector<const ImportFile *> &files,
                       const ImportOptions &options) {
  std::vector<YamlNode> trees;
  for (const ImportFile *file : files) {
    Result<YamlNode> tree = parseYaml(*file);
    if (!tree)
      return Error{tree.error()};
    if (!tree->isMap())
      return tree->error("expected a map with devices and instances");
    trees.push_back(std::move(*tree));
  }
  Result<Graph> graph = expandGraph(trees);
  if (!graph)
    return Error{graph.error()};
  Reading reading = {files.front()->path, ImportFormat::InfraGraph,
                     "infragraph", ""};
  // Many edges may join what is not there; the first few tell.
  constexpr size_t mostWarnings = 8;
  for (size_t i = 0; i < graph->warnings.size() && i < mostWarnings; ++i)
    reading.warnings.push_back(graph->warnings[i]);
  if (graph->warnings.size() > mostWarnings)
    reading.warnings.push_back(
        std::to_string(graph->warnings.size() - mostWarnings) + " more such");
  if (std::optional<Error> error = GraphReader(*graph, options, reading).run())
    return *error;
  return reading;
}
