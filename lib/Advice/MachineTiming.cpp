//===- MachineTiming.cpp - How fast a machine is --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Advice/MachineTiming.h"

#include "sccl/Machine/BoundTopology.h"
#include "sccl/Machine/Units.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <set>

using namespace sccl;

LatencyByKind sccl::assumedLatencies() {
  // What flags take over such links in published measurements; a machine that
  // matters should be measured.
  return {{"NVLink", 0.4}, {"xGMI", 0.5}, {"PCIe", 0.5}, {"host", 0.5},
          {"IB", 1.0},     {"RoCE", 1.5}, {"", 1.0}};
}

namespace {
/// What thread blocks do, what flags cost, and which percentage of an edge's
/// bandwidth is left to data, where GPUs are joined by a kind of edge: GB/s and
/// microseconds. docs/Clock.md has where it is from.
struct BlockTiming {
  std::string_view kind;
  double load, send, words, access, signal, wait, launch;
  int payload;
};
} // namespace

static constexpr BlockTiming blockTimings[] = {
    {"NVLink", 48, 25, 24, 0.3, 1.0, 0.6, 4.6, 82},
    {"xGMI", 28, 25, 14, 0.3, 1.0, 0.6, 4.6, 75},
};

/// "NVLink" for "NVLink4".
static std::string_view withoutVersion(std::string_view kind) {
  size_t length = kind.find_last_not_of("0123456789.");
  return kind.substr(0, length == std::string_view::npos ? 0 : length + 1);
}

namespace {
class LatencyFinder {
public:
  explicit LatencyFinder(const LatencyByKind &given)
      : given(given), assumed(assumedLatencies()) {}

  double of(const Edge &edge) {
    if (edge.latency)
      return edge.latency->value.toDouble();
    std::string_view kind = withoutVersion(edge.kind);
    for (std::string_view name : {kind, std::string_view()})
      if (auto it = given.find(name); it != given.end()) {
        used.insert(it->first);
        return it->second;
      }
    missing.insert(std::string(kind));
    return ofMissing(kind);
  }

  std::vector<std::string> assumptions() const {
    std::vector<std::string> lines;
    for (const std::string &kind : missing)
      lines.push_back(
          llvm::formatv("latency of {0} us for each {1} edge (assumed)",
                        ofMissing(kind), kind.empty() ? "other" : kind));
    return lines;
  }

  std::vector<std::string> unused() const {
    std::vector<std::string> kinds;
    for (const auto &[kind, latency] : given)
      if (!used.count(kind))
        kinds.push_back(kind);
    return kinds;
  }

private:
  double ofMissing(std::string_view kind) const {
    auto it = assumed.find(kind);
    return it == assumed.end() ? assumed.find("")->second : it->second;
  }

  const LatencyByKind &given;
  LatencyByKind assumed;
  std::set<std::string> missing, used; ///< kinds of edges
};
} // namespace

/// Of GB/s.
static std::vector<double>
bytesPerMicrosecond(const std::vector<Rational> &rates) {
  std::vector<double> result;
  for (const Rational &rate : rates)
    result.push_back(rate.toDouble() * 1e3);
  return result;
}

/// Microseconds of a byte at `quantum` GB/s.
static double unitTimeOf(const Rational &quantum) {
  return 1 / (quantum.toDouble() * 1e3);
}

static bool isOf(const BlockTiming &blocks, const Edge &edge) {
  return withoutVersion(edge.kind) == blocks.kind;
}

/// What is known of the blocks of GPUs that edges of `machine` join, if
/// something is.
static const BlockTiming *blocksOf(const Machine &machine) {
  for (const BlockTiming &blocks : blockTimings)
    if (std::ranges::any_of(machine.edges(), [&](const Edge &edge) {
          return isOf(blocks, edge);
        }))
      return &blocks;
  return nullptr;
}

/// Leaves to edges, and to limits that no other edges take part in, what is
/// left to data.
static Derivation withPayload(const Derivation &derivation,
                              const BlockTiming &blocks) {
  auto dataOf = [&](const Rational &rate) {
    // What 64 bits do not hold stays as it is.
    return product(rate, Rational(blocks.payload, 100)).value_or(rate);
  };
  Derivation result = derivation;
  const Machine &line = derivation.routed;
  result.routed = Machine(line.name());
  for (const Vertex &vertex : line.vertices())
    (void)result.routed.addVertex(vertex);
  for (Edge edge : line.edges()) {
    if (isOf(blocks, edge))
      edge.bandwidth.value = dataOf(edge.bandwidth.value);
    (void)result.routed.addEdge(std::move(edge));
  }
  bool areAll = true;
  for (unsigned limit = 0; limit < result.rates.size(); ++limit) {
    bool isOwn = std::ranges::all_of(
        derivation.topology.limits()[limit].links, [&](unsigned link) {
          return std::ranges::all_of(
              derivation.routes[link],
              [&](unsigned edge) { return isOf(blocks, line.edges()[edge]); });
        });
    areAll &= isOwn;
    if (isOwn)
      result.rates[limit] = dataOf(result.rates[limit]);
  }
  if (areAll)
    result.quantum = dataOf(result.quantum);
  return result;
}

namespace {
struct MachineTiming {
  Timing timing;
  std::vector<std::string> assumptions, unused; ///< see MachineFabric
};
} // namespace

/// Sets what is known of the machine's blocks, and says so.
static void addBlocks(const BlockTiming &blocks, MachineTiming &result) {
  Timing &timing = result.timing;
  timing.loadRate = blocks.load * 1e3;
  timing.sendRate = blocks.send * 1e3;
  timing.wordRate = blocks.words * 1e3;
  timing.accessTime = blocks.access;
  timing.signalTime = blocks.signal;
  timing.waitTime = blocks.wait;
  timing.launchTime = blocks.launch;
  result.assumptions.push_back(
      llvm::formatv("{0} % of the bandwidth of {1} is left to data (assumed)",
                    blocks.payload, blocks.kind));
  result.assumptions.push_back(llvm::formatv(
      "a thread block loads {0} GB/s, sends {1}, of LL words {2}; a load "
      "takes {3} us, a signal {4}, a wait {5}, a launch {6} (assumed)",
      blocks.load, blocks.send, blocks.words, blocks.access, blocks.signal,
      blocks.wait, blocks.launch));
}

void sccl::setCopies(std::optional<double> copies, Timing &timing,
                     std::vector<std::string> &assumptions) {
  timing.copyRate = copies.value_or(assumedCopyRate) * 1e3;
  if (!copies)
    assumptions.push_back(llvm::formatv(
        "copies within a rank at {0} GB/s (assumed)", assumedCopyRate));
  else if (*copies == 0)
    assumptions.push_back("only links and their latencies take time");
}

/// Of the links and limits of what was left to data.
static MachineTiming timingOf(const BlockTiming *blocks,
                              const Derivation &derivation,
                              const LatencyByKind &latencies,
                              std::optional<double> copies) {
  LatencyFinder finder(latencies);
  MachineTiming result;
  for (const std::vector<unsigned> &route : derivation.routes) {
    double latency = 0;
    for (unsigned edge : route)
      latency += finder.of(derivation.routed.edges()[edge]);
    result.timing.latencies.push_back(latency);
  }
  result.timing.rates = bytesPerMicrosecond(derivation.rates);
  result.assumptions = finder.assumptions();
  if (blocks)
    addBlocks(*blocks, result);
  setCopies(copies, result.timing, result.assumptions);
  result.unused = finder.unused();
  return result;
}

/// The least latencies from the GPU `start` to each vertex over open edges,
/// through no other GPU (Dijkstra).
static std::vector<double> latenciesFrom(const Machine &machine,
                                         const std::vector<bool> &isOpen,
                                         unsigned start,
                                         LatencyFinder &finder) {
  using Entry = std::pair<double, unsigned>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<double> best(machine.vertices().size(),
                           std::numeric_limits<double>::infinity());
  best[start] = 0;
  queue.push({0, start});
  while (!queue.empty()) {
    auto [latency, vertex] = queue.top();
    queue.pop();
    bool isPassed =
        vertex == start || machine.vertices()[vertex].kind != VertexKind::Gpu;
    if (latency > best[vertex] || !isPassed)
      continue;
    for (unsigned number : machine.outEdges(vertex)) {
      const Edge &edge = machine.edges()[number];
      if (!isOpen[number])
        continue;
      double there = latency + finder.of(edge);
      if (there < best[edge.dst]) {
        best[edge.dst] = there;
        queue.push({there, edge.dst});
      }
    }
  }
  return best;
}

static Timing boundTimingOf(const BoundTopology &bound, const Machine &machine,
                            const LatencyByKind &latencies) {
  LatencyFinder finder(latencies);
  Timing timing;
  timing.rates = bytesPerMicrosecond(bound.rates);
  timing.latencies.resize(bound.topology.links().size());
  for (unsigned rank = 0; rank < bound.topology.numRanks(); ++rank) {
    std::vector<double> least =
        latenciesFrom(machine, bound.isOpen, machine.gpus()[rank], finder);
    for (unsigned link : bound.topology.outLinks(rank))
      timing.latencies[link] =
          least[machine.gpus()[bound.topology.links()[link].dst]];
  }
  return timing;
}

std::string sccl::boundClassOf(const Topology &topology) {
  const std::vector<Switch> &switches = topology.switches();
  if (switches.empty())
    return "programs without multicast or reduction in switches";
  bool haveOwnCopies = std::ranges::all_of(switches, &Switch::ownCopies);
  return std::string("programs with multicast and reduction in switches") +
         (haveOwnCopies ? ", by groups of all their ranks" : "");
}

static std::string classOf(const BoundTopology &bound, const Machine &machine) {
  std::string text = boundClassOf(bound.topology);
  if (bound.topology.switches().empty() &&
      std::ranges::any_of(machine.vertices(), [](const Vertex &vertex) {
        return vertex.multicast || vertex.reduces;
      }))
    text += ", which switches of this machine can do";
  if (bound.leavesOutHost)
    text += ", and without PCIe beside the links between GPUs";
  return text;
}

Result<MachineFabric> sccl::fabricOf(const Derivation &derivation,
                                     const LatencyByKind &latencies,
                                     std::optional<double> copies) {
  const BlockTiming *blocks =
      copies == 0 ? nullptr : blocksOf(derivation.routed);
  const Derivation ofData =
      blocks ? withPayload(derivation, *blocks) : derivation;
  Result<BoundTopology> bound = boundTopology(ofData);
  if (!bound)
    return Error{bound.error()};
  MachineTiming own = timingOf(blocks, ofData, latencies, copies);
  Timing ofBounds = boundTimingOf(*bound, ofData.routed, latencies);
  ofBounds.accessTime = own.timing.accessTime;
  ofBounds.signalTime = own.timing.signalTime;
  ofBounds.waitTime = own.timing.waitTime;
  ofBounds.launchTime = own.timing.launchTime;
  std::string programs = classOf(*bound, ofData.routed);
  auto bounding = std::make_shared<Fabric>(Fabric{std::move(bound->topology),
                                                  std::move(ofBounds),
                                                  unitTimeOf(bound->quantum)});
  return MachineFabric{{ofData.topology, std::move(own.timing),
                        unitTimeOf(ofData.quantum), std::move(bounding)},
                       std::move(own.assumptions),
                       std::move(own.unused),
                       std::move(programs)};
}
