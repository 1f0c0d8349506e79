//===- Advice.cpp - Which schedule for which size -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Advice/Advice.h"

#include "Adviser.h"
#include "Candidates.h"
#include "InputSums.h"
#include "OneOrder.h"
#include "SwitchPrograms.h"
#include "TimedBound.h"

#include "sccl/ABI/LLWord.h"
#include "sccl/Pipelines/Ways.h"

#include <algorithm>
#include <climits>
#include <limits>
#include <map>
#include <set>

using namespace sccl;
using advice::Adviser;

std::vector<LoweringWay> sccl::usualWays(LoweringOptions base,
                                         const ReductionSet &set) {
  base.sumOrder = orderFor(base, set);
  bool fitsWords = std::ranges::all_of(set.elements, [](Element element) {
    return elementType(element).bytes <= llDataBytes;
  });
  std::vector<LoweringWay> ways;
  for (const char *name : {"push", "eager", "scratch", "ll"})
    if (LoweringOptions options = optionsOf(*findWay(name), base);
        fitsWords || !options.ll)
      ways.push_back({name, std::move(options)});
  return ways;
}

double Candidate::estimate(double unitTime, double bytes,
                           unsigned inPieces) const {
  auto steps = double(implementation.schedule.steps.size());
  auto with = [&](double flag, double width) {
    double piece = width * bytes * unitTime / inPieces;
    double apart =
        std::max({load * piece, latency / (steps * order.distance), flag});
    return latency + steps * flag + serialLoad * piece +
           apart * (inPieces - 1.0);
  };
  // With flags, or as LL words, of twice the bytes.
  return flagTime > 0 ? std::min(with(flagTime, 1), with(0, 2)) : with(0, 1);
}

/// Sizes with bounds, and no advice yet.
static Result<Advice> prepare(const Fabric &fabric,
                              const CollectiveFamily &family,
                              const std::vector<uint64_t> &sizes,
                              advice::Found found, const Deadline &deadline,
                              const std::atomic<bool> *interrupt) {
  constexpr uint64_t work = 2'000'000;
  Result<Collective> smallest =
      smallestCollective(family, fabric.topology.numRanks());
  if (!smallest)
    return Error{smallest.error()};
  Advice advice{std::move(found.frontier),
                std::move(found.candidates),
                {},
                {},
                {},
                {},
                ""};
  const SearchLimits limits{deadline.remainingLimit(), work, interrupt};
  SharedBound &bound = advice.frontier.throughput;
  if (!fabric.topology.switches().empty()) {
    Result<LowerBound> proved =
        throughputBound(fabric.topology, *smallest, {limits});
    bound = proved ? std::make_shared<LowerBound>(*proved) : nullptr;
    // Proofs are of what each send takes by itself.
    for (Candidate &candidate : advice.candidates)
      candidate.bound.reset();
  }
  std::optional<Rational> throughput;
  if (bound)
    throughput = bound->value;
  advice.bound = machineTimeBound(fabric, *smallest, throughput, limits);
  for (uint64_t bytes : sizes)
    advice.sizes.push_back({bytes, 0, "",
                            std::numeric_limits<double>::infinity(),
                            advice.bound.microseconds(double(bytes))});
  return advice;
}

/// Better bounds where there is a gap, from linear programs, of the sizes that
/// were asked for first.
static void improveBounds(const Fabric &fabric, const CollectiveFamily &family,
                          const Deadline &deadline,
                          const std::atomic<bool> *interrupt, Advice &advice) {
  constexpr double wide = 0.02;
  constexpr uint64_t work = 5'000'000;
  Result<Collective> smallest =
      smallestCollective(family, fabric.topology.numRanks());
  if (!smallest || deadline.isOver())
    return;
  Deadline limit({deadline.remainingLimit(), work, interrupt});
  const Fabric &own = fabric.forBounds();
  // Of these the linear programs know nothing.
  if (!own.topology.switches().empty())
    return;
  const Timing &timing = own.timing;
  advice::TimedBound flags(
      own.topology, *smallest,
      timing.withHops(timing.leastTime() + timing.flagTime()));
  std::optional<advice::TimedBound> words;
  if (advice.bound.words)
    words.emplace(own.topology, *smallest, timing.withHops(timing.leastTime()));
  for (SizeAdvice &size : advice.sizes) {
    if (size.gap() <= wide)
      continue;
    auto bytes = double(size.bytes);
    // The lesser of the two counts, so what the other is beyond does not.
    auto improve = [&](advice::TimedBound &timed, double times,
                       const TimeBound::Kind &known, double enough) {
      double least = known.microseconds(bytes);
      if (least >= enough)
        return least;
      double end = known.delivery;
      return timed.leastTime(times * bytes, least - end, enough - end, limit) +
             end;
    };
    size.bound = size.microseconds;
    if (words)
      size.bound = std::min(
          size.bound, improve(*words, 2, *advice.bound.words, size.bound));
    size.bound =
        std::min(size.bound, improve(flags, 1, advice.bound.flags, size.bound));
  }
}

/// What differs among programs. The launch is added in the end: what is worth
/// trying is told by how much the rest differs.
static Fabric withoutLaunch(Fabric fabric) {
  fabric.timing.launchTime = 0;
  if (fabric.bounding)
    fabric.bounding = std::make_shared<Fabric>(withoutLaunch(*fabric.bounding));
  return fabric;
}

static void addLaunch(double launch, std::vector<SizeAdvice> &sizes) {
  for (SizeAdvice &size : sizes) {
    size.microseconds += launch;
    size.bound += launch;
  }
}

/// The blocks that a program for `schedule` has at least: one for each link
/// that a rank sends over, and one for the rank itself.
static unsigned leastBlocks(const Schedule &schedule) {
  std::map<unsigned, std::set<unsigned>> peers;
  for (const Step &step : schedule.steps)
    for (const Send &send : step.sends)
      peers[send.src].insert(send.dst);
  size_t most = 0;
  for (const auto &[rank, own] : peers)
    most = std::max(most, own.size());
  return unsigned(most + 1);
}

/// Leaves out candidates whose programs have more than `smBudget` blocks at
/// least. Fails if all have, and there are some.
static std::optional<Error> keepWithin(unsigned smBudget,
                                       std::vector<Candidate> &candidates) {
  if (smBudget == 0 || candidates.empty())
    return std::nullopt;
  unsigned least = UINT_MAX;
  std::erase_if(candidates, [&](const Candidate &candidate) {
    unsigned blocks = leastBlocks(candidate.implementation.schedule);
    least = std::min(least, blocks);
    return blocks > smBudget;
  });
  if (!candidates.empty())
    return std::nullopt;
  return Error{"sm-budget is " + std::to_string(smBudget) +
               ", but all programs need at least " + std::to_string(least) +
               " multiprocessors, for a block of each channel of a rank"};
}

/// True if one of `candidates` has a load that is at most little above that
/// bound of any order.
static bool isNearBound(const std::vector<Candidate> &candidates,
                        const SharedBound &bound) {
  constexpr double little = 1.25;
  return std::ranges::any_of(candidates, [&](const Candidate &candidate) {
    return bound && bound->value &&
           candidate.load <= little * bound->value->toDouble();
  });
}

/// The candidates whose programs add up in the order that `ways` ask for.
/// Schedules of any order may keep a tree, as those of boxes do; where they are
/// far from the bound, others are searched that follow it. So are some of a
/// tree where ranks are to agree, and none of any order lets them.
static Result<advice::Found>
findInOrder(mlir::MLIRContext &context, const Fabric &fabric,
            const CollectiveFamily &family, FrontierOptions options,
            const LoweringOptions &way, const Deadline &deadline) {
  const bool isOneTree = way.sumOrder.isTree();
  bool areLeftOut = false;
  auto find = [&]() -> Result<advice::Found> {
    Result<advice::Found> found =
        advice::findCandidates(fabric, family, options, deadline);
    if (!found)
      return found;
    if (contractFor(way).oneRounding)
      llvm::append_range(found->candidates,
                         advice::inputSums(fabric, family, options, deadline));
    if (std::optional<Error> error =
            keepWithin(way.smBudget, found->candidates))
      return *error;
    if (std::optional<Error> error = advice::keepInOneOrder(
            context, fabric.topology, way, deadline, found->candidates)) {
      bool mayKeepOther = isOneTree || !contractFor(way).oneRounding;
      if (!mayKeepOther || options.order.isTree())
        return *error;
      areLeftOut = true;
      found->candidates.clear();
    }
    return found;
  };
  Result<advice::Found> found = find();
  if (!found || (!isOneTree && !areLeftOut) ||
      isNearBound(found->candidates, found->frontier.throughput))
    return found;
  options.order = isOneTree ? way.sumOrder : SumOrder(SumOrder::Tree);
  Result<advice::Found> ordered = find();
  if (!ordered)
    return found->candidates.empty() ? ordered : found;
  for (Candidate &candidate : ordered->candidates)
    if (std::ranges::none_of(found->candidates, [&](const Candidate &other) {
          return other.pieces == candidate.pieces &&
                 other.implementation.schedule ==
                     candidate.implementation.schedule;
        }))
      found->candidates.push_back(std::move(candidate));
  if (isOneTree) // else its bounds are of what was not asked for
    found->frontier = std::move(ordered->frontier);
  return found;
}

/// Lets switches copy and reduce where that is faster, and keeps what is best
/// without them: some chips have no code for it.
static std::optional<Error>
useSwitches(const Fabric &fabric, const CollectiveFamily &family,
            const FrontierOptions &options, const LoweringOptions &way,
            const Deadline &deadline, Adviser &adviser, Advice &advice) {
  const Collective &collective =
      advice.candidates.front().implementation.collective;
  if (!advice::maySwitchesDo(fabric, collective, way))
    return std::nullopt;
  std::vector<SizeAdvice> before = advice.sizes;
  std::vector<Candidate> found =
      advice::switchedCandidates(fabric, family, options, deadline);
  if (std::optional<Error> error = keepWithin(way.smBudget, found);
      error || found.empty())
    return std::nullopt;
  if (std::optional<Error> error = adviser.tryInNetwork(std::move(found)))
    return error;
  if (std::ranges::any_of(advice.sizes, &SizeAdvice::isInNetwork))
    advice.withoutSwitches = std::move(before);
  return std::nullopt;
}

static Result<Advice>
adviseWith(mlir::MLIRContext &context, const Fabric &whole,
           const CollectiveFamily &family, const std::vector<uint64_t> &sizes,
           const FrontierOptions &options, const std::vector<LoweringWay> &ways,
           advice::Lowers lowers) {
  const Fabric fabric = withoutLaunch(whole);
  const LoweringOptions &way = ways.front().options;
  const SearchLimits limits{options.timeoutSeconds, 0,
                            options.solver.interrupt};
  Deadline deadline(limits);
  Result<advice::Found> found = findInOrder(
      context, advice::withoutSwitches(fabric), family, options, way, deadline);
  if (!found)
    return Error{found.error()};
  Result<Advice> advice = prepare(fabric, family, sizes, std::move(*found),
                                  deadline, options.solver.interrupt);
  if (!advice)
    return advice;
  if (advice->candidates.empty()) {
    if (!advice->frontier.stopped)
      return Error{"no schedule was found: " + advice->frontier.why};
    advice->stopped = advice->frontier.why;
    return advice;
  }
  Adviser adviser(context, fabric, ways, limits, deadline, *advice);
  if (std::optional<Error> error = adviser.run(lowers))
    return *error;
  auto findTakeovers = [&]() {
    return lowers == advice::Lowers::Nothing ? std::nullopt
                                             : adviser.findTakeovers();
  };
  if (std::optional<Error> error = findTakeovers())
    return *error;
  if (fabric.messages) {
    advice->byWrites = advice->sizes;
    if (std::optional<Error> error = adviser.tryMessages())
      return *error;
  } else if (std::optional<Error> error = useSwitches(
                 fabric, family, options, way, deadline, adviser, *advice))
    return *error;
  if (!advice->withoutSwitches.empty())
    if (std::optional<Error> error = findTakeovers())
      return *error;
  improveBounds(fabric, family, deadline, options.solver.interrupt, *advice);
  std::ranges::sort(advice->sizes, {}, &SizeAdvice::bytes);
  advice->bound.launch = whole.timing.launchTime;
  addLaunch(whole.timing.launchTime, advice->sizes);
  addLaunch(whole.timing.launchTime, advice->withoutSwitches);
  addLaunch(whole.timing.launchTime, advice->byWrites);
  return advice;
}

Result<Advice> sccl::advise(mlir::MLIRContext &context, const Fabric &fabric,
                            const CollectiveFamily &family,
                            const std::vector<uint64_t> &sizes,
                            const FrontierOptions &options,
                            const std::vector<LoweringWay> &ways,
                            bool lowersAll) {
  return adviseWith(context, fabric, family, sizes, options, ways,
                    lowersAll ? advice::Lowers::All : advice::Lowers::Short);
}

Result<Advice> sccl::adviseByDrafts(mlir::MLIRContext &context,
                                    const Fabric &fabric,
                                    const CollectiveFamily &family,
                                    const std::vector<uint64_t> &sizes,
                                    const FrontierOptions &options,
                                    const std::vector<LoweringWay> &ways) {
  return adviseWith(context, fabric, family, sizes, options, ways,
                    advice::Lowers::Nothing);
}

Result<std::vector<SizeAdvice>>
sccl::timesOf(mlir::MLIRContext &context, const Fabric &whole,
              const Implementation &implementation,
              const std::vector<uint64_t> &sizes, std::vector<LoweringWay> ways,
              const SearchLimits &limits) {
  const Fabric fabric = withoutLaunch(whole);
  if (!advice::isInOneOrder(context, fabric.topology, implementation,
                            ways.front().options))
    for (LoweringWay &way : ways) {
      way.options.sumOrder = SumOrder::Any;
      way.options.oneRounding = false;
    }
  Deadline deadline(limits);
  Advice advice;
  advice.candidates = advice::candidatesOf(implementation, fabric);
  for (uint64_t bytes : sizes)
    advice.sizes.push_back(
        {bytes, 0, "", std::numeric_limits<double>::infinity(), 0});
  Adviser adviser(context, fabric, ways, limits, deadline, advice);
  if (std::optional<Error> error = adviser.run())
    return *error;
  for (SizeAdvice &size : advice.sizes)
    size.microseconds += whole.timing.launchTime;
  return std::move(advice.sizes);
}

Result<std::vector<SizeAdvice>>
sccl::timesByMessages(mlir::MLIRContext &context, const Fabric &whole,
                      Advice advice, const LoweringWay &way,
                      const SearchLimits &limits) {
  const Fabric fabric = withoutLaunch(whole);
  const std::vector<LoweringWay> ways{way};
  const size_t numSizes = advice.sizes.size();
  Deadline deadline(limits);
  Adviser adviser(context, fabric, ways, limits, deadline, advice);
  if (std::optional<Error> error = adviser.tryMessages())
    return *error;
  if (advice.sizes.size() < numSizes)
    return Error{"messages: " + advice.stopped};
  addLaunch(whole.timing.launchTime, advice.sizes);
  return std::move(advice.sizes);
}
