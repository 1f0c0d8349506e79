//===- ChunkSearch.cpp - Bounds from searches for single chunks -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A linear program spreads a chunk over halves of trees, and so gets by with
// less than any whole chunk. Here prices are chosen against whole plans only:
// the sends that a chunk can do with, as a SAT solver finds them. Whenever it
// finds one that is cheaper than all plans so far, the prices are chosen anew;
// when there is none, its refutation is the proof, and the bound is the best
// that prices can give.
//
//===----------------------------------------------------------------------===//

#include "ChunkSearch.h"

#include "Bounds/Constants.h"
#include "Certify.h"
#include "PriceList.h"
#include "Refutation.h"
#include "Rounding.h"

#include "Optimize/LinearProgram.h"
#include "sccl/Model/RanksByChunk.h"

#include <cmath>
#include <numeric>

using namespace sccl;
using namespace sccl::bounds;

namespace {
/// A price for each orbit of limits and each step, and V.
struct PriceChoice {
  std::vector<int64_t> prices;
  int64_t value;
};

class ChunkSearch {
public:
  ChunkSearch(const Problem &problem, const Collective &collective,
              const Deadline &deadline);

  /// Whether there is one kind of chunks, and few enough ranks.
  bool isPossible() const;
  std::optional<PriceProof> prove(const Rational &above,
                                  const Rational &target);

private:
  /// The sends of a chunk, for each link and step whether there is one.
  using Plan = std::vector<bool>;

  Link linkOf(size_t link) const;
  PriceChoice equalPrices(const Rational &target) const;
  std::optional<PriceChoice> choosePrices(const Rational &above) const;
  int64_t leastCost(const std::vector<int64_t> &prices) const;
  void setPrices(const PriceChoice &choice);
  bool informs(const Plan &plan) const;
  bool reaches(const Plan &plan, const std::vector<unsigned> &sources) const;
  void addPlan(Plan plan);
  PriceProof toProof(const PriceChoice &choice,
                     std::vector<RefutationStep> refutation) const;

  const Problem &problem;
  const Deadline &deadline;
  const unsigned steps;
  const Orbits orbits; ///< of limits
  ChunkQuestion question;
  bool hasOneKind = false;
  /// By plan: sends over the limits of each orbit in each step.
  std::vector<std::vector<unsigned>> loads;
};
} // namespace

static Orbits orbitsOfLimits(const Problem &problem) {
  return orbitsUnder(problem.limits.size(), problem.symmetries.size(),
                     [&](size_t i, std::vector<unsigned> &images) {
                       images = problem.symmetries[i].limits;
                     });
}

ChunkSearch::ChunkSearch(const Problem &problem, const Collective &collective,
                         const Deadline &deadline)
    : problem(problem), deadline(deadline), steps(problem.steps),
      orbits(orbitsOfLimits(problem)),
      question{collective.numRanks(),  steps, {}, {}, {}, {},
               collective.combining(), 1} {
  for (size_t link = 0; link < problem.topology.links().size(); ++link)
    question.links.push_back(linkOf(link));
  question.prices.resize(question.links.size() * steps);
  std::map<ChunkEnds, unsigned> ends = countByEnds(collective);
  hasOneKind = ends.size() == 1;
  if (hasOneKind)
    std::tie(question.pre, question.post) = ends.begin()->first;
}

Link ChunkSearch::linkOf(size_t link) const {
  auto [src, dst] = problem.topology.links()[link];
  return problem.backward ? Link{dst, src} : Link{src, dst};
}

bool ChunkSearch::isPossible() const {
  return hasOneKind && !problem.anySteps && !problem.pipelined &&
         question.prices.size() <= tuned::mostSearchedSends();
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Whether all of the postcondition hear of one of `sources`.
bool ChunkSearch::reaches(const Plan &plan,
                          const std::vector<unsigned> &sources) const {
  std::vector<bool> knows(question.numRanks);
  for (unsigned source : sources)
    knows[source] = true;
  for (unsigned step = 0; step < steps; ++step) {
    std::vector<bool> before = knows;
    for (size_t link = 0; link < question.links.size(); ++link)
      if (plan[link * steps + step] && before[question.links[link].src])
        knows[question.links[link].dst] = true;
  }
  return std::ranges::all_of(question.post,
                             [&](unsigned rank) { return knows[rank]; });
}

bool ChunkSearch::informs(const Plan &plan) const {
  if (!question.combining)
    return reaches(plan, question.pre);
  return std::ranges::all_of(
      question.pre, [&](unsigned source) { return reaches(plan, {source}); });
}

/// Adds `plan`, without the sends that it can do without.
void ChunkSearch::addPlan(Plan plan) {
  for (size_t send = 0; send < plan.size(); ++send)
    if (plan[send]) {
      plan[send] = false;
      plan[send] = !informs(plan);
    }
  std::vector<unsigned> load(orbits.sizes.size() * steps);
  for (size_t limit = 0; limit < problem.limits.size(); ++limit)
    for (unsigned link : problem.limits[limit].links)
      for (unsigned step = 0; step < steps; ++step)
        load[orbits.classOf[limit] * steps + step] += plan[link * steps + step];
  loads.push_back(std::move(load));
}

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

/// 1 everywhere, and what a chunk must cost for `target`.
PriceChoice ChunkSearch::equalPrices(const Rational &target) const {
  int64_t perRound = 0;
  for (const BandwidthLimit &limit : problem.limits)
    perRound += limit.bandwidth;
  __int128 scaled = __int128(target.numerator()) * perRound;
  return {std::vector<int64_t>(orbits.sizes.size() * steps, 1),
          int64_t((scaled + target.denominator() - 1) / target.denominator())};
}

/// What the cheapest of the plans so far costs.
int64_t ChunkSearch::leastCost(const std::vector<int64_t> &prices) const {
  int64_t least = INT64_MAX;
  for (const std::vector<unsigned> &load : loads)
    least = std::min(least, std::inner_product(load.begin(), load.end(),
                                               prices.begin(), int64_t(0)));
  return least;
}

/// Those at which the cheapest of the plans so far is dearest, compared with
/// what passes in a round. Nothing if that gives no more than `above`.
std::optional<PriceChoice>
ChunkSearch::choosePrices(const Rational &above) const {
  constexpr double margin = 1e-6;
  LinearProgram program;
  unsigned numPrices = unsigned(orbits.sizes.size() * steps);
  for (unsigned i = 0; i < numPrices; ++i)
    program.addColumn(0);
  unsigned perRound = program.addColumn(1);
  for (unsigned step = 0; step < steps; ++step) {
    std::vector<LinearProgram::Term> terms = {{perRound, 1}};
    for (unsigned orbit = 0; orbit < orbits.sizes.size(); ++orbit)
      terms.emplace_back(
          orbit * steps + step,
          -double(orbits.sizes[orbit]) *
              problem.limits[orbits.representatives[orbit]].bandwidth);
    program.addRow(LinearProgram::Sense::AtLeast, 0, terms);
  }
  for (const std::vector<unsigned> &load : loads) {
    std::vector<LinearProgram::Term> terms;
    for (unsigned i = 0; i < numPrices; ++i)
      if (load[i] > 0)
        terms.emplace_back(i, load[i]);
    program.addRow(LinearProgram::Sense::AtLeast, 1, terms);
  }
  LPSolution solution = program.solve(deadline);
  if (solution.status != LPStatus::Optimal ||
      1 < solution.optimum * (above.toDouble() + margin))
    return std::nullopt;
  solution.values.resize(numPrices);
  std::optional<int64_t> common =
      findCommonDenominator(solution.values, tuned::mostSearchPrice());
  int64_t factor = common.value_or(tuned::mostSearchPrice());
  PriceChoice choice{{}, factor};
  for (double price : solution.values)
    choice.prices.push_back(std::llround(price * double(factor)));
  // Rounded prices are prices, too: what costs less than all plans so far is
  // another plan, which the next prices take into account.
  if (!common)
    choice.value = leastCost(choice.prices);
  return choice;
}

void ChunkSearch::setPrices(const PriceChoice &choice) {
  std::ranges::fill(question.prices, 0);
  for (size_t limit = 0; limit < problem.limits.size(); ++limit)
    for (unsigned link : problem.limits[limit].links)
      for (unsigned step = 0; step < steps; ++step)
        question.prices[link * steps + step] +=
            choice.prices[orbits.classOf[limit] * steps + step];
  question.value = choice.value;
}

//===----------------------------------------------------------------------===//
// Proof
//===----------------------------------------------------------------------===//

PriceProof ChunkSearch::toProof(const PriceChoice &choice,
                                std::vector<RefutationStep> refutation) const {
  PriceProof proof;
  for (size_t limit = 0; limit < problem.limits.size(); ++limit) {
    auto first = choice.prices.begin() +
                 ptrdiff_t(orbits.classOf[limit] * size_t(steps));
    StepValues values(first, first + steps);
    if (std::ranges::count(values, 0) == steps)
      continue;
    std::vector<Link> links;
    for (unsigned link : problem.limits[limit].links)
      links.push_back(linkOf(link));
    proof.prices.push_back(pricesOn(std::move(links), std::move(values)));
  }
  sortByLinks(proof.prices);
  CommodityProof commodity;
  commodity.pre = question.pre;
  commodity.post = question.post;
  commodity.search = SearchProof{choice.value, std::move(refutation)};
  proof.commodities.push_back(std::move(commodity));
  return proof;
}

std::optional<PriceProof> ChunkSearch::prove(const Rational &above,
                                             const Rational &target) {
  std::optional<PriceChoice> choice = equalPrices(target);
  while (choice && !deadline.expired()) {
    setPrices(*choice);
    Result<ChunkFormula> formula = chunkFormula(question);
    if (!formula)
      return std::nullopt;
    std::optional<std::vector<bool>> model;
    if (auto refutation = refute(*formula, deadline, model))
      return toProof(*choice, std::move(*refutation));
    if (!model)
      return std::nullopt;
    Plan plan(question.prices.size());
    for (size_t send = 0; send < plan.size(); ++send)
      plan[send] = (*model)[size_t(formula->sendOf[send])];
    addPlan(std::move(plan));
    choice = choosePrices(above);
  }
  return std::nullopt;
}

std::optional<LowerBound>
bounds::boundBySearch(const Problem &problem, const Collective &collective,
                      Certificate claim, const Topology &topology,
                      const Rational &above, const Rational &target,
                      const Deadline &deadline) {
  ChunkSearch search(problem, collective, deadline);
  if (!search.isPossible())
    return std::nullopt;
  std::optional<PriceProof> proof = search.prove(above, target);
  if (!proof)
    return std::nullopt;
  claim.proof = std::move(*proof);
  Result<LowerBound> bound = finish(std::move(claim), topology, collective);
  if (!bound || *bound->value <= above)
    return std::nullopt;
  return std::move(*bound);
}
