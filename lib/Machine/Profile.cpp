//===- Profile.cpp - Measured numbers in a machine ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Machine/Profile.h"

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

namespace {
/// Edges that are alike, by number, in the order of the machine's edges.
class EdgeClasses {
public:
  explicit EdgeClasses(const Machine &machine) {
    using Key = std::tuple<std::string, Rational, bool, Rational>;
    std::map<Key, unsigned> numbers;
    for (const Edge &edge : machine.edges()) {
      Key key{edge.kind, edge.bandwidth.value, edge.latency.has_value(),
              edge.latency ? edge.latency->value : Rational(0)};
      classOf.push_back(
          numbers.try_emplace(std::move(key), unsigned(numbers.size()))
              .first->second);
    }
    count = unsigned(numbers.size());
  }
  /// The classes along a route, ascending.
  std::vector<unsigned> along(const std::vector<unsigned> &route) const {
    std::vector<unsigned> classes;
    for (unsigned edge : route)
      classes.push_back(classOf[edge]);
    std::ranges::sort(classes);
    return classes;
  }

  std::vector<unsigned> classOf; ///< by edge
  unsigned count;
};
} // namespace

static std::string nameOf(const Machine &machine,
                          const std::vector<unsigned> &route) {
  std::string name;
  for (size_t i = 0; i < route.size(); ++i) {
    const std::string &kind = machine.edges()[route[i]].kind;
    if (i > 0 && machine.edges()[route[i - 1]].kind == kind)
      continue;
    name += (name.empty() ? "" : " + ") + kind;
  }
  return name;
}

std::vector<LinkClass> sccl::classifyLinks(const Derivation &derivation) {
  EdgeClasses edges(derivation.routed);
  // Limits on other links may make a link narrower than its route.
  using Key = std::pair<std::vector<unsigned>, unsigned>;
  std::map<Key, unsigned> numbers;
  std::vector<LinkClass> classes;
  for (unsigned link = 0; link < derivation.routes.size(); ++link) {
    const std::vector<unsigned> &route = derivation.routes[link];
    auto [at, isNew] = numbers.try_emplace(
        Key{edges.along(route), derivation.topology.capacity(link)},
        unsigned(classes.size()));
    if (isNew)
      classes.push_back({nameOf(derivation.routed, route), link, 0});
    ++classes[at->second].count;
  }
  return classes;
}

//===----------------------------------------------------------------------===//
// Measurements
//===----------------------------------------------------------------------===//

namespace {
/// What is known of the classes of edges after some measurements.
class EdgeNumbers {
public:
  explicit EdgeNumbers(const Derivation &derivation)
      : derivation(derivation), edges(derivation.routed), factors(edges.count),
        latencies(edges.count) {}

  void addBandwidth(const LinkMeasurement &measured);
  /// Those with fewer classes that are not known yet come first.
  void addLatencies(std::vector<LinkMeasurement> measurements);
  /// Fails if a number is too large.
  Result<Machine> write(const std::string &source) const;

private:
  const std::vector<unsigned> &routeOf(const LinkMeasurement &measured) const {
    return derivation.routes[measured.link];
  }
  double nominalLatency(unsigned edge) const {
    const auto &latency = derivation.routed.edges()[edge].latency;
    return latency ? latency->value.toDouble() : 0;
  }
  size_t countUnknown(const LinkMeasurement &measured) const;
  void addLatency(const LinkMeasurement &measured);

  const Derivation &derivation;
  const EdgeClasses edges;
  std::vector<std::optional<double>> factors, latencies; ///< by class
};
} // namespace

void EdgeNumbers::addBandwidth(const LinkMeasurement &measured) {
  const std::vector<Edge> &all = derivation.routed.edges();
  double nominal = derivation.topology.capacity(measured.link) *
                   derivation.quantum.toDouble();
  double factor = measured.bandwidth / nominal;
  const std::vector<unsigned> &route = routeOf(measured);
  auto width = [&](unsigned edge) { return all[edge].bandwidth.value; };
  Rational narrowest = width(*std::ranges::min_element(route, {}, width));
  for (unsigned edge : route)
    if (width(edge) == narrowest) {
      std::optional<double> &known = factors[edges.classOf[edge]];
      known = std::max(known.value_or(factor), factor);
    }
}

size_t EdgeNumbers::countUnknown(const LinkMeasurement &measured) const {
  std::vector<unsigned> classes = edges.along(routeOf(measured));
  classes.erase(std::ranges::unique(classes).begin(), classes.end());
  return std::ranges::count_if(classes,
                               [&](unsigned c) { return !latencies[c]; });
}

void EdgeNumbers::addLatency(const LinkMeasurement &measured) {
  double left = measured.latency, nominal = 0;
  size_t unknown = 0;
  for (unsigned edge : routeOf(measured))
    if (const auto &known = latencies[edges.classOf[edge]]) {
      left -= *known;
    } else {
      nominal += nominalLatency(edge);
      ++unknown;
    }
  left = std::max(left, 0.0);
  std::vector<std::pair<unsigned, double>> found;
  for (unsigned edge : routeOf(measured))
    if (unsigned c = edges.classOf[edge]; !latencies[c])
      found.emplace_back(c, nominal > 0 ? left * nominalLatency(edge) / nominal
                                        : left / double(unknown));
  for (auto [c, latency] : found)
    latencies[c] = latency;
}

void EdgeNumbers::addLatencies(std::vector<LinkMeasurement> measurements) {
  auto unknown = [&](const LinkMeasurement &measured) {
    return countUnknown(measured);
  };
  while (!measurements.empty()) {
    auto next = std::ranges::min_element(measurements, {}, unknown);
    addLatency(*next);
    measurements.erase(next);
  }
}

/// Rounded to 1/1000, or to four digits of less than 1.
static Rational rounded(double value) {
  int64_t parts = 1000;
  for (double least = 1; value < least && parts < 1000000; least /= 10)
    parts *= 10;
  return Rational(std::llround(value * double(parts)), parts);
}

Result<Machine> EdgeNumbers::write(const std::string &source) const {
  Machine result(derivation.routed.name());
  for (const Vertex &vertex : derivation.routed.vertices())
    (void)*result.addVertex(vertex);
  for (unsigned i = 0; i < derivation.routed.edges().size(); ++i) {
    Edge edge = derivation.routed.edges()[i];
    if (const auto &factor = factors[edges.classOf[i]]) {
      double bandwidth = edge.bandwidth.value.toDouble() * *factor;
      edge.bandwidth = {
          rounded(std::clamp(bandwidth, 1e-6, double(Machine::maxQuantity))),
          source};
    }
    if (const auto &latency = latencies[edges.classOf[i]])
      edge.latency = {rounded(*latency), source};
    if (Result<unsigned> added = result.addEdge(std::move(edge)); !added)
      return Error{added.error()};
  }
  for (const std::string &note : derivation.routed.notes())
    result.addNote(note);
  result.addNote("with numbers " + source);
  return result;
}

Result<Machine>
sccl::withMeasurements(const Derivation &derivation,
                       const std::vector<LinkMeasurement> &measurements,
                       const std::string &source) {
  EdgeNumbers numbers(derivation);
  constexpr double most = double(Machine::maxQuantity);
  for (const LinkMeasurement &measured : measurements) {
    std::string who = "link " + std::to_string(measured.link);
    if (measured.link >= derivation.routes.size())
      return Error{who + " was measured, which is none of " +
                   std::to_string(derivation.routes.size())};
    if (!(measured.bandwidth > 0 && measured.bandwidth <= most) ||
        !(measured.latency >= 0 && measured.latency <= most))
      return Error{who + " was measured with " +
                   std::to_string(measured.bandwidth) + " GB/s and " +
                   std::to_string(measured.latency) +
                   " us, which makes no sense"};
    numbers.addBandwidth(measured);
  }
  numbers.addLatencies(measurements);
  return numbers.write(source);
}

//===----------------------------------------------------------------------===//
// Hosts
//===----------------------------------------------------------------------===//

Result<Machine> sccl::makeHostMachine(unsigned ranks) {
  if (ranks < 2 || ranks > Topology::maxRanks)
    return Error{"a host of " + std::to_string(ranks) +
                 " ranks, expected between 2 and " +
                 std::to_string(Topology::maxRanks)};
  Machine machine("host");
  unsigned memory = *machine.addVertex({VertexKind::Switch, "memory", 0u});
  for (unsigned rank = 0; rank < ranks; ++rank) {
    unsigned vertex = *machine.addVertex(
        {VertexKind::Gpu, "rank" + std::to_string(rank), 0u});
    Result<unsigned> added = machine.addEdgePair({vertex,
                                                  memory,
                                                  {Rational(1), "not measured"},
                                                  std::nullopt,
                                                  "memory"});
    if (!added)
      return Error{added.error()};
  }
  return machine;
}
