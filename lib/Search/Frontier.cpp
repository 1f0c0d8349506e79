//===- Frontier.cpp - The Pareto frontier of a collective -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First what is cheap: schedules that are there without a search. Then the
// bounds. Then every number of steps gets a little work, from few steps to
// many; then those that are open get more and more, the widest gap
// between schedule and bound first. How much each gets is counted, not timed,
// so that the frontier is the same on every machine.
//
//===----------------------------------------------------------------------===//

#include "sccl/Search/Frontier.h"

#include "Compositions.h"
#include "FrontierBounds.h"
#include "KnownPoints.h"
#include "StepSearch.h"
#include "TreeCompositions.h"

#include "sccl/Model/Instance.h"

#include <algorithm>
#include <future>

using namespace sccl;

Result<Collective> sccl::smallestCollective(const CollectiveFamily &family,
                                            unsigned numRanks) {
  return family.make(numRanks, unsigned(family.unit(numRanks)));
}

namespace {
using Progress = std::function<void(const FrontierPoint &)>;

class FrontierSearch {
public:
  FrontierSearch(const FrontierProblem &problem, const Progress &progress)
      : problem(problem), options(problem.options), progress(progress),
        bounds(problem), compositions(problem), treeCompositions(problem) {
    for (unsigned steps = 0; steps <= options.maxSteps; ++steps)
      searches.emplace_back(problem, steps);
  }

  Frontier run();

private:
  void glance(uint64_t work);
  void shorten(uint64_t work);
  void searchAll(uint64_t work, bool isFirst);
  void searchBatch(const std::vector<unsigned> &batch, uint64_t work);
  std::vector<unsigned> openSteps(bool isFirst) const;
  StepSearch::Effort effort(unsigned steps, uint64_t work) const;
  bool isSpent(unsigned steps) const;
  void strengthenAll(bool isOver);
  bool isDone() const;

  std::optional<Rational> knownAt(unsigned steps) const {
    return points.at(steps);
  }
  bool isReached(unsigned steps) const;
  bool isReachedByTrees(unsigned steps) const;
  bool isSettled(unsigned steps) const;
  bool meetsThroughput() const;
  double gapAt(unsigned steps) const;
  /// More ranks than engines take that look at one C and R.
  bool isVast() const { return problem.topology.numRanks() > 16; }
  /// More than where engines of one C and R find anything from one root.
  bool isHuge() const { return problem.topology.numRanks() > 128; }
  static constexpr double largeGap = 2;
  bool isWorthImproving(unsigned steps) const;
  bool isCloseEnough(unsigned steps) const;
  void add(std::optional<FrontierPoint> point);
  void addFrom(unsigned steps, std::optional<FrontierPoint> point);
  void report(bool isOver);
  void reportAt(unsigned steps);

  Frontier conclude();
  std::string why(const std::vector<unsigned> &unsettled, bool &complete) const;
  std::string openText(const std::vector<unsigned> &unsettled) const;
  std::string openBandwidth() const;

  const FrontierProblem &problem;
  const FrontierOptions &options;
  const Progress &progress;
  FrontierBounds bounds;
  Compositions compositions;
  TreeCompositions treeCompositions;
  std::vector<StepSearch> searches; ///< by steps
  KnownPoints points;
  uint64_t spent = 0;    ///< by engines, on single C and R
  unsigned reported = 0; ///< all final points up to this number of steps
};
} // namespace

//===----------------------------------------------------------------------===//
// What is known
//===----------------------------------------------------------------------===//

/// True if no schedule of `steps` steps is cheaper than the points.
bool FrontierSearch::isReached(unsigned steps) const {
  std::optional<Rational> known = knownAt(steps);
  return bounds.isImpossible(steps) ||
         (known && bounds.excludesBelow(steps, *known));
}

/// The same of trees of any number of chunks.
bool FrontierSearch::isReachedByTrees(unsigned steps) const {
  std::optional<Rational> trees = points.treesAt(steps);
  return trees && bounds.excludesBelow(steps, *trees);
}

/// True if nothing is to be searched for at `steps` steps. On few ranks engines
/// may meet the bound with fewer chunks than trees.
bool FrontierSearch::isSettled(unsigned steps) const {
  return isReached(steps) || (isVast() && isReachedByTrees(steps));
}

bool FrontierSearch::meetsThroughput() const {
  const SharedBound &bound = bounds.throughput();
  return bound && (knownAt(options.maxSteps) == bound->value ||
                   points.treesAt(options.maxSteps) == bound->value);
}

/// How many times dearer the known schedules are than the bound of programs.
double FrontierSearch::gapAt(unsigned steps) const {
  constexpr double unknown = 1e9;
  std::optional<Rational> known = knownAt(steps);
  const SharedBound &bound = bounds.ofPrograms(steps);
  if (!known || !bound || !bound->value || *bound->value <= Rational(0))
    return unknown;
  return known->toDouble() / bound->value->toDouble();
}

/// Between two points of an all_reduce nothing proves that there is no third,
/// and searches for it are long: they are made where much can be gained.
bool FrontierSearch::isWorthImproving(unsigned steps) const {
  return problem.family.kind != CollectiveKind::AllReduce || options.thorough ||
         gapAt(steps) > FrontierProblem::close;
}

/// On many ranks, and for what users define, all searches are long, and trees
/// come close.
bool FrontierSearch::isCloseEnough(unsigned steps) const {
  bool isReduction = problem.family.kind == CollectiveKind::AllReduce;
  bool isCustom = problem.family.kind == CollectiveKind::Custom;
  if (isCustom && !problem.hasManyRanks())
    return !options.thorough && !options.k && gapAt(steps) <= 1.02;
  if (options.thorough || !problem.hasManyRanks() || (isReduction && !isVast()))
    return false;
  // From one root, and for sums, nobody else comes as close there.
  if (isVast() && (isReduction || problem.isOneToAll()) && problem.wantsTrees())
    return gapAt(steps) <= largeGap || (isHuge() && knownAt(steps));
  return gapAt(steps) <= (isVast() || problem.isOneToAll() ? 1.05 : 1.01);
}

void FrontierSearch::add(std::optional<FrontierPoint> point) {
  if (!point)
    return;
  unsigned steps = point->steps;
  if (const FrontierPoint *added = points.add(std::move(*point)))
    if (options.improved && !isSettled(steps))
      options.improved(*added);
}

/// What one number of steps gave: a point, and what its trees come to.
void FrontierSearch::addFrom(unsigned steps,
                             std::optional<FrontierPoint> point) {
  add(std::move(point));
  for (TreePoint &trees : searches[steps].takeTrees())
    points.add(std::move(trees));
}

/// Passes the points on that nothing can improve any more, in order of steps;
/// all of them, if the search is over.
void FrontierSearch::report(bool isOver) {
  while (reported < options.maxSteps && (isOver || isSettled(reported + 1)))
    reportAt(++reported);
}

void FrontierSearch::reportAt(unsigned steps) {
  auto finish = [&](auto &point) {
    point.bound = bounds.at(steps);
    point.optimal = point.bound && point.bound->value == point.bandwidth();
  };
  if (FrontierPoint *point = points.pointOf(steps)) {
    finish(*point);
    if (progress)
      progress(*point);
  }
  TreePoint *trees = points.treesOf(steps);
  if (trees)
    finish(*trees);
  // A little cheaper, of trillions of chunks: that serves nobody.
  if (trees && !trees->optimal && trees->sends > Schedule::maxSends) {
    points.dropTrees(steps);
    trees = points.treesOf(steps);
    if (trees)
      finish(*trees);
  }
  if (trees && options.trees)
    options.trees(*trees);
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

/// Where there are many ranks, even the bounds take seconds. What takes least
/// comes first, for every number of steps.
void FrontierSearch::glance(uint64_t work) {
  auto atEach = [&](auto find) {
    for (unsigned steps = 1; steps <= options.maxSteps; ++steps)
      if (!problem.deadline.isOver() && !isReached(steps))
        addFrom(steps, find(steps));
  };
  if (problem.hasManyRanks())
    atEach([&](unsigned steps) { return compositions.exchange(steps); });
  for (unsigned steps = 1; steps <= options.maxSteps; ++steps)
    if (std::optional<TreePoint> trees = treeCompositions.at(steps))
      points.add(std::move(*trees));
  atEach(
      [&](unsigned steps) { return searches[steps].glance(knownAt(steps)); });
  if (problem.hasManyRanks())
    atEach([&](unsigned steps) {
      return compositions.at(steps, knownAt(steps), work);
    });
}

/// Trees have as many chunks as their fractions need. Where engines are quick,
/// others may meet the bound with fewer.
void FrontierSearch::shorten(uint64_t work) {
  if (isVast() || options.k)
    return;
  for (auto &[steps, point] : points.all()) {
    const SharedBound &bound = bounds.at(steps);
    if (problem.deadline.isOver() || !bound ||
        bound->value != point.bandwidth())
      continue;
    auto shorter = searches[steps].withFewerChunks(*bound, point, work);
    if (shorter)
      point = std::move(*shorter);
  }
}

/// The numbers of steps to look at. A number is left out only for a schedule
/// that is there: a bound alone may be out of reach with fewer steps, and be
/// reached with more.
std::vector<unsigned> FrontierSearch::openSteps(bool isFirst) const {
  std::vector<unsigned> open;
  for (unsigned steps = 1; steps <= options.maxSteps; ++steps)
    if (!isSettled(steps) &&
        (isFirst || (searches[steps].isWorthMore() && !isCloseEnough(steps) &&
                     !isSpent(steps))))
      open.push_back(steps);
  if (!isFirst)
    std::ranges::stable_sort(open, std::ranges::greater(),
                             [&](unsigned steps) { return gapAt(steps); });
  return open;
}

/// For all candidates of one number of steps that do not meet the bound, when
/// each gets `work`.
StepSearch::Effort FrontierSearch::effort(unsigned steps, uint64_t work) const {
  bool isWorth = isWorthImproving(steps) && !isCloseEnough(steps);
  return {work, isWorth ? std::min(2 * work, options.stepWork) : 0,
          bounds.isOfSteps(steps)};
}

/// True if engines have looked for long enough. On many ranks they seldom find
/// what trees do not, each answer takes long, and there is a question for each
/// number of steps and C: all together must come to an end. On up to 16 ranks
/// they find a little more.
bool FrontierSearch::isSpent(unsigned steps) const {
  if (!problem.hasManyRanks() || options.thorough || options.k)
    return false;
  uint64_t more = isVast() && knownAt(steps) ? 1 : 2;
  return spent >= options.manyRanksWork * more;
}

/// Searches the steps of `batch` at once. What one finds may make the search
/// of the next another: then that is done again, so that the number of jobs
/// does not matter.
void FrontierSearch::searchBatch(const std::vector<unsigned> &batch,
                                 uint64_t work) {
  struct Trial {
    StepSearch search;
    std::optional<Rational> known;
    std::optional<FrontierPoint> point;
  };
  std::vector<std::future<Trial>> trials;
  for (unsigned steps : batch)
    trials.push_back(std::async(
        batch.size() > 1 ? std::launch::async | std::launch::deferred
                         : std::launch::deferred,
        [&, steps,
         trial = Trial{searches[steps], knownAt(steps), {}}]() mutable {
          trial.point = trial.search.run(bounds.at(steps), trial.known,
                                         effort(steps, work));
          return std::move(trial);
        }));
  std::vector<Trial> results;
  for (std::future<Trial> &trial : trials)
    results.push_back(trial.get());
  for (size_t i = 0; i < batch.size(); ++i) {
    unsigned steps = batch[i];
    bool isOver = isSettled(steps) || problem.deadline.isOver();
    if (i > 0 && (isOver || isSpent(steps)))
      continue;
    Trial &trial = results[i];
    bool isOptimal = trial.point && bounds.at(steps) &&
                     bounds.at(steps)->value == trial.point->bandwidth();
    if (trial.known != knownAt(steps) && !isOptimal) {
      addFrom(steps, searches[steps].run(bounds.at(steps), knownAt(steps),
                                         effort(steps, work)));
    } else {
      searches[steps] = trial.search;
      addFrom(steps, std::move(trial.point));
    }
    spent += searches[steps].workOfRun();
    if (!isSettled(steps))
      add(compositions.at(steps, knownAt(steps), work));
    report(/*isOver=*/false);
  }
}

/// Gives each number of steps that is open up to `work` for each candidate.
void FrontierSearch::searchAll(uint64_t work, bool isFirst) {
  std::vector<unsigned> open = openSteps(isFirst);
  size_t jobs = std::max(options.jobs, 1u);
  std::vector<unsigned> batch;
  auto search = [&] {
    if (!batch.empty())
      searchBatch(batch, work);
    batch.clear();
  };
  for (unsigned steps : open) {
    if (problem.deadline.isOver())
      return;
    if (isSettled(steps))
      continue;
    if (std::optional<Rational> known = knownAt(steps);
        known && (!isFirst || problem.hasManyRanks()))
      bounds.strengthen(steps, *known, work);
    if (!isSettled(steps) && !isSpent(steps))
      batch.push_back(steps);
    if (batch.size() == jobs)
      search();
  }
  search();
}

/// Where no search for schedules will follow, or has settled anything, the
/// bound may still be what is missing. On many ranks it has been asked for
/// before.
void FrontierSearch::strengthenAll(bool isOver) {
  for (unsigned steps = 1; steps <= options.maxSteps; ++steps)
    if (!problem.hasManyRanks() && knownAt(steps) && !isSettled(steps) &&
        (isOver || isCloseEnough(steps)))
      bounds.strengthen(steps, *knownAt(steps), options.probeWork);
}

/// True if more work would not be worth it.
bool FrontierSearch::isDone() const {
  if (problem.deadline.isOver())
    return true;
  std::vector<unsigned> open = openSteps(/*isFirst=*/false);
  if (!meetsThroughput())
    return open.empty();
  return std::ranges::none_of(
      open, [&](unsigned steps) { return isWorthImproving(steps); });
}

Frontier FrontierSearch::run() {
  constexpr uint64_t firstWork = 150'000, growth = 4;
  bounds.findThroughput(options.probeWork);
  glance(firstWork);
  bounds.find(options.probeWork);
  shorten(firstWork);
  report(/*isOver=*/false);
  uint64_t work = std::min(firstWork, options.probeWork);
  searchAll(work, /*isFirst=*/true);
  strengthenAll(/*isOver=*/false);
  while (work < options.probeWork && !isDone()) {
    work = std::min(work * growth, options.probeWork);
    searchAll(work, /*isFirst=*/false);
  }
  strengthenAll(/*isOver=*/true);
  report(/*isOver=*/true);
  return conclude();
}

//===----------------------------------------------------------------------===//
// Conclusion
//===----------------------------------------------------------------------===//

/// The steps where the bound has not been reached; with k, those where some C
/// and R were not decided.
std::string
FrontierSearch::openText(const std::vector<unsigned> &unsettled) const {
  std::string text;
  for (unsigned steps : unsettled)
    if (!options.k || searches[steps].hasUndecided())
      text += (text.empty() ? "" : ", ") + std::to_string(steps);
  if (text.empty())
    return "";
  return "; at S = " + text +
         " there may be cheaper schedules than those found";
}

/// How much cheaper schedules of more steps or chunks can be.
std::string FrontierSearch::openBandwidth() const {
  if (bounds.throughput() && bounds.throughput()->value > Rational(0))
    return "the bandwidth bound is R/C = " + bounds.throughput()->value->str();
  return "nothing limits the bandwidth, so that more than " +
         std::to_string(options.maxChunks) + " chunks may be cheaper";
}

std::string FrontierSearch::why(const std::vector<unsigned> &unsettled,
                                bool &complete) const {
  complete = false;
  std::string open = openText(unsettled);
  if (!meetsThroughput() && problem.deadline.isOver())
    return "time is over, or the search was interrupted";
  if (!meetsThroughput())
    return "no more than " + std::to_string(options.maxSteps) +
           (options.maxSteps == 1 ? " step was" : " steps were") +
           " looked at; " + openBandwidth() + open;
  if (options.k)
    return "the bandwidth bound is met; R is at most S + " +
           std::to_string(*options.k) + open;
  if (!unsettled.empty())
    return "the bandwidth bound is met, but " +
           open.substr(std::string_view("; ").size());
  complete = true;
  std::string text = "every point is optimal for its steps";
  if (points.hasTrees())
    text += ", or trees of more chunks are";
  return text + ", and the last one meets the bandwidth bound";
}

Frontier FrontierSearch::conclude() {
  Frontier frontier;
  std::vector<unsigned> unsettled;
  for (unsigned steps = 1; steps <= options.maxSteps; ++steps)
    if (!isReached(steps) && !isReachedByTrees(steps))
      unsettled.push_back(steps);
  std::ranges::copy_if(unsettled, std::back_inserter(frontier.open),
                       [&](unsigned steps) {
                         return !options.k || searches[steps].hasUndecided();
                       });
  frontier.why = why(unsettled, frontier.complete);
  frontier.stopped = !frontier.complete && problem.deadline.isOver();
  for (const StepSearch &search : searches)
    if (!frontier.complete && !search.failure().empty()) {
      frontier.why += "; " + search.failure();
      break;
    }
  frontier.throughput = bounds.throughput();
  frontier.bounds = bounds.all();
  points.moveTo(frontier);
  return frontier;
}

static std::optional<Error> checkOptions(const FrontierOptions &options) {
  auto between = [](const char *what, unsigned value, unsigned limit) {
    return Error{"the largest number of " + std::string(what) + " is " +
                 std::to_string(value) + ", expected between 1 and " +
                 std::to_string(limit)};
  };
  if (options.maxSteps < 1 || options.maxSteps > FrontierOptions::maxMaxSteps)
    return between("steps", options.maxSteps, FrontierOptions::maxMaxSteps);
  if (options.maxChunks < 1 ||
      options.maxChunks > FrontierOptions::maxMaxChunks)
    return between("chunks", options.maxChunks, FrontierOptions::maxMaxChunks);
  if (options.k && *options.k > FrontierOptions::maxMaxSteps)
    return Error{"k is " + std::to_string(*options.k) + ", the limit is " +
                 std::to_string(FrontierOptions::maxMaxSteps)};
  return std::nullopt;
}

Result<Frontier> sccl::searchFrontier(
    const Topology &topology, const CollectiveFamily &family,
    const FrontierOptions &options,
    const std::function<void(const FrontierPoint &)> &progress) {
  if (std::optional<Error> error = checkOptions(options))
    return *error;
  Result<Collective> smallest = smallestCollective(family, topology.numRanks());
  if (!smallest)
    return Error{smallest.error()};
  // Finds out whether every chunk has a path to its destinations.
  Result<Instance> reachable = Instance::make(topology, *smallest, 1, 1);
  if (!reachable)
    return Error{reachable.error()};
  FrontierProblem problem(topology, family, options, *smallest);
  return FrontierSearch(problem, progress).run();
}
