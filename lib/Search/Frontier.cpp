//===- Frontier.cpp - The Pareto frontier of a collective -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First the bounds, one per number of steps: they cost milliseconds and say at
// which numbers of steps a cheaper schedule can exist at all. Then the
// schedules that meet them.
//
//===----------------------------------------------------------------------===//

#include "sccl/Search/Frontier.h"

#include "sccl/Model/Instance.h"
#include "sccl/Optimize/Deadline.h"

#include <algorithm>
#include <future>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

using namespace sccl;

Result<Collective> sccl::smallestCollective(const CollectiveFamily &family,
                                            unsigned numRanks) {
  unsigned chunks = sendsOneSegmentPerRank(family.kind) ? numRanks : 1;
  return Collective::make(family.kind, numRanks, chunks, family.root);
}

namespace {
/// One (C, R) to try at some number of steps.
struct Candidate {
  unsigned chunks, rounds;
  Rational bandwidth() const { return Rational(rounds, chunks); }
};

class FrontierSearch {
public:
  FrontierSearch(const Topology &topology, const CollectiveFamily &family,
                 const FrontierOptions &options, const Collective &smallest)
      : topology(topology), family(family), options(options),
        smallest(smallest),
        deadline(SearchLimits{.timeoutSeconds = options.timeoutSeconds,
                              .interrupt = options.solver.interrupt}) {}

  Frontier run(const std::function<void(const FrontierPoint &)> &progress) {
    findBounds();
    unsigned s = 0;
    while (!deadline.expired() && !meetsThroughput()) {
      std::vector<unsigned> batch = nextSteps(s);
      if (batch.empty())
        break;
      s = batch.back();
      std::vector<std::future<std::optional<FrontierPoint>>> searches;
      for (unsigned steps : batch)
        searches.push_back(std::async(
            batch.size() > 1 ? std::launch::async : std::launch::deferred,
            [this, steps] { return searchAt(steps); }));
      for (size_t i = 0; i < batch.size(); ++i) {
        if (std::optional<FrontierPoint> point = searches[i].get())
          add(std::move(*point), progress);
        if (!isSettled(batch[i]))
          unsettled.push_back(batch[i]);
      }
    }
    conclude();
    return std::move(frontier);
  }

private:
  //===--- Bounds ---===//

  void findBounds() {
    LowerBoundOptions limits;
    limits.maxWork = options.probeWork;
    limits.timeoutSeconds = deadline.remainingLimit();
    limits.interrupt = options.solver.interrupt;
    if (Result<LowerBound> any = throughputBound(topology, smallest, limits))
      frontier.throughput = *any;
    bounds.resize(options.maxSteps + 1);
    for (unsigned s = 1; s <= options.maxSteps && !deadline.expired(); ++s) {
      announce({s});
      LowerBoundOptions boundOptions = limits;
      boundOptions.timeoutSeconds = deadline.remainingLimit();
      // What fewer steps can do anyway need not be proved again.
      if (frontier.throughput)
        boundOptions.target = frontier.throughput->value;
      Result<LowerBound> bound =
          lowerBound(topology, smallest, s, boundOptions);
      if (bound)
        bounds[s] = *bound;
      if (!frontier.throughput || isImpossible(s) ||
          (bound && *bound->value > *frontier.throughput->value))
        continue;
      if (!bound || *bound->value < *frontier.throughput->value)
        bounds[s] = frontier.throughput;
      if (bound) {
        // More steps allow more, so their bounds would be no better.
        std::fill(bounds.begin() + s + 1, bounds.end(), frontier.throughput);
        return;
      }
    }
  }

  void announce(const FrontierActivity &activity) const {
    if (options.watch)
      options.watch(activity);
  }

  bool isImpossible(unsigned s) const { return bounds[s] && !bounds[s]->value; }

  /// True if no schedule of `s` steps is cheaper than the known ones.
  bool isSettled(unsigned s) {
    if (isImpossible(s))
      return true;
    std::optional<Rational> known = cheapest();
    return known && bounds[s] && *known <= *bounds[s]->value;
  }

  /// The next numbers of steps above `s` to look at, one for each job. A number
  /// is left out only for a schedule that is there: a bound alone may be out of
  /// reach with fewer steps, and be reached with more.
  std::vector<unsigned> nextSteps(unsigned s) {
    std::vector<unsigned> batch;
    while (++s <= options.maxSteps && batch.size() < std::max(options.jobs, 1u))
      if (!isSettled(s))
        batch.push_back(s);
    return batch;
  }

  //===--- Schedules ---===//

  /// The (C, R) to try at `s` steps, cheapest first; of equal ones the smallest
  /// first. Without k, the smallest R that the bound allows for each C.
  std::vector<Candidate> candidatesAt(unsigned s) const {
    unsigned unit = smallest.chunks();
    unsigned maxChunks = std::max(options.maxChunks, unit);
    std::vector<Candidate> candidates;
    for (unsigned c = unit; c <= maxChunks; c += unit) {
      uint64_t first = leastRounds(s, c);
      uint64_t last = options.k ? s + *options.k : first;
      for (uint64_t r = first;
           r <= std::min<uint64_t>(last, Instance::maxRounds); ++r)
        candidates.push_back({c, unsigned(r)});
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate &a, const Candidate &b) {
                       return a.bandwidth() < b.bandwidth();
                     });
    return candidates;
  }

  /// The smallest R for `s` steps and `chunks` chunks that the bound allows.
  uint64_t leastRounds(unsigned s, unsigned chunks) const {
    if (!bounds[s] || !bounds[s]->value)
      return s;
    const Rational &floor = *bounds[s]->value;
    uint64_t scaled = uint64_t(floor.numerator()) * chunks;
    uint64_t rounds = (scaled + floor.denominator() - 1) / floor.denominator();
    return std::max<uint64_t>(s, rounds);
  }

  bool meetsBound(unsigned s, const Candidate &candidate) const {
    return bounds[s] && candidate.bandwidth() == *bounds[s]->value;
  }

  /// The candidates that meet the bound; the smallest are the easiest.
  std::vector<Candidate> meetingAt(unsigned s) const {
    constexpr size_t maxTried = 3;
    std::vector<Candidate> meeting;
    for (const Candidate &candidate : candidatesAt(s))
      if (meeting.size() < maxTried && meetsBound(s, candidate))
        meeting.push_back(candidate);
    return meeting;
  }

  std::optional<FrontierPoint> searchAt(unsigned s) {
    std::vector<Candidate> candidates = candidatesAt(s);
    if (options.k)
      return searchInOrder(s, candidates, options.engine);
    // What meets the bound settles the matter.
    std::vector<Candidate> meeting = meetingAt(s), others;
    if (std::optional<FrontierPoint> point = searchQuickly(s))
      return point;
    if (std::optional<FrontierPoint> point = searchBriefly(s, meeting))
      return point;
    bool isBrief = !options.thorough && canMeetThroughputAfter(s);
    if (!isBrief)
      if (std::optional<FrontierPoint> point =
              searchInOrder(s, meeting, options.engine))
        return point;
    std::ranges::copy_if(candidates, std::back_inserter(others),
                         [&](const Candidate &c) { return !meetsBound(s, c); });
    return searchFromEasySide(s, std::move(others), isBrief);
  }

  /// The cheapest of `candidates` that is found, the easiest first, as long as
  /// time allows, or until one was not found quickly.
  std::optional<FrontierPoint>
  searchFromEasySide(unsigned s, std::vector<Candidate> candidates,
                     bool isBrief) {
    constexpr unsigned moreRounds = 4;
    constexpr uint64_t briefWork = 100'000;
    // If the bound is far off, nothing that is near it exists.
    unsigned unit = smallest.chunks();
    for (unsigned more = 1; more <= moreRounds; ++more)
      candidates.push_back({unit, unsigned(leastRounds(s, unit)) + more});
    // Of equal ones the smallest first, as before.
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate &a, const Candidate &b) {
                       return a.bandwidth() > b.bandwidth();
                     });
    SolverOptions solver = probeOptions();
    if (isBrief)
      solver.maxWork = briefWork;
    uint64_t used = 0;
    std::optional<FrontierPoint> best;
    for (const Candidate &candidate : candidates) {
      if (deadline.expired() || used > options.stepWork)
        break;
      if (isDominated(candidate) ||
          (best && best->bandwidth() <= candidate.bandwidth()))
        continue;
      if (auto point =
              tryCandidate(s, candidate, options.engine, solver, &used))
        best = std::move(point);
      else if (isBrief)
        break;
    }
    return best;
  }

  /// The first of the candidates that meet the bound and can be packed from
  /// trees. Other engines find an all_reduce only after a long search, if at
  /// all, and may spend it on a candidate whose multiple is easy; for trees
  /// from one root they are faster where all steps have a single round. Numbers
  /// of steps below `s` ask for it, too.
  std::optional<FrontierPoint> searchQuickly(unsigned s) {
    {
      std::lock_guard lock(mutex);
      if (auto known = packed.find(s); known != packed.end())
        return known->second;
    }
    std::optional<FrontierPoint> point = packAt(s);
    std::lock_guard lock(mutex);
    return packed.try_emplace(s, std::move(point)).first->second;
  }

  std::optional<FrontierPoint> packAt(unsigned s) {
    bool isTree = family.kind == CollectiveKind::Broadcast ||
                  family.kind == CollectiveKind::Reduce;
    bool isPacked = isTree || family.kind == CollectiveKind::AllReduce;
    if (options.engine != "auto" || !isPacked || !canPack(s))
      return std::nullopt;
    std::vector<Candidate> candidates = meetingAt(s);
    if (candidates.empty() || (isTree && candidates.front().rounds == s))
      return std::nullopt;
    return searchInOrder(s, candidates, packing);
  }

  /// True if the engine is there and takes the topology.
  bool canPack(unsigned s) const {
    Result<Collective> broadcast =
        Collective::make(CollectiveKind::Broadcast, topology.numRanks(), 1, 0);
    return std::ranges::any_of(
        solverBackends(), [&](const std::unique_ptr<SolverBackend> &backend) {
          return backend->name() == packing && broadcast &&
                 backend->whyNot({topology, *broadcast, s, s}).empty();
        });
  }

  /// True if packing finds a schedule of more steps that meets the bandwidth
  /// bound, so that the frontier has an end in any case.
  bool canMeetThroughputAfter(unsigned s) {
    if (!frontier.throughput || !frontier.throughput->value)
      return false;
    while (++s <= options.maxSteps)
      if (bounds[s] && bounds[s]->value == frontier.throughput->value)
        return searchQuickly(s).has_value();
    return false;
  }

  /// The smallest of `candidates`, if it has a schedule that takes no long
  /// search.
  std::optional<FrontierPoint>
  searchBriefly(unsigned s, const std::vector<Candidate> &candidates) {
    constexpr uint64_t briefWork = 1'000'000;
    SolverOptions brief = probeOptions();
    brief.maxWork = briefWork;
    if (candidates.empty() || family.kind != CollectiveKind::AllReduce)
      return std::nullopt;
    return tryCandidate(s, candidates.front(), options.engine, brief);
  }

  /// The first of `candidates` that has a schedule.
  std::optional<FrontierPoint>
  searchInOrder(unsigned s, const std::vector<Candidate> &candidates,
                std::string_view engine) {
    for (const Candidate &candidate : candidates) {
      if (deadline.expired())
        break;
      if (std::optional<FrontierPoint> point =
              tryCandidate(s, candidate, engine, probeOptions()))
        return point;
    }
    return std::nullopt;
  }

  /// For one (C, S, R), which the bounds allow.
  SolverOptions probeOptions() const {
    SolverOptions solver = options.solver;
    solver.maxWork = options.probeWork;
    solver.useBounds = false;
    return solver;
  }

  /// A schedule for `candidate`, unless fewer steps do as well.
  std::optional<FrontierPoint>
  tryCandidate(unsigned s, const Candidate &candidate, std::string_view engine,
               SolverOptions solver, uint64_t *used = nullptr) {
    if (isDominated(candidate))
      return std::nullopt;
    Result<Collective> collective = Collective::make(
        family.kind, topology.numRanks(), candidate.chunks, family.root);
    if (!collective)
      return std::nullopt;
    Result<Instance> instance =
        Instance::make(topology, std::move(*collective), s, candidate.rounds);
    if (!instance)
      return std::nullopt;
    announce({s, candidate.chunks, candidate.rounds});
    solver.timeoutSeconds = deadline.remainingLimit();
    SynthesisResult result = synthesize(*instance, solver, engine);
    if (used)
      *used += result.work;
    if (auto *satisfied = std::get_if<Satisfied>(&result.outcome))
      return makePoint(s, candidate, std::move(satisfied->schedule), result);
    if (auto *failed = std::get_if<Failed>(&result.outcome))
      noteFailure(failed->message);
    if (std::holds_alternative<Unknown>(result.outcome))
      noteUndecided(s);
    return std::nullopt;
  }

  bool isDominated(const Candidate &candidate) {
    std::optional<Rational> known = cheapest();
    return known && *known <= candidate.bandwidth();
  }

  FrontierPoint makePoint(unsigned s, const Candidate &candidate,
                          Schedule schedule,
                          const SynthesisResult &result) const {
    FrontierPoint point{candidate.chunks, s,
                        candidate.rounds, std::move(schedule),
                        result.engine,    result.seconds,
                        bounds[s],        false};
    point.optimal = bounds[s] && bounds[s]->value == point.bandwidth();
    return point;
  }

  void add(FrontierPoint point,
           const std::function<void(const FrontierPoint &)> &progress) {
    if (auto known = cheapest(); known && *known <= point.bandwidth())
      return;
    {
      std::lock_guard lock(mutex);
      cheapestKnown = point.bandwidth();
    }
    if (progress)
      progress(point);
    frontier.points.push_back(std::move(point));
  }

  //===--- Conclusion ---===//

  void noteFailure(const std::string &message) {
    std::lock_guard lock(mutex);
    if (failure.empty())
      failure = message;
  }

  void noteUndecided(unsigned s) {
    std::lock_guard lock(mutex);
    undecided.insert(s);
  }

  /// R/C of the last point.
  std::optional<Rational> cheapest() {
    std::lock_guard lock(mutex);
    return cheapestKnown;
  }

  bool meetsThroughput() {
    return frontier.throughput && cheapest() == frontier.throughput->value;
  }

  /// "at S = 3, 4 ..." for the steps where the bound has not been reached; with
  /// k, those where some C and R were not decided.
  std::string openSteps() const {
    std::string text;
    for (unsigned s : unsettled)
      if (!options.k || undecided.contains(s))
        text += (text.empty() ? "" : ", ") + std::to_string(s);
    if (text.empty())
      return "";
    return "at S = " + text +
           " there may be cheaper schedules than those found";
  }

  /// How much cheaper schedules of more steps or chunks can be.
  std::string openBandwidth() const {
    if (frontier.throughput && frontier.throughput->value > Rational(0))
      return "the bandwidth bound is R/C = " +
             frontier.throughput->value->str();
    return "nothing limits the bandwidth, so that more than " +
           std::to_string(options.maxChunks) + " chunks may be cheaper";
  }

  void conclude() {
    if (!meetsThroughput() && deadline.expired()) {
      frontier.why = "time is over, or the search was interrupted";
    } else if (!meetsThroughput()) {
      frontier.why = "no more than " + std::to_string(options.maxSteps) +
                     (options.maxSteps == 1 ? " step was" : " steps were") +
                     " looked at";
      frontier.why += "; " + openBandwidth();
      if (std::string open = openSteps(); !open.empty())
        frontier.why += "; " + open;
    } else if (options.k) {
      frontier.why = "the bandwidth bound is met; R is at most S + " +
                     std::to_string(*options.k);
      if (std::string open = openSteps(); !open.empty())
        frontier.why += "; " + open;
    } else if (!unsettled.empty()) {
      frontier.why = "the bandwidth bound is met, but " + openSteps();
    } else {
      frontier.complete = true;
      frontier.why = "every point is optimal for its steps, and the last one "
                     "meets the bandwidth bound";
    }
    frontier.stopped = !frontier.complete && deadline.expired();
    frontier.bounds = std::move(bounds);
    if (!frontier.complete && !failure.empty())
      frontier.why += "; " + failure;
  }

  static constexpr std::string_view packing = "packing";

  const Topology &topology;
  const CollectiveFamily &family;
  const FrontierOptions &options;
  const Collective &smallest;
  const Deadline deadline;
  std::vector<std::optional<LowerBound>> bounds; ///< by steps
  /// Guards the next four, which searches that run at once share.
  std::mutex mutex;
  std::optional<Rational> cheapestKnown;
  std::string failure;          ///< of an engine, if there was one
  std::set<unsigned> undecided; ///< steps at which an engine gave up
  /// What packing found, by steps.
  std::map<unsigned, std::optional<FrontierPoint>> packed;
  /// Numbers of steps at which the bound is below what was found.
  std::vector<unsigned> unsettled;
  Frontier frontier;
};
} // namespace

Result<Frontier> sccl::searchFrontier(
    const Topology &topology, const CollectiveFamily &family,
    const FrontierOptions &options,
    const std::function<void(const FrontierPoint &)> &progress) {
  if (options.maxSteps < 1 || options.maxSteps > FrontierOptions::maxMaxSteps)
    return Error{"the largest number of steps is " +
                 std::to_string(options.maxSteps) +
                 ", expected between 1 and " +
                 std::to_string(FrontierOptions::maxMaxSteps)};
  if (options.maxChunks < 1 ||
      options.maxChunks > FrontierOptions::maxMaxChunks)
    return Error{"the largest number of chunks is " +
                 std::to_string(options.maxChunks) +
                 ", expected between 1 and " +
                 std::to_string(FrontierOptions::maxMaxChunks)};
  if (options.k && *options.k > FrontierOptions::maxMaxSteps)
    return Error{"k is " + std::to_string(*options.k) + ", the limit is " +
                 std::to_string(FrontierOptions::maxMaxSteps)};
  Result<Collective> smallest = smallestCollective(family, topology.numRanks());
  if (!smallest)
    return Error{smallest.error()};
  // Finds out whether every chunk has a path to its destinations.
  Result<Instance> reachable = Instance::make(topology, *smallest, 1, 1);
  if (!reachable)
    return Error{reachable.error()};
  FrontierSearch search(topology, family, options, *smallest);
  return search.run(progress);
}
