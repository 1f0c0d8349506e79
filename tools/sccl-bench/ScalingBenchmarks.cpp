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

#include "sccl/Check/TreeChecker.h"
#include "sccl/Model/Topology.h"
#include "sccl/Search/Frontier.h"
#include "sccl/Solver/Trees.h"

using namespace sccl;
using namespace sccl::bench;

namespace {
/// How boxes are joined.
enum class Network {
  Rails, ///< the network card of GPU i reaches GPU i of every other box
  Full,  ///< a network card reaches every GPU of every other box
};
} // namespace

/// `boxes` boxes of `gpus` ranks. In a box a switch joins all ranks, and takes
/// from and gives to each rank `boxBandwidth` chunks per round; each rank's
/// network card sends and receives 1 chunk per round. A switch is no rank, so
/// it appears as links between all its ports and limits on the links of each
/// port.
static Topology makeSwitchedBoxes(unsigned boxes, unsigned gpus,
                                  unsigned boxBandwidth, Network network) {
  unsigned ranks = boxes * gpus;
  Topology topology(
      "boxes:" + std::to_string(boxes) + "x" + std::to_string(gpus), ranks);
  std::vector<std::vector<unsigned>> ports(4 * ranks);
  auto join = [&](unsigned src, unsigned dst, unsigned kind) {
    unsigned link = unwrap(topology.addLink(src, dst));
    ports[4 * src + kind].push_back(link);
    ports[4 * dst + kind + 1].push_back(link);
  };
  for (unsigned src = 0; src < ranks; ++src)
    for (unsigned dst = 0; dst < ranks; ++dst)
      if (src / gpus == dst / gpus && src != dst)
        join(src, dst, 0);
      else if (src / gpus != dst / gpus &&
               (network == Network::Full || src % gpus == dst % gpus))
        join(src, dst, 2);
  for (unsigned port = 0; port < ports.size(); ++port)
    if (!ports[port].empty())
      unwrap(topology.addLimit(std::move(ports[port]),
                               port % 4 < 2 ? boxBandwidth : 1));
  return topology;
}

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

/// trees/...: the all_gather of `boxes` boxes of 8 ranks on rails that meets
/// the certified bound, for each S from 2 to 6, as far as `maxProvedSteps`.
static void addTrees(unsigned boxes, unsigned maxProvedSteps) {
  std::string name = "trees/all_gather/" + std::to_string(boxes) + "x8";
  addPrepared(name, [=]() -> Body {
    auto topology = std::make_shared<const Topology>(
        makeSwitchedBoxes(boxes, 8, 9, Network::Rails));
    auto collective = std::make_shared<const Collective>(
        smallest({name, Kind::AllGather, /*root=*/0}, *topology));
    return [=]() -> std::string {
      TreeSynthesis trees(*topology, Kind::AllGather);
      LowerBounds bounds(*topology, *collective);
      for (unsigned steps = 2; steps <= 6; ++steps) {
        std::optional<TreeSchedule> found = trees.exact(steps, {});
        if (!found)
          return "there are no trees";
        if (auto failure = checkTreeSchedule(*topology, *found))
          return *failure;
        if (steps > maxProvedSteps)
          continue;
        LowerBoundOptions options;
        options.target = found->bandwidth();
        std::string failure =
            checkBound(bounds.at(steps, options), found->bandwidth(), *topology,
                       *collective);
        if (!failure.empty())
          return failure;
      }
      return "";
    };
  });
}

/// trees/all_reduce/...: pairs of trees for S = 4 to 7.
static void addReductionTrees(unsigned boxes) {
  addPrepared("trees/all_reduce/" + std::to_string(boxes) + "x8",
              [=]() -> Body {
                auto topology = std::make_shared<const Topology>(
                    makeSwitchedBoxes(boxes, 8, 9, Network::Rails));
                return [=]() -> std::string {
                  TreeSynthesis trees(*topology, Kind::AllReduce);
                  for (unsigned steps = 4; steps <= 7; ++steps) {
                    auto found = trees.exact(steps, {});
                    if (!found)
                      return "there are no trees";
                    if (auto failure = checkTreeSchedule(*topology, *found))
                      return *failure;
                  }
                  return "";
                };
              });
}

/// groups/...: the complete frontier of an all_gather in groups, on 8 boxes of
/// 8 ranks on rails.
static void addGroups(const std::string &name, const std::string &groups) {
  addPrepared("groups/all_gather/" + name, [=]() -> Body {
    auto topology = std::make_shared<const Topology>(
        makeSwitchedBoxes(8, 8, 9, Network::Rails));
    CollectiveFamily family{Kind::AllGather, 0,
                            *parseRankGroups(groups, topology->numRanks())};
    return [=]() -> std::string {
      Result<Frontier> frontier = searchFrontier(*topology, family, {});
      if (!frontier)
        return frontier.error();
      return frontier->complete ? "" : frontier->why;
    };
  });
}

void bench::registerScaling() {
  addGroups("rails", "strides:8");
  addGroups("boxes", "blocks:8");
  // The certificate for paths in 128 boxes would be too long to check.
  for (unsigned boxes : {2u, 4u, 8u, 16u})
    addTrees(boxes, /*maxProvedSteps=*/6);
  addTrees(128, /*maxProvedSteps=*/2);
  for (unsigned boxes : {2u, 4u, 8u})
    addReductionTrees(boxes);
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
