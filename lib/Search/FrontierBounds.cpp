//===- FrontierBounds.cpp - How cheap S steps can be ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FrontierBounds.h"
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
