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

#include "ProductSums.h"
#include "Search/Constants.h"
#include "SearchState.h"
#include "TreeSums.h"

#include "sccl/Model/Instance.h"
#include "sccl/Model/RanksByChunk.h"

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
        state(problem), products(problem), gatherSums(problem),
        treeSums(problem) {
    for (unsigned steps = 0; steps <= options.maxSteps; ++steps)
      searches.emplace_back(problem, steps);
  }

  Frontier run();

private:
  void glance();
  void searchOrdered();
  void shorten(uint64_t work);
  void searchAll(uint64_t work, bool isFirst);
  void searchBatch(const std::vector<unsigned> &batch, uint64_t work);
  std::vector<unsigned> openSteps(bool isFirst) const;
  StepSearch::Effort effort(unsigned steps, uint64_t work) const;
  bool isSpent(unsigned steps) const;
  void strengthenAll(bool isOver);
  bool isDone() const;

  std::optional<Rational> knownAt(unsigned steps) const {
    return state.points.at(steps);
  }
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
  SearchState state;
  ProductSums products;
  GatherSums gatherSums;
  TreeSums treeSums;
  std::vector<StepSearch> searches; ///< by steps
  uint64_t spent = 0;               ///< by engines, on single C and R
  unsigned reported = 0; ///< all final points up to this number of steps
};
} // namespace

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

void FrontierSearch::add(std::optional<FrontierPoint> point) {
  if (!point)
    return;
  unsigned steps = point->steps;
  if (const FrontierPoint *added =
          state.points.add(problem.original(std::move(*point))))
    if (options.improved && !state.isSettled(steps))
      options.improved(*added);
}

/// What one number of steps gave: a point, and what its trees come to.
void FrontierSearch::addFrom(unsigned steps,
                             std::optional<FrontierPoint> point) {
  add(std::move(point));
  for (TreePoint &trees : searches[steps].takeTrees())
    state.points.add(std::move(trees));
}

/// Passes the points on that nothing can improve any more, in order of steps;
/// all of them, if the search is over.
void FrontierSearch::report(bool isOver) {
  while (reported < options.maxSteps &&
         (isOver || state.isSettled(reported + 1)))
    reportAt(++reported);
}

void FrontierSearch::reportAt(unsigned steps) {
  auto finish = [&](auto &point) {
    point.bound = state.bounds.at(steps);
    point.optimal = point.bound && point.bound->value == point.bandwidth();
  };
  if (FrontierPoint *point = state.points.pointOf(steps)) {
    finish(*point);
    if (progress)
      progress(*point);
  }
  TreePoint *trees = state.points.treesOf(steps);
  if (trees)
    finish(*trees);
  // A little cheaper, of trillions of chunks: that serves nobody.
  if (trees && !trees->optimal && trees->sends > Schedule::maxSends) {
    state.points.dropTrees(steps);
    trees = state.points.treesOf(steps);
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
void FrontierSearch::glance() {
  auto atEach = [&](auto find) {
    for (unsigned steps = 1; steps <= options.maxSteps; ++steps)
      if (!problem.deadline.isOver() && !state.isReached(steps))
        addFrom(steps, find(steps));
  };
  if (problem.hasManyRanks())
    atEach([&](unsigned steps) { return products.at(steps); });
  if (problem.mayRelay())
    atEach([&](unsigned steps) {
      return gatherSums.at(steps, knownAt(steps), options.probeWork);
    });
  atEach(
      [&](unsigned steps) { return searches[steps].glance(knownAt(steps)); });
}

/// Few makers keep an order; engines find a little more, at once or not at all.
void FrontierSearch::searchOrdered() {
  bool hasMakers = options.engine == "auto" && !options.k;
  state.bounds.find(options.probeWork);
  for (unsigned steps = 1; steps <= options.maxSteps; ++steps) {
    if (hasMakers && !problem.deadline.isOver() && !state.isReached(steps))
      add(treeSums.at(steps, knownAt(steps)));
    bool isNew = state.points.pointOf(steps) != nullptr;
    if (isNew && !state.isSettled(steps))
      state.bounds.strengthenSums(steps, *knownAt(steps), treeSums.prices());
    // Bounds of any order are seldom met, so little is spent on them.
    uint64_t little = tuned::firstCandidateWork();
    if (knownAt(steps) && !state.isSettled(steps))
      state.bounds.strengthen(steps, *knownAt(steps), 2 * little);
    StepSearch::Effort all{effort(steps, options.probeWork)};
    StepSearch::Effort some{little / 4, 1, 0, /*isOfSteps=*/true};
    bool isWorth = !hasMakers || (isNew && !problem.hasManyRanks());
    if (isWorth && !state.isSettled(steps) && !problem.deadline.isOver())
      add(searches[steps].run(state.bounds.at(steps), knownAt(steps),
                              hasMakers ? some : all));
    report(/*isOver=*/false);
  }
  if (!state.points.all().empty())
    state.bounds.strengthenSumsOfAny(
        state.points.all().rbegin()->second.bandwidth());
}

/// Trees have as many chunks as their fractions need. Where engines are quick,
/// others may meet the bound with fewer.
void FrontierSearch::shorten(uint64_t work) {
  if (problem.isVast() || options.k)
    return;
  for (auto &[steps, point] : state.points.all()) {
    const SharedBound &bound = state.bounds.at(steps);
    if (problem.deadline.isOver() || !bound ||
        bound->value != point.bandwidth())
      continue;
    auto shorter = searches[steps].withFewerChunks(*bound, point, work);
    if (shorter)
      point = problem.original(std::move(*shorter));
  }
}

/// The numbers of steps to look at. A number is left out only for a schedule
/// that is there: a bound alone may be out of reach with fewer steps, and be
/// reached with more.
std::vector<unsigned> FrontierSearch::openSteps(bool isFirst) const {
  std::vector<unsigned> open;
  for (unsigned steps = 1; steps <= options.maxSteps; ++steps)
    if (!state.isSettled(steps) &&
        (isFirst || (searches[steps].isWorthMore() &&
                     !state.isCloseEnough(steps) && !isSpent(steps))))
      open.push_back(steps);
  if (!isFirst && !problem.mayRelay())
    std::ranges::stable_sort(open, std::ranges::greater(), [&](unsigned steps) {
      return state.gapAt(steps);
    });
  return open;
}

/// For all candidates of one number of steps that do not meet the bound, when
/// each gets `work`.
StepSearch::Effort FrontierSearch::effort(unsigned steps, uint64_t work) const {
  bool isWorth = state.isWorthImproving(steps) && !state.isCloseEnough(steps);
  return {work,
          (isWorth || work <= tuned::firstCandidateWork()) &&
                  !problem.mayRelay()
              ? 3u
              : 1u,
          isWorth ? std::min(2 * work, options.stepWork) : 0,
          state.bounds.isOfSteps(steps)};
}

/// True if engines have looked for long enough. On many ranks they seldom find
/// what trees do not, each answer takes long, and there is a question for each
/// number of steps and C: all together must come to an end. On up to 16 ranks
/// they find a little more. So with relays, where bounds are seldom met, and
/// only sums of few chunks are better than those of two all_gathers.
bool FrontierSearch::isSpent(unsigned steps) const {
  bool isFew = !problem.hasManyRanks();
  if ((isFew && !problem.mayRelay()) || options.thorough || options.k)
    return false;
  uint64_t halves = isFew ? 1 : problem.isVast() && knownAt(steps) ? 2 : 4;
  return 2 * spent >= options.manyRanksWork * halves;
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
          trial.point = trial.search.run(state.bounds.at(steps), trial.known,
                                         effort(steps, work));
          return std::move(trial);
        }));
  std::vector<Trial> results;
  for (std::future<Trial> &trial : trials)
    results.push_back(trial.get());
  for (size_t i = 0; i < batch.size(); ++i) {
    unsigned steps = batch[i];
    bool isOver = state.isSettled(steps) || problem.deadline.isOver();
    if (i > 0 && (isOver || isSpent(steps)))
      continue;
    Trial &trial = results[i];
    bool isOptimal = trial.point && state.bounds.at(steps) &&
                     state.bounds.at(steps)->value == trial.point->bandwidth();
    if (trial.known != knownAt(steps) && !isOptimal) {
      addFrom(steps, searches[steps].run(state.bounds.at(steps), knownAt(steps),
                                         effort(steps, work)));
    } else {
      searches[steps] = trial.search;
      addFrom(steps, std::move(trial.point));
    }
    spent += searches[steps].workOfRun();
    if (!state.isSettled(steps))
      add(products.at(steps));
    if (!state.isSettled(steps) && !problem.mayRelay())
      add(gatherSums.at(steps, knownAt(steps), work));
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
    if (state.isSettled(steps))
      continue;
    if (std::optional<Rational> known = knownAt(steps);
        known && (!isFirst || problem.hasManyRanks()))
      // A bound that is met spares all candidates of these steps.
      state.bounds.strengthen(
          steps, *known,
          std::min(work * tuned::turnGrowth(), options.probeWork));
    if (!state.isSettled(steps) && !isSpent(steps))
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
    if (!problem.hasManyRanks() && knownAt(steps) && !state.isSettled(steps) &&
        (isOver || state.isCloseEnough(steps)))
      state.bounds.strengthen(steps, *knownAt(steps), options.probeWork);
}

/// True if more work would not be worth it.
bool FrontierSearch::isDone() const {
  if (problem.deadline.isOver())
    return true;
  std::vector<unsigned> open = openSteps(/*isFirst=*/false);
  if (!state.meetsThroughput())
    return open.empty();
  return std::ranges::none_of(
      open, [&](unsigned steps) { return state.isWorthImproving(steps); });
}

Frontier FrontierSearch::run() {
  state.bounds.findThroughput(options.probeWork);
  if (problem.hasOrder()) {
    searchOrdered();
    report(/*isOver=*/true);
    return conclude();
  }
  glance();
  state.bounds.find(options.probeWork);
  shorten(tuned::firstCandidateWork());
  report(/*isOver=*/false);
  // Trees to some ranks seldom lack anything but a bound.
  if (problem.packsSomeRanks())
    strengthenAll(/*isOver=*/true);
  uint64_t work = std::min(tuned::firstCandidateWork(), options.probeWork);
  searchAll(work, /*isFirst=*/true);
  strengthenAll(/*isOver=*/false);
  while (work < options.probeWork && !isDone()) {
    work = std::min(work * tuned::turnGrowth(), options.probeWork);
    searchAll(work, /*isFirst=*/false);
  }
  strengthenAll(/*isOver=*/true);
  // What meets a bound that is stronger now has not been asked for.
  if (!problem.deadline.isOver())
    searchAll(std::min(tuned::turnGrowth() * tuned::firstCandidateWork(),
                       options.probeWork),
              /*isFirst=*/false);
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
  if (state.bounds.throughput() &&
      state.bounds.throughput()->value > Rational(0))
    return "the bandwidth bound is R/C = " +
           state.bounds.throughput()->value->str();
  return "nothing limits the bandwidth, so that more than " +
         std::to_string(options.maxChunks) + " chunks may be cheaper";
}

std::string FrontierSearch::why(const std::vector<unsigned> &unsettled,
                                bool &complete) const {
  complete = false;
  std::string open = openText(unsettled);
  if (!state.meetsThroughput() && problem.deadline.isOver())
    return "time is over, or the search was interrupted";
  if (!state.meetsThroughput())
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
  if (state.points.hasTrees())
    text += ", or trees of more chunks are";
  return text + ", and the last one meets the bandwidth bound";
}

Frontier FrontierSearch::conclude() {
  Frontier frontier;
  std::vector<unsigned> unsettled;
  for (unsigned steps = 1; steps <= options.maxSteps; ++steps)
    if (!state.isReached(steps) && !state.isReachedByTrees(steps))
      unsettled.push_back(steps);
  std::ranges::copy_if(unsettled, std::back_inserter(frontier.open),
                       [&](unsigned steps) {
                         return !options.k || searches[steps].hasUndecided();
                       });
  frontier.why =
      why(unsettled, frontier.complete) + state.bounds.orderText(unsettled);
  frontier.stopped = !frontier.complete && problem.deadline.isOver();
  for (const StepSearch &search : searches)
    if (!frontier.complete && !search.failure().empty()) {
      frontier.why += "; " + search.failure();
      break;
    }
  frontier.throughput = state.bounds.throughput();
  frontier.bounds = state.bounds.all();
  state.points.moveTo(frontier);
  return frontier;
}

/// True if each rank has what it needs before anything is sent.
static bool needsNothing(const Collective &collective) {
  bool isMoved = false;
  forEachRoute(collective, [&](const std::vector<unsigned> &origins,
                               const std::vector<unsigned> &destinations) {
    isMoved |= !std::ranges::includes(origins, destinations);
  });
  return !isMoved;
}

/// One step without sends, which nothing improves: more chunks would make R/C
/// smaller, and no time shorter.
static Frontier withoutSends(const Collective &collective) {
  Schedule schedule;
  schedule.steps.push_back({1, {}});
  Frontier frontier;
  frontier.points.push_back({collective.chunks(), 1, 1,
                             LazySchedule(std::move(schedule)), "none", 0,
                             nullptr, /*optimal=*/true});
  frontier.complete = true;
  frontier.why = "no rank needs what it does not have";
  return frontier;
}

Result<Frontier> sccl::searchFrontier(
    const Topology &topology, const CollectiveFamily &family,
    const FrontierOptions &options,
    const std::function<void(const FrontierPoint &)> &progress) {
  Result<Collective> smallest = smallestCollective(family, topology.numRanks());
  if (!smallest)
    return Error{smallest.error()};
  if (std::optional<Error> error = checkOptions(options, topology, *smallest))
    return *error;
  // Finds out whether every chunk has a path to its destinations.
  if (auto instance = Instance::make(topology, *smallest, 1, 1); !instance)
    return Error{instance.error()};
  if (needsNothing(*smallest)) {
    Frontier frontier = withoutSends(*smallest);
    if (progress)
      progress(frontier.points.front());
    return frontier;
  }
  FrontierProblem problem(topology, family, options, *smallest);
  return FrontierSearch(problem, progress).run();
}
