//===- RoutesBackend.cpp - All-to-all over routes -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An all_to_all on hundreds of ranks: the route of a chunk from one source to
// each destination, with its images under a free group. Destinations that look
// alike from the source may use the same kinds of routes, each a sequence of
// link classes and steps. Kinds are generated like trees, and the cheapest
// route at given prices is a shortest path, so that the program is solved
// exactly; whole chunks are then near it.
//
//===----------------------------------------------------------------------===//

#include "Bounds/Constants.h"
#include "TreePacking.h"
#include "WholeChunks.h"

#include "Solver/Backends.h"

#include <algorithm>
#include <numeric>

using namespace sccl;
using namespace sccl::trees;

namespace {
/// A send over a link in a step, from 0 on.
struct Hop {
  unsigned link, step;
};
using Route = std::vector<Hop>;

/// The routes of one source, to destinations by what they look like.
struct Source {
  unsigned rank;
  Refinement cells;
  unsigned firstDemand; ///< one for each cell
};

class RoutePacking {
public:
  RoutePacking(const Instance &instance, const Deadline &deadline);
  std::optional<Schedule> run();

private:
  bool generate();
  bool price(const Source &source, const TreePrices &prices);
  std::vector<Route> cheapestRoutes(const Source &source,
                                    const std::vector<double> &prices) const;
  Route imageFor(const Source &source, const ChunkTree &kind,
                 unsigned destination) const;
  Schedule decode(const WholeSolution &whole) const;

  const Instance &instance;
  const Topology &topology;
  const Deadline &deadline;
  PackingProblem problem;
  std::optional<LimitOrbits> orbits;
  std::vector<Source> sources;
  std::optional<TreeProgram> program;
};
} // namespace

RoutePacking::RoutePacking(const Instance &instance, const Deadline &deadline)
    : instance(instance), topology(instance.topology),
      deadline(deadline), problem{topology, CollectiveKind::AllToAll, 0,
                                  instance.steps} {
  chooseGroup(problem);
  orbits.emplace(topology, problem.generators, problem.group.size());
  std::vector<uint64_t> limitKeys;
  for (unsigned i = 0; i < topology.limits().size(); ++i)
    limitKeys.push_back(orbits->orbitOf(i));
  std::vector<unsigned> firsts =
      rankOrbits(problem.generators, topology.numRanks());
  unsigned demands = 0;
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank) {
    if (firsts[rank] != rank)
      continue;
    std::vector<uint64_t> keys(topology.numRanks());
    keys[rank] = 1;
    sources.push_back({rank, refine(topology, keys, limitKeys), demands});
    demands += unsigned(sources.back().cells.ranks.count());
  }
  program.emplace(topology, *orbits, instance.steps, Rounds::PerStep, demands);
  for (const Source &source : sources)
    for (unsigned cell = 0; cell < source.cells.ranks.count(); ++cell) {
      bool isSource = source.cells.ranks.firsts[cell] == source.rank;
      program->setAmount(source.firstDemand + cell,
                         isSource ? 0 : source.cells.ranks.sizes[cell]);
    }
}

/// The cheapest route to the first rank of each cell, of those the one with the
/// fewest hops; empty where there is none in so few steps.
std::vector<Route>
RoutePacking::cheapestRoutes(const Source &source,
                             const std::vector<double> &prices) const {
  constexpr double outOfReach = 1e15, perHop = 1e-9;
  constexpr unsigned none = ~0u;
  unsigned ranks = topology.numRanks(), steps = instance.steps;
  std::vector<double> cost(ranks, outOfReach);
  cost[source.rank] = 0;
  // The link by which the cheapest way comes in each step, if it moves.
  std::vector<std::vector<unsigned>> last;
  for (unsigned step = 0; step < steps; ++step) {
    std::vector<double> next = cost;
    std::vector<unsigned> &by = last.emplace_back(ranks, none);
    for (unsigned link = 0; link < topology.links().size(); ++link) {
      auto [src, dst] = topology.links()[link];
      double through = cost[src] + prices[size_t(link) * steps + step] + perHop;
      if (through < next[dst]) {
        next[dst] = through;
        by[dst] = link;
      }
    }
    cost = std::move(next);
  }
  std::vector<Route> routes;
  for (unsigned rank : source.cells.ranks.firsts) {
    Route &route = routes.emplace_back();
    unsigned at = rank;
    for (unsigned step = steps; step-- > 0 && cost[rank] < outOfReach;)
      if (unsigned link = last[step][at]; link != none) {
        route.push_back({link, step});
        at = topology.links()[link].src;
      }
    std::ranges::reverse(route);
  }
  return routes;
}

/// Adds kinds of routes that cost less than they are worth.
bool RoutePacking::price(const Source &source, const TreePrices &prices) {
  constexpr double tolerance = 1e-7;
  unsigned steps = instance.steps;
  std::vector<double> ofLinks(topology.links().size() * steps);
  for (unsigned link = 0; link < topology.links().size(); ++link)
    orbits->visit(link, [&](unsigned orbit) {
      for (unsigned step = 0; step < steps; ++step)
        ofLinks[size_t(link) * steps + step] +=
            prices.values[program->rowOf(orbit, step)];
    });
  deadline.charge(1 + ofLinks.size() / 16);
  std::vector<Route> routes = cheapestRoutes(source, ofLinks);
  bool added = false;
  for (unsigned cell = 0; cell < routes.size(); ++cell) {
    double cost = 0;
    ChunkTree kind{source.rank, 1, {}};
    for (auto [link, step] : routes[cell]) {
      auto [src, dst] = topology.links()[link];
      cost += ofLinks[size_t(link) * steps + step];
      kind.sends.push_back({step, src, dst});
    }
    unsigned demand = source.firstDemand + cell;
    if (!routes[cell].empty() && cost < prices.worth[demand] - tolerance)
      added |= program->add(demand, 1, std::move(kind));
  }
  return added;
}

/// Returns whether there are routes to all destinations.
bool RoutePacking::generate() {
  TreePrices prices;
  prices.values.assign(program->numRows(), 1.0);
  prices.worth.assign(program->numDemands(), 1e12);
  bool isSolved = false;
  while (!deadline.expired()) {
    bool added = false;
    for (const Source &source : sources)
      added |= price(source, prices);
    if (!added)
      break;
    isSolved = program->solve(deadline).has_value();
    if (!isSolved)
      break;
    prices = program->prices();
  }
  return isSolved;
}

/// A route of the same kind to another rank of the cell.
Route RoutePacking::imageFor(const Source &source, const ChunkTree &kind,
                             unsigned destination) const {
  Route route;
  unsigned at = destination;
  for (size_t i = kind.sends.size(); i-- > 0;) {
    const TreeSend &send = kind.sends[i];
    unsigned wanted =
        source.cells.links.classOf[*topology.findLink(send.src, send.dst)];
    for (unsigned link : topology.inLinks(at))
      if (source.cells.links.classOf[link] == wanted) {
        route.push_back({link, send.step});
        at = topology.links()[link].src;
        break;
      }
  }
  return route;
}

Schedule RoutePacking::decode(const WholeSolution &whole) const {
  unsigned perPair = instance.collective.chunksPerSegment();
  unsigned chunks = instance.collective.chunks();
  Schedule schedule;
  for (uint64_t rounds : whole.rounds)
    schedule.steps.push_back({unsigned(rounds), {}});
  schedule.steps.back().rounds +=
      instance.rounds - unsigned(whole.totalRounds());
  for (const Source &source : sources)
    for (unsigned cell = 0; cell < source.cells.ranks.count(); ++cell) {
      // Chunk i of the cell is the (i % perPair)-th to its (i / perPair)-th
      // rank.
      std::vector<unsigned> ranks;
      for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
        if (source.cells.ranks.classOf[rank] == cell)
          ranks.push_back(rank);
      size_t next = 0;
      for (size_t kind = 0; kind < program->numTrees(); ++kind) {
        if (program->demandOf(kind) != source.firstDemand + cell)
          continue;
        for (int64_t n = 0; n < whole.counts[kind]; ++n, ++next) {
          unsigned to = ranks[next / perPair];
          Route route = imageFor(source, program->tree(kind), to);
          for (const Permutation &image : problem.group)
            for (auto [link, step] : route) {
              auto [src, dst] = topology.links()[link];
              uint32_t chunk = image[source.rank] * chunks +
                               image[to] * perPair + uint32_t(next % perPair);
              schedule.steps[step].sends.push_back(
                  {chunk, image[src], image[dst]});
            }
        }
      }
    }
  schedule.normalize();
  return schedule;
}

std::optional<Schedule> RoutePacking::run() {
  if (!generate())
    return std::nullopt;
  std::optional<WholeSolution> whole =
      wholeChunks(*program, program->numDemands(),
                  instance.collective.chunksPerSegment(), deadline);
  if (!whole || whole->totalRounds() > instance.rounds)
    return std::nullopt;
  return decode(*whole);
}

namespace {
class RoutesBackend final : public SolverBackend {
public:
  RoutesBackend()
      : SolverBackend({.name = "routes",
                       .workUnit = "iterations, and links looked at",
                       .kinds = {CollectiveKind::AllToAll},
                       .endsEarly = true}) {}

  /// Where there are few ranks, integer flows refute as well.
  std::string whyNot(const Instance &instance) const override {
    std::string refusal = SolverBackend::whyNot(instance);
    if (refusal.empty() &&
        instance.topology.numRanks() <= tuned::mostProgramRanks())
      refusal = "routes takes more than " +
                std::to_string(tuned::mostProgramRanks()) + " ranks, got " +
                std::to_string(instance.topology.numRanks());
    return refusal;
  }

  SynthesisResult solve(const Instance &instance,
                        const SolverOptions &options) const override {
    return runEngine(*this, instance, options,
                     [&](const Deadline &deadline) -> Outcome {
                       RoutePacking packing(instance, deadline);
                       if (auto schedule = packing.run())
                         return Satisfied{std::move(*schedule)};
                       if (deadline.expired())
                         return gaveUp(deadline);
                       return Unknown{"no packing of routes found, which does "
                                      "not exclude other schedules"};
                     });
  }
};
} // namespace

std::unique_ptr<SolverBackend> sccl::createRoutesBackend() {
  return std::make_unique<RoutesBackend>();
}
