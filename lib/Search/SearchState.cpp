//===- SearchState.cpp - What is known of each number of steps ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchState.h"

#include "Constants.h"
#include "Search/Constants.h"

#include "sccl/Bounds/SumBound.h"

#include <algorithm>

using namespace sccl;

bool FrontierBounds::isAlike() const {
  return problem.family.kind == CollectiveKind::AllReduce ||
         problem.isOneToAll();
}

/// Returns true if the bound for any number of steps holds from here on.
bool FrontierBounds::findAt(unsigned steps, uint64_t work) {
  if (problem.options.watch)
    problem.options.watch({steps});
  LowerBoundOptions options{problem.limitsOf(work)};
  // What fewer steps can do anyway need not be proved again.
  if (forAny)
    options.target = forAny->value;
  Result<LowerBound> bound = lower.at(steps, options);
  // Where all chunks go the same way, the strongest program came first, and
  // only searches are left.
  if (isAlike() && problem.hasManyRanks())
    strengthened[steps] = Deadline::unlimited;
  if (bound)
    bounds[steps] = std::make_shared<LowerBound>(std::move(*bound));
  isTooLarge = !bound;
  if (!forAny || isImpossible(steps) ||
      (bound && *bounds[steps]->value > *forAny->value))
    return false;
  if (!bound || *bounds[steps]->value < *forAny->value)
    bounds[steps] = forAny;
  return bool(bound);
}

void FrontierBounds::findThroughput(uint64_t work) {
  if (!forAny && !problem.deadline.isOver())
    if (Result<LowerBound> any =
            throughputBound(problem.given.topology, problem.given.smallest,
                            {problem.limitsOf(work)}))
      forAny = std::make_shared<LowerBound>(std::move(*any));
}

void FrontierBounds::find(uint64_t work) {
  findThroughput(work);
  for (unsigned steps = 1; steps < bounds.size(); ++steps) {
    if (problem.deadline.isOver())
      return;
    // Programs grow with the steps: after seconds for nothing, the next would
    // take as long.
    if (!bounds[steps] && isTooLarge)
      bounds[steps] = forAny;
    if (bounds[steps] || !findAt(steps, work))
      continue;
    // More steps allow more, so their bounds would be no better.
    std::fill(bounds.begin() + steps + 1, bounds.end(), forAny);
    return;
  }
}

void FrontierBounds::strengthen(unsigned steps, const Rational &known,
                                uint64_t work) {
  if (strengthened[steps] >= work || problem.deadline.isOver())
    return;
  LowerBoundOptions options{problem.limitsOf(work)};
  options.target = known;
  options.searches = true;
  Result<LowerBound> bound = lower.at(steps, options);
  strengthened[steps] = lower.wantsMoreWork() ? work : Deadline::unlimited;
  if (bound && bound->value &&
      (!bounds[steps] || *bounds[steps]->value < *bound->value)) {
    if (isAlike())
      programs[steps] = bounds[steps];
    bounds[steps] = std::make_shared<LowerBound>(std::move(*bound));
  }
}

void FrontierBounds::strengthenSums(unsigned steps, const Rational &known,
                                    const std::vector<double> &prices) {
  if (prices.empty() || problem.deadline.isOver())
    return;
  Result<LowerBound> bound = sumBound(
      problem.given.topology, problem.given.smallest, problem.options.order,
      steps, prices, known, problem.limitsOf(tuned::sumBoundWork()));
  if (bound && (!bounds[steps] || *bounds[steps]->value < *bound->value))
    bounds[steps] = std::make_shared<LowerBound>(std::move(*bound));
}

void FrontierBounds::strengthenSumsOfAny(const Rational &known) {
  if ((forAny && known <= *forAny->value) || problem.deadline.isOver())
    return;
  const Topology &topology = problem.given.topology;
  Result<LowerBound> bound =
      sumBound(topology, problem.given.smallest, problem.options.order,
               std::nullopt, std::vector<double>(topology.limits().size(), 1.0),
               known, problem.limitsOf(tuned::sumBoundWork()));
  if (!bound || (forAny && *bound->value <= *forAny->value))
    return;
  forAny = std::make_shared<LowerBound>(std::move(*bound));
  for (SharedBound &ofSteps : bounds)
    if (!ofSteps || (ofSteps->value && *ofSteps->value < *forAny->value))
      ofSteps = forAny;
}

bool FrontierBounds::excludesBelow(unsigned steps, const Rational &cost) const {
  if (isImpossible(steps))
    return true;
  auto excludes = [&](const SharedBound &bound) {
    return bound && bound->value && cost <= *bound->value;
  };
  return excludes(bounds[steps]) || excludes(forAny);
}

std::string
FrontierBounds::orderText(const std::vector<unsigned> &unsettled) const {
  std::string text;
  for (unsigned steps : unsettled) {
    const SharedBound &bound = bounds[steps];
    if (problem.hasOrder() && bound && !bound->certificate.order.isTree())
      text += (text.empty() ? "" : ", ") + std::to_string(steps);
  }
  if (text.empty())
    return "";
  return "; at S = " + text + " bounds are those of any order of additions";
}

template <typename Point>
static std::optional<Rational>
leastUpTo(const std::map<unsigned, Point> &points, unsigned steps) {
  auto above = points.upper_bound(steps);
  if (above == points.begin())
    return std::nullopt;
  return std::prev(above)->second.bandwidth();
}

/// Leaves out those of more steps that are no cheaper.
template <typename Point>
static Point *insert(std::map<unsigned, Point> &points, Point point) {
  unsigned steps = point.steps;
  Rational cost = point.bandwidth();
  std::optional<Rational> known = leastUpTo(points, steps);
  if (known && *known <= cost)
    return nullptr;
  auto at = points.insert_or_assign(steps, std::move(point)).first;
  while (std::next(at) != points.end() &&
         cost <= std::next(at)->second.bandwidth())
    points.erase(std::next(at));
  return &at->second;
}

std::optional<Rational> KnownPoints::at(unsigned steps) const {
  return leastUpTo(found, steps);
}

std::optional<Rational> KnownPoints::writableTreesAt(unsigned steps) const {
  return leastUpTo(inTrees, steps);
}

std::optional<Rational> KnownPoints::treesAt(unsigned steps) const {
  std::optional<Rational> few = writableTreesAt(steps);
  std::optional<Rational> many = leastUpTo(inHugeTrees, steps);
  return !few || (many && *many < *few) ? many : few;
}

const FrontierPoint *KnownPoints::add(FrontierPoint point) {
  return insert(found, std::move(point));
}

void KnownPoints::add(TreePoint point) {
  bool isHuge = point.sends > Schedule::maxSends;
  insert(isHuge ? inHugeTrees : inTrees, std::move(point));
}

FrontierPoint *KnownPoints::pointOf(unsigned steps) {
  auto at = found.find(steps);
  return at == found.end() ? nullptr : &at->second;
}

/// False if a point, or other trees of up to as many steps, are as cheap. Of
/// equal ones of as many steps, those of few sends are listed.
bool KnownPoints::isListed(const TreePoint &point) const {
  auto isBelow = [&](const std::optional<Rational> &known) {
    return !known || point.bandwidth() < *known;
  };
  unsigned steps = point.steps;
  if (!isBelow(at(steps)))
    return false;
  if (point.sends > Schedule::maxSends)
    return isBelow(leastUpTo(inTrees, steps));
  auto huge = inHugeTrees.find(steps);
  bool isBeaten =
      huge != inHugeTrees.end() && huge->second.bandwidth() < point.bandwidth();
  return !isBeaten && isBelow(leastUpTo(inHugeTrees, steps - 1));
}

/// Where the trees of just `steps` steps are kept that are listed.
KnownPoints::Trees *KnownPoints::holderOf(unsigned steps) {
  for (Trees *trees : {&inHugeTrees, &inTrees})
    if (auto at = trees->find(steps);
        at != trees->end() && isListed(at->second))
      return trees;
  return nullptr;
}

TreePoint *KnownPoints::treesOf(unsigned steps) {
  Trees *holder = holderOf(steps);
  return holder ? &holder->at(steps) : nullptr;
}

void KnownPoints::dropTrees(unsigned steps) {
  if (Trees *holder = holderOf(steps))
    holder->erase(steps);
}

bool KnownPoints::hasTrees() const {
  auto isListedHere = [&](const auto &point) { return isListed(point.second); };
  return std::ranges::any_of(inTrees, isListedHere) ||
         std::ranges::any_of(inHugeTrees, isListedHere);
}

void KnownPoints::moveTo(Frontier &frontier) {
  std::map<unsigned, TreePoint> listed;
  for (const Trees *trees : {&inTrees, &inHugeTrees})
    for (const auto &[steps, point] : *trees)
      if (isListed(point))
        listed.emplace(steps, point);
  for (auto &[steps, point] : listed)
    frontier.trees.push_back(std::move(point));
  for (auto &[steps, point] : found)
    frontier.points.push_back(std::move(point));
  inTrees.clear();
  inHugeTrees.clear();
  found.clear();
}

bool SearchState::isReached(unsigned steps) const {
  std::optional<Rational> known = points.at(steps);
  return bounds.isImpossible(steps) ||
         (known && bounds.excludesBelow(steps, *known));
}

bool SearchState::isReachedByTrees(unsigned steps) const {
  std::optional<Rational> trees = points.treesAt(steps);
  return trees && bounds.excludesBelow(steps, *trees);
}

bool SearchState::isSettled(unsigned steps) const {
  if (isReached(steps) || !problem.isVast())
    return isReached(steps);
  // On few ranks engines may meet the bound with fewer chunks than trees, and
  // on many with fewer than trees that are too many to be written out.
  std::optional<Rational> trees = points.writableTreesAt(steps);
  return trees && bounds.excludesBelow(steps, *trees);
}

bool SearchState::meetsThroughput() const {
  const SharedBound &bound = bounds.throughput();
  return bound && (points.at(options.maxSteps) == bound->value ||
                   points.treesAt(options.maxSteps) == bound->value);
}

double SearchState::gapAt(unsigned steps) const {
  constexpr double unknown = 1e9;
  std::optional<Rational> known = points.at(steps);
  const SharedBound &bound = bounds.ofPrograms(steps);
  if (!known || !bound || !bound->value || *bound->value <= Rational(0))
    return unknown;
  return known->toDouble() / bound->value->toDouble();
}

bool SearchState::isWorthImproving(unsigned steps) const {
  // Between two points of an all_reduce nothing proves that there is no third,
  // and searches for it are long: they are made where much can be gained.
  return problem.family.kind != CollectiveKind::AllReduce || options.thorough ||
         gapAt(steps) > tuned::closeCost();
}

bool SearchState::isCloseEnough(unsigned steps) const {
  bool isCustom = problem.family.kind == CollectiveKind::Custom;
  bool isReduction = problem.family.kind == CollectiveKind::AllReduce;
  if ((isCustom || problem.packsSomeRanks()) && !problem.hasManyRanks())
    return !options.thorough && !options.k && gapAt(steps) <= 1.02;
  if (options.thorough || !problem.hasManyRanks() ||
      (isReduction && !problem.isVast()))
    return false;
  // From one root, and for sums, nobody else comes as close there.
  if (problem.isVast() && (isReduction || problem.isOneToAll()) &&
      problem.wantsTrees())
    return gapAt(steps) <= tuned::fairCost() ||
           (problem.isHuge() && points.at(steps));
  return gapAt(steps) <=
         (problem.isVast() || problem.isOneToAll() ? 1.05 : 1.01);
}
