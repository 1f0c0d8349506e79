//===- ScalingBenchmarks.cpp - Tens to a thousand ranks -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Topologies and instances are built in the benchmark that uses them, before
// the clock starts.
//
//===----------------------------------------------------------------------===//

#include "Benchmarks.h"
#include "SwitchedBoxes.h"

using namespace sccl;
using namespace sccl::bench;

using Kind = CollectiveKind;

namespace {
/// Schedules that meet the bandwidth bound.
struct Target {
  const char *topology;
  Kind kind;
  unsigned chunks, steps, rounds;
};
} // namespace

static const Target targets[] = {
    {"torus:8x8", Kind::AllGather, 4, 8, 63},
    {"hypercube:6", Kind::AllGather, 6, 6, 63},
    {"torus:16x16", Kind::AllGather, 4, 16, 255},
    {"hypercube:8", Kind::AllGather, 8, 8, 255},
    {"torus:32x32", Kind::AllGather, 4, 32, 1023},
    {"hypercube:10", Kind::AllGather, 10, 10, 1023},
    {"ring:64", Kind::AllGather, 2, 32, 63},
    {"torus:4x4", Kind::AllToAll, 16, 4, 8},
    {"torus:8x8", Kind::AllToAll, 64, 8, 64},
    {"hypercube:6", Kind::AllToAll, 64, 6, 32},
};

/// Complains unless `bound` is `cost` and its certificate holds.
static std::string checkBound(const Result<LowerBound> &bound, Rational cost,
                              const Topology &topology,
                              const Collective &collective) {
  if (!bound)
    return bound.error();
  if (bound->value != cost)
    return "the bound is " + (bound->value ? bound->value->str() : "none") +
           ", expected " + cost.str();
  return checkCertificate(bound->certificate, topology, collective)
      .value_or("");
}

/// scale/...: the schedule, emitted and checked; scale_bound/...: the proof
/// that it is optimal, found and checked.
static void addTarget(const Target &target) {
  auto build = [target] {
    return std::make_shared<const Instance>(
        makeInstance(target.topology, target.kind, target.chunks, target.steps,
                     target.rounds));
  };
  std::string name =
      std::string(collectiveName(target.kind)) + "/" + target.topology;
  addPrepared("scale/" + name, [build]() -> Body {
    return [instance = build()] {
      return synthesizeAndCheck(*instance, "auto", 600);
    };
  });
  addPrepared("scale_bound/" + name, [build, target]() -> Body {
    return [instance = build(), target] {
      const Topology &topology = instance->topology;
      const Collective &collective = instance->collective;
      return checkBound(throughputBound(topology, collective),
                        {target.rounds, target.chunks}, topology, collective);
    };
  });
}

/// boxes/...: the bandwidth bound of 128 boxes with 8 GPUs each.
static void addBoxes(Kind kind, Network network, Rational expected) {
  std::string name = "boxes/" + std::string(collectiveName(kind)) +
                     (network == Network::Rails ? "/rails" : "/full");
  addPrepared(name, [=]() -> Body {
    auto topology =
        std::make_shared<const Topology>(makeSwitchedBoxes(128, 8, 6, network));
    auto collective = std::make_shared<const Collective>(
        smallest({name, kind, /*root=*/0}, *topology));
    return [=] {
      return checkBound(throughputBound(*topology, *collective), expected,
                        *topology, *collective);
    };
  });
}

void bench::registerScaling() {
  for (const Target &target : targets)
    addTarget(target);
  // One rank receives at most 6 chunks per round from its box and 1 from the
  // network; nothing else is narrower.
  for (Network network : {Network::Rails, Network::Full}) {
    addBoxes(Kind::AllGather, network, {1023, 7});
    addBoxes(Kind::Broadcast, network, {1, 7});
  }
  addBoxes(Kind::ReduceScatter, Network::Rails, {1023, 7 * 1024});
}
