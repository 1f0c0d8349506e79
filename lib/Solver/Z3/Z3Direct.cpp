//===- Z3Direct.cpp - Per-step Booleans in time windows -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One Boolean says that a chunk has arrived at a rank by the end of a step, one
// that it travels over a link in a step; both exist only inside the windows of
// Windows.h. Rounds are unary, so that capacities stay pseudo-Boolean. Arrivals
// are unique and every relay passes on what it gets: any schedule can be
// cleaned to obey both, so these restrictions lose no answer.
//
//===----------------------------------------------------------------------===//

#include "Solver/Pruning.h"
#include "Solver/Windows.h"
#include "Z3Encoding.h"

#include <algorithm>
#include <climits>

using namespace sccl;

namespace {
class DirectEncoding final : public Z3Encoding {
public:
  DirectEncoding(const Instance &instance, z3::context &context)
      : instance(instance), topology(instance.topology), context(context),
        awaited(topology.numRanks()), windowAt(topology.numRanks()) {}

  uint64_t plan(uint64_t limit, const StopFunction &stop) override;
  void encode(z3::solver &solver, const StopFunction &stop) override;
  Schedule decode(const z3::model &model) const override;

private:
  /// A variable: `chunk` travels over `link` in `step`, counted from 1.
  struct Travel {
    unsigned chunk, link, step;
    z3::expr variable;
  };
  /// The variables of one chunk at one rank while the chunk is encoded.
  struct Place {
    Window window;
    std::vector<z3::expr> arrived; // by the end of step window.first + i
    std::vector<z3::expr_vector> incoming; // in step window.first + i
    z3::expr_vector outgoing;              // in any step
  };

  void encodeChunk(z3::solver &solver, unsigned chunk, const ChunkClass &kind);
  void addPlaces(const ChunkClass &kind);
  void addTravels(z3::solver &solver, unsigned chunk, Place &place);
  void addTravel(z3::solver &solver, unsigned chunk, unsigned link,
                 unsigned step, Place &place, Place *from);
  void constrainPlace(z3::solver &solver, const Place &place, bool unicast);
  void encodeRounds(z3::solver &solver, const StopFunction &stop);
  void addRoundVariables(z3::solver &solver,
                         const std::vector<unsigned> &roundsOfUse);
  void limitByWeights(z3::solver &solver, const z3::expr_vector &load,
                      unsigned bandwidth, const std::vector<z3::expr> &more);
  uint64_t ingressOf(unsigned rank) const;
  void boundIngress(z3::solver &solver, unsigned rank,
                    const StopFunction &stop);
  void makeVariables(const StopFunction &stop);
  z3::expr newVariable() { return variables[numUsed++]; }

  const Instance &instance;
  const Topology &topology;
  z3::context &context;
  std::unique_ptr<WindowPlan> windows;
  std::vector<z3::expr> variables;
  std::vector<z3::expr> negations; // only to keep them alive
  size_t numUsed = 0;
  std::vector<Travel> travels;
  /// moreRounds[t][m]: step t + 1 has at least m + 2 rounds.
  std::vector<std::vector<z3::expr>> moreRounds;
  /// A chunk on its way to a destination: arrived[i] tells whether it is there
  /// by the end of step first + i.
  struct Awaited {
    unsigned first;
    std::vector<z3::expr> arrived;
  };
  std::vector<std::vector<Awaited>> awaited; // per rank

  // Of the chunk being encoded.
  std::vector<Place> places;
  static constexpr int isSource = -1, isUseless = -2;
  std::vector<int> windowAt; // per rank: index into `places`, or one of these
};
} // namespace

std::unique_ptr<Z3Encoding> sccl::createDirectEncoding(const Instance &instance,
                                                       z3::context &context) {
  return std::make_unique<DirectEncoding>(instance, context);
}

uint64_t DirectEncoding::plan(uint64_t limit, const StopFunction &stop) {
  windows = std::make_unique<WindowPlan>(instance, limit, stop);
  return windows->numVariables();
}

void DirectEncoding::encode(z3::solver &solver, const StopFunction &stop) {
  if (!windows->reachable()) {
    solver.add(context.bool_val(false));
    return;
  }
  makeVariables(stop);
  for (unsigned chunk = 0; chunk < instance.collective.numChunks(); ++chunk) {
    if (stop())
      return;
    if (const ChunkClass *kind = windows->classOf(chunk))
      encodeChunk(solver, chunk, *kind);
  }
  places.clear();
  encodeRounds(solver, stop);
  for (unsigned rank = 0; rank < topology.numRanks() && !stop(); ++rank)
    boundIngress(solver, rank, stop);
}

/// Makes the variables of places and travels, then their negations, before any
/// other term. The order matters: z3 4.8.12 first looks up every term in hash
/// tables that are fast only if these have consecutive numbers. Otherwise the
/// time is quadratic, minutes for 300 000 variables, all of it deaf to
/// interruptions.
void DirectEncoding::makeVariables(const StopFunction &stop) {
  const size_t count = windows->numVariables();
  const z3::sort boolean = context.bool_sort();
  variables.reserve(count);
  for (size_t i = 0; i < count && (i % 4096 || !stop()); ++i)
    variables.push_back(
        context.constant(context.int_symbol(static_cast<int>(i)), boolean));
  negations.reserve(count);
  for (size_t i = 0; i < variables.size() && (i % 4096 || !stop()); ++i)
    negations.push_back(!variables[i]);
}

//===----------------------------------------------------------------------===//
// One chunk
//===----------------------------------------------------------------------===//

void DirectEncoding::encodeChunk(z3::solver &solver, unsigned chunk,
                                 const ChunkClass &kind) {
  addPlaces(kind);
  for (Place &place : places)
    addTravels(solver, chunk, place);
  for (const Place &place : places)
    constrainPlace(solver, place, kind.numDestinations == 1);
  for (Place &place : places)
    if (place.window.wanted)
      awaited[place.window.rank].push_back(
          {place.window.first, std::move(place.arrived)});
}

void DirectEncoding::addPlaces(const ChunkClass &kind) {
  std::fill(windowAt.begin(), windowAt.end(), isUseless);
  for (unsigned source : kind.sources)
    windowAt[source] = isSource;
  places.clear();
  for (const Window &window : kind.windows) {
    windowAt[window.rank] = static_cast<int>(places.size());
    Place place{window, {}, {}, z3::expr_vector(context)};
    for (unsigned step = window.first; step <= window.last; ++step) {
      place.arrived.push_back(newVariable());
      place.incoming.emplace_back(context);
    }
    places.push_back(std::move(place));
  }
}

void DirectEncoding::addTravels(z3::solver &solver, unsigned chunk,
                                Place &place) {
  for (unsigned link : topology.inLinks(place.window.rank)) {
    int index = windowAt[topology.links()[link].src];
    if (index == isUseless)
      continue;
    Place *from = index == isSource ? nullptr : &places[index];
    // Not before place.window.first: a link spans at most one hop.
    for (unsigned step = from ? from->window.first + 1 : 1;
         step <= place.window.last; ++step)
      addTravel(solver, chunk, link, step, place, from);
  }
}

/// `from` is null for a source, which always holds the chunk.
void DirectEncoding::addTravel(z3::solver &solver, unsigned chunk,
                               unsigned link, unsigned step, Place &place,
                               Place *from) {
  z3::expr travel = newVariable();
  unsigned offset = step - place.window.first;
  if (from) {
    unsigned known = std::min(step - 1, from->window.last);
    solver.add(!travel || from->arrived[known - from->window.first]);
    from->outgoing.push_back(travel);
  }
  solver.add(!travel || place.arrived[offset]);
  if (offset > 0)
    solver.add(!travel || !place.arrived[offset - 1]);
  place.incoming[offset].push_back(travel);
  travels.push_back({chunk, link, step, travel});
}

void DirectEncoding::constrainPlace(z3::solver &solver, const Place &place,
                                    bool unicast) {
  for (size_t i = 0; i < place.arrived.size(); ++i) {
    z3::expr_vector cause(context);
    for (const z3::expr &travel : place.incoming[i])
      cause.push_back(travel);
    if (i > 0) {
      cause.push_back(place.arrived[i - 1]);
      solver.add(!place.arrived[i - 1] || place.arrived[i]);
    }
    solver.add(!place.arrived[i] || anyOf(cause));
    solver.add(atMost(place.incoming[i], 1));
  }
  if (place.window.wanted) {
    solver.add(place.arrived.back());
    return;
  }
  // What the windows cannot say: nobody fetches a chunk for nothing.
  solver.add(!place.arrived.back() || anyOf(place.outgoing));
  if (unicast)
    solver.add(atMost(place.outgoing, 1));
}

//===----------------------------------------------------------------------===//
// Rounds and bandwidth
//===----------------------------------------------------------------------===//

void DirectEncoding::encodeRounds(z3::solver &solver,
                                  const StopFunction &stop) {
  // The candidates of each limit and step.
  std::vector<std::vector<unsigned>> limitsOf(topology.links().size());
  for (unsigned limit = 0; limit < topology.limits().size(); ++limit)
    for (unsigned link : topology.limits()[limit].links)
      limitsOf[link].push_back(limit);
  std::vector<std::vector<unsigned>> loads(topology.limits().size() *
                                           instance.steps);
  for (unsigned i = 0; i < travels.size(); ++i)
    for (unsigned limit : limitsOf[travels[i].link])
      loads[limit * size_t(instance.steps) + travels[i].step - 1].push_back(i);

  // More rounds than the candidates of a step can fill are of no use there.
  std::vector<unsigned> roundsOfUse(instance.steps, 1);
  for (size_t i = 0; i < loads.size(); ++i) {
    unsigned bandwidth = topology.limits()[i / instance.steps].bandwidth;
    unsigned &most = roundsOfUse[i % instance.steps];
    most =
        std::max<unsigned>(most, (loads[i].size() + bandwidth - 1) / bandwidth);
  }
  addRoundVariables(solver, roundsOfUse);

  uint64_t caseTerms = 0;
  for (size_t i = 0; i < loads.size(); ++i)
    caseTerms += termsOfCases(loads[i].size(),
                              topology.limits()[i / instance.steps].bandwidth,
                              moreRounds[i % instance.steps].size() + 1);
  for (size_t i = 0; i < loads.size(); ++i) {
    if (stop())
      return;
    z3::expr_vector load(context);
    for (unsigned travel : loads[i])
      load.push_back(travels[travel].variable);
    unsigned bandwidth = topology.limits()[i / instance.steps].bandwidth;
    const std::vector<z3::expr> &more = moreRounds[i % instance.steps];
    if (caseTerms <= maxCaseTerms)
      limitByCases(solver, load, bandwidth, more);
    else if (load.size() > bandwidth)
      limitByWeights(solver, load, bandwidth, more);
  }
}

/// Rounds in excess of what the sends need are left over, for `decode`; so the
/// sum is a bound, not an equation.
void DirectEncoding::addRoundVariables(
    z3::solver &solver, const std::vector<unsigned> &roundsOfUse) {
  unsigned spare = instance.rounds - instance.steps;
  z3::expr_vector all(context);
  for (unsigned step = 0; step < instance.steps; ++step) {
    std::vector<z3::expr> &more = moreRounds.emplace_back();
    for (unsigned m = 2; m <= std::min(roundsOfUse[step], spare + 1); ++m) {
      more.push_back(context.bool_const(
          ("rounds_s" + std::to_string(step + 1) + "_" + std::to_string(m))
              .c_str()));
      all.push_back(more.back());
      if (m > 2)
        solver.add(!more[m - 2] || more[m - 3]);
    }
  }
  solver.add(atMost(all, spare));
}

/// sum load + bandwidth * sum (not more) <= bandwidth * (1 + |more|).
void DirectEncoding::limitByWeights(z3::solver &solver,
                                    const z3::expr_vector &load,
                                    unsigned bandwidth,
                                    const std::vector<z3::expr> &more) {
  // Enough of `more` for the whole load; beyond it the limit does not bind.
  size_t terms = std::min<size_t>(more.size(), (load.size() - 1) / bandwidth);
  z3::expr_vector all(context);
  std::vector<int> weights(load.size(), 1);
  for (unsigned i = 0; i < load.size(); ++i)
    all.push_back(load[i]);
  for (size_t i = 0; i < terms; ++i) {
    all.push_back(!more[i]);
    weights.push_back(static_cast<int>(bandwidth));
  }
  solver.add(
      z3::pble(all, weights.data(), static_cast<int>(bandwidth * (1 + terms))));
}

//===----------------------------------------------------------------------===//
// Implied constraints
//===----------------------------------------------------------------------===//

/// The chunks that can enter `rank` in a round, at most.
uint64_t DirectEncoding::ingressOf(unsigned rank) const {
  uint64_t sum = 0;
  for (unsigned link : topology.inLinks(rank))
    sum += topology.capacity(link);
  // A limit on all the links into the rank may be tighter.
  for (const BandwidthLimit &limit : topology.limits()) {
    auto enters = [&](unsigned link) {
      return topology.links()[link].dst == rank;
    };
    size_t count =
        std::count_if(limit.links.begin(), limit.links.end(), enters);
    if (count == topology.inLinks(rank).size())
      sum = std::min<uint64_t>(sum, limit.bandwidth);
  }
  return sum;
}

/// What a rank still lacks after a step must fit through its links in the
/// rounds that are left. The capacities imply it, but z3 would have to count to
/// see that; with it, instances whose rounds are free and tight take seconds
/// instead of minutes.
void DirectEncoding::boundIngress(z3::solver &solver, unsigned rank,
                                  const StopFunction &stop) {
  const uint64_t perRound = ingressOf(rank);
  for (unsigned step = 1; step < instance.steps && !stop(); ++step) {
    uint64_t bound = perRound * (instance.rounds - step);
    // Never binding, or beyond z3's integers.
    if (awaited[rank].size() <= perRound * (instance.steps - step) ||
        bound > INT_MAX)
      continue;
    z3::expr_vector lacking(context);
    std::vector<int> weights;
    uint64_t certain = 0;
    for (const Awaited &chunk : awaited[rank]) {
      if (step < chunk.first)
        ++certain;
      else
        lacking.push_back(!chunk.arrived[step - chunk.first]);
    }
    weights.assign(lacking.size(), 1);
    for (unsigned past = 0; past < step; ++past)
      for (const z3::expr &more : moreRounds[past]) {
        lacking.push_back(more);
        weights.push_back(static_cast<int>(perRound));
      }
    if (certain > bound)
      solver.add(context.bool_val(false));
    else if (!lacking.empty())
      solver.add(
          z3::pble(lacking, weights.data(), static_cast<int>(bound - certain)));
  }
}

//===----------------------------------------------------------------------===//
// The answer
//===----------------------------------------------------------------------===//

Schedule DirectEncoding::decode(const z3::model &model) const {
  Schedule schedule;
  schedule.steps.resize(instance.steps);
  unsigned left = instance.rounds - instance.steps;
  for (unsigned step = 0; step < instance.steps; ++step)
    for (const z3::expr &more : moreRounds[step])
      if (isTrueIn(model, more)) {
        ++schedule.steps[step].rounds;
        --left;
      }
  schedule.steps.back().rounds += left;
  for (const Travel &travel : travels)
    if (isTrueIn(model, travel.variable)) {
      const Link &link = topology.links()[travel.link];
      schedule.steps[travel.step - 1].sends.push_back(
          {travel.chunk, link.src, link.dst});
    }
  dropUselessSends(instance.collective, schedule);
  return schedule;
}
