//===- MachineTiming.cpp - How fast a machine is --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Advice/MachineTiming.h"

#include "llvm/Support/FormatVariadic.h"

#include <set>

using namespace sccl;

LatencyByKind sccl::assumedLatencies() {
  // What flags take over such links in published measurements; a machine that
  // matters should be measured.
  return {{"NVLink", 0.4}, {"xGMI", 0.5}, {"PCIe", 0.5}, {"host", 0.5},
          {"IB", 1.0},     {"RoCE", 1.5}, {"", 1.0}};
}

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

MachineTiming sccl::timingOf(const Derivation &derivation,
                             const LatencyByKind &latencies) {
  LatencyFinder finder(latencies);
  MachineTiming result;
  for (const std::vector<unsigned> &route : derivation.routes) {
    double latency = 0;
    for (unsigned edge : route)
      latency += finder.of(derivation.routed.edges()[edge]);
    result.timing.latencies.push_back(latency);
  }
  double unitRate = derivation.quantum.toDouble() * 1e3; // GB/s
  for (const BandwidthLimit &limit : derivation.topology.limits())
    result.timing.rates.push_back(limit.bandwidth * unitRate);
  result.assumptions = finder.assumptions();
  result.unused = finder.unused();
  return result;
}
