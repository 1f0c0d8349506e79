//===- Pareto.cpp - sccl pareto -------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "CollectiveChoice.h"
#include "Driver.h"
#include "FrontierReport.h"
#include "Interrupt.h"
#include "MachineFlags.h"
#include "Output.h"
#include "Progress.h"

#include "sccl/Model/Symmetry.h"
#include "sccl/Options/LoweringOptions.h"
#include "sccl/Solver/Pipelined.h"

#include "llvm/Support/FileSystem.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

cl::SubCommand &driver::paretoCommand() {
  static cl::SubCommand command(
      "pareto",
      "Find the Pareto-optimal schedules. Exit codes: 0 the least R/C "
      "is known for each S looked at; 1 bad input; 3 for some S it is "
      "open, for whatever reason");
  return command;
}
static cl::opt<std::string> collectiveSpelling("collective",
                                               cl::desc(collectiveHelp),
                                               cl::value_desc(collectiveValue),
                                               cl::Required,
                                               cl::sub(paretoCommand()));
static cl::list<std::string> groups("group", cl::desc(groupHelp),
                                    cl::value_desc("RANKS"),
                                    cl::sub(paretoCommand()));
static cl::list<unsigned>
    chunks("chunks", cl::CommaSeparated, cl::value_desc("C0,C1,..."),
           cl::desc("For all_gatherv: chunks of each rank, or their ratio"),
           cl::sub(paretoCommand()));
static cl::opt<std::string>
    root("root",
         cl::desc("Root rank, or all: one of each orbit; with --group its "
                  "place in each group"),
         cl::value_desc("R|all"), usually("0"), cl::sub(paretoCommand()));
static cl::opt<unsigned> maxSteps("max-steps",
                                  cl::desc("Largest S (default: 8)"),
                                  cl::init(8), cl::sub(paretoCommand()));
static cl::opt<unsigned>
    maxChunks("max-chunks",
              cl::desc("Largest C asked for (default: 96, more where links "
                       "pass more than 16 chunks in a round or ranks of no "
                       "group relay), in the unit that all bandwidths are "
                       "multiples of"),
              cl::init(96), cl::sub(paretoCommand()), cl::Hidden);
static cl::opt<unsigned> k("k",
                           cl::desc("Only R <= S + k: the paper's procedure"),
                           cl::sub(paretoCommand()), cl::Hidden);
static cl::opt<unsigned> jobs("jobs", cl::desc("Searches that run at once"),
                              usually(1), cl::sub(paretoCommand()));
static cl::opt<double>
    timeout("timeout", cl::desc("Limit in seconds, for all roots together"),
            cl::sub(paretoCommand()));
static cl::opt<unsigned>
    memory("memory", cl::desc("Limit of one search in MiB (default: 2048)"),
           cl::init(2048), cl::sub(paretoCommand()), cl::Hidden);
static cl::opt<std::string> engine("engine", cl::desc("Engine, or auto"),
                                   usually("auto"), cl::sub(paretoCommand()));
static cl::opt<bool>
    thorough("thorough",
             cl::desc("Search for long even before a known end of a frontier"),
             cl::sub(paretoCommand()), cl::Hidden);
static cl::opt<bool>
    pipelined("pipelined",
              cl::desc("List the schedules of the least load, too, whose "
                       "pieces follow each other: for each S, and at last for "
                       "any"),
              cl::sub(paretoCommand()));
static cl::opt<SumOrder> order("order", cl::desc(scheduleOrderHelp),
                               usually(SumOrder()), cl::sub(paretoCommand()));
static cl::opt<bool> json("json", cl::desc("Print results as JSON"),
                          cl::sub(paretoCommand()));
static cl::opt<std::string>
    directory("o", cl::desc("Write schedules and certificates here"),
              cl::value_desc("DIR"), cl::sub(paretoCommand()));

bool driver::paretoChosen() { return bool(paretoCommand()); }

/// The roots to report on; prints an error and returns nothing if there is
/// none.
static std::optional<std::vector<unsigned>>
parseRoots(const Topology &topology, const CollectiveFamily &family) {
  if (!isRooted(family.kind)) {
    if (root.getNumOccurrences()) {
      fail(family.name() + " has no root");
      return std::nullopt;
    }
    return std::vector<unsigned>{family.root};
  }
  if (!root.getNumOccurrences())
    return std::vector<unsigned>{family.root};
  size_t places = topology.numRanks();
  for (const std::vector<unsigned> &group : family.groups)
    places = std::min(places, group.size());
  // Symmetries are those of links.
  bool isAnyAlone = !family.groups.empty() || !topology.switches().empty();
  if (root == "all" && isAnyAlone) {
    std::vector<unsigned> roots(places);
    std::iota(roots.begin(), roots.end(), 0u);
    return roots;
  }
  if (root == "all") {
    std::vector<unsigned> orbits =
        rankOrbits(automorphismGenerators(topology), topology.numRanks());
    std::vector<unsigned> roots;
    for (unsigned rank = 0; rank < orbits.size(); ++rank)
      if (orbits[rank] == rank)
        roots.push_back(rank);
    return roots;
  }
  unsigned rank;
  if (llvm::StringRef(root).getAsInteger(10, rank) || rank >= places) {
    fail("root is '" + root + "', expected a " +
         (family.groups.empty() ? "rank" : "place in each group") + " below " +
         llvm::Twine(places) + " or all");
    return std::nullopt;
  }
  return std::vector<unsigned>{rank};
}

/// The seconds for the next of `rootsLeft` roots, of what --timeout leaves for
/// all of them.
static double fairShare(std::chrono::steady_clock::time_point begin,
                        size_t rootsLeft) {
  std::chrono::duration<double> used = std::chrono::steady_clock::now() - begin;
  return std::max(1e-6, (timeout - used.count()) / double(rootsLeft));
}

namespace {
/// Lists what --pipelined asks for: what each depth has over those before, and
/// at last what is to be had at any.
class DepthList {
public:
  DepthList(FrontierReport &report, const Topology &topology,
            const CollectiveFamily &family, const FrontierOptions &options)
      : report(report), topology(topology), family(family),
        maxSteps(options.maxSteps),
        whole(options.timeoutSeconds > 0 ? options.timeoutSeconds : INFINITY),
        limits{options.timeoutSeconds, 0, options.solver.interrupt},
        deadline(limits), progress("pipelining " + describe(topology, family)) {
  }

  void print() {
    PipelinedDepths depths(topology, family);
    for (unsigned steps = 1; steps <= maxSteps; ++steps) {
      // Half of the time is left for any depth, which takes less as a rule.
      if (deadline.isOver() || 2 * deadline.elapsedSeconds() > whole ||
          isLeast(0.5, [&] { return depths.at(steps, limits).schedule; }))
        break;
      progress.setDetail("S = " + std::to_string(steps + 1));
    }
    if (isDone || !topology.switches().empty() || !family.isPlain())
      return;
    progress.setDetail("any S");
    known.reset();
    isLeast(1, [&] {
      return synthesizePipelined(topology, family.kind, family.root, limits);
    });
    if (!known) {
      auto paused = progress.pause();
      err() << "no pipelined schedule: " << error << '\n';
    }
  }

  /// True if the last that was printed has the least load of any depth.
  bool isComplete() const { return isDone; }

private:
  /// Prints what `search` finds within a part of the time that is left, if that
  /// is better than what is known. Returns whether nothing of any depth is
  /// better still.
  bool isLeast(double part,
               const std::function<Result<PipelinedSchedule>()> &search) {
    limits.timeoutSeconds = part * deadline.remainingLimit();
    auto begin = std::chrono::steady_clock::now();
    Result<PipelinedSchedule> found = search();
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - begin;
    error = found.error();
    if (!found || (known && *known <= found->cost().load))
      return false;
    known = found->cost().load;
    auto paused = progress.pause();
    report.point(*found, time.count());
    return isDone = found->optimal && found->holdsForAnyDepth();
  }

  FrontierReport &report;
  const Topology &topology;
  const CollectiveFamily &family;
  const unsigned maxSteps;
  const double whole; ///< seconds
  SearchLimits limits;
  const Deadline deadline;
  Progress progress;
  std::optional<Rational> known; ///< the least load so far
  bool isDone = false;
  std::string error;
};
} // namespace

/// How many ranks of the topology are GPUs; the others are memories.
static unsigned numGpus(const Topology &topology, const Origin &origin) {
  return origin.machine ? unsigned(origin.machine->gpus().size())
                        : topology.numRanks();
}

/// True where schedules are looked for only as pipelined ones: the next piece
/// fills what passes switches that copy or reduce, and memories.
static bool isPipelinedOnly(const Topology &topology, const Origin &origin) {
  return !topology.switches().empty() ||
         numGpus(topology, origin) < topology.numRanks();
}

static std::optional<int> concludePipelined(FrontierReport &report,
                                            const DepthList &depths) {
  Frontier frontier;
  frontier.complete = depths.isComplete();
  frontier.why = frontier.complete
                     ? "no pipelined schedule of any depth has less load"
                     : "of more steps, or by other trees, there may be less "
                       "load";
  report.conclusion(frontier);
  if (!report.written())
    return std::nullopt;
  return frontier.complete ? Done : NotKnown;
}

/// The frontier of one root, printed. Returns the exit code, or nothing if no
/// more can be written.
static std::optional<int>
searchRoot(const Topology &topology, const RankGroups &boxes,
           const CollectiveFamily &family, FrontierOptions options,
           llvm::StringRef where, const Origin &origin) {
  FrontierReport report(topology, family,
                        {json, directory, boxes, origin.notes, options.order});
  if (pipelined) {
    DepthList depths(report, topology, family, options);
    depths.print();
    if (isPipelinedOnly(topology, origin))
      return concludePipelined(report, depths);
  }
  Result<Frontier> frontier = Error{};
  {
    Progress progress(describe(topology, family));
    options.watch = [&](const FrontierActivity &activity) {
      progress.setDetail(describe(activity));
    };
    options.trees = [&](const TreePoint &point) {
      auto paused = progress.pause();
      report.point(point);
    };
    frontier = searchFrontier(topology, family, options,
                              [&](const FrontierPoint &point) {
                                auto paused = progress.pause();
                                report.point(point);
                              });
  }
  if (!frontier)
    return fail(where + frontier.error());
  report.conclusion(*frontier);
  if (!report.written())
    return std::nullopt;
  bool isKnown = frontier->open.empty() && !frontier->points.empty();
  return isKnown ? Done : NotKnown;
}

/// Those of --group, or where the topology has memories, that of all GPUs.
static std::string groupsOn(const Topology &topology, const Origin &origin) {
  unsigned gpus = numGpus(topology, origin);
  bool isGiven = groups.getNumOccurrences() || gpus == topology.numRanks();
  return isGiven ? joinGroups(groups) : "0-" + std::to_string(gpus - 1);
}

/// What is not to be had on the topology; empty if nothing is wrong.
static std::string whyNot(const Topology &topology, const Origin &origin,
                          const CollectiveFamily &family) {
  unsigned ranks = topology.numRanks();
  Result<Collective> smallest = smallestCollective(family, ranks);
  if (numGpus(topology, origin) < ranks && smallest && smallest->combining())
    return "'" + topology.name() +
           "' has memories, which reduce nothing, and " + family.name() +
           " reduces";
  if (pipelined && !hasPipelinedSchedules(family, ranks))
    return "there are no pipelined schedules of " + family.name() + " yet";
  if (!topology.switches().empty() && !pipelined)
    return "through switches that copy or reduce, schedules are pipelined: "
           "give --pipelined";
  return "";
}

/// What is to be said of `order` for what `family` does.
static std::vector<std::string> orderNotes(const SumOrder &order,
                                           const CollectiveFamily &family,
                                           unsigned numRanks) {
  Result<Collective> smallest = smallestCollective(family, numRanks);
  if (!::order.getNumOccurrences() || !smallest)
    return {};
  if (!smallest->combining())
    return {family.name() + " reduces nothing, so no order is asked of it"};
  if (!order.isTree())
    return {"schedules are the same with the orders any and same, which "
            "programs keep"};
  return {"all sums are nodes of the tree of the order " + order.toString()};
}

/// The options of the command line; prints an error and returns nothing if they
/// make no sense. Those that --k, --max-steps and --max-chunks limit are left
/// to the search.
static std::optional<FrontierOptions> frontierOptions() {
  if (timeout.getNumOccurrences() && !(timeout > 0)) {
    fail("--timeout must be more than 0 seconds");
    return std::nullopt;
  }
  if (jobs == 0 || maxSteps == 0 || maxChunks == 0) {
    fail("--jobs, --max-steps and --max-chunks must be at least 1");
    return std::nullopt;
  }
  if (!checkEngineName(engine) ||
      !checkEngineOptions(engine, /*seed=*/nullptr, &memory))
    return std::nullopt;
  FrontierOptions options;
  options.maxSteps = maxSteps;
  options.maxChunks = maxChunks;
  options.maxChunksIsFirm = maxChunks.getNumOccurrences() > 0;
  if (k.getNumOccurrences())
    options.k = k;
  options.maxSends = FrontierReport::maxSends;
  options.jobs = jobs;
  options.engine = engine;
  options.thorough = thorough;
  options.order = order;
  options.solver.memoryMiB = memory;
  return options;
}

int driver::paretoMain() {
  std::optional<FrontierOptions> options = frontierOptions();
  if (!options)
    return BadInput;
  std::string where;
  RankGroups boxes;
  Origin origin;
  std::optional<Topology> topology =
      givenTopology(&where, &boxes, &origin, joinGroups(groups));
  if (!topology)
    return BadInput;
  std::string spelling = collectiveWord(collectiveSpelling);
  std::optional<CollectiveFamily> family =
      chooseFamily({spelling,
                    groupsOn(*topology, origin),
                    std::nullopt,
                    {chunks.begin(), chunks.end()}},
                   topology->numRanks());
  if (!family)
    return BadInput;
  if (chunks.getNumOccurrences() && spelling != "all_gatherv")
    return fail("--chunks is for all_gatherv: the search chooses C");
  if (std::string why = whyNot(*topology, origin, *family); !why.empty())
    return fail(why);
  std::optional<std::vector<unsigned>> roots = parseRoots(*topology, *family);
  if (!roots)
    return BadInput;
  if (!directory.empty() && !makeFolder(directory))
    return BadInput;

  for (std::string &note :
       orderNotes(options->order, *family, topology->numRanks()))
    origin.notes.push_back(std::move(note));
  InterruptScope interrupt;
  options->solver.interrupt = interrupt.flag();
  auto begin = std::chrono::steady_clock::now();
  size_t rootsLeft = roots->size();
  int code = Done;
  bool isBad = false; // some root cannot have it
  for (unsigned rank : *roots) {
    if (timeout > 0)
      options->timeoutSeconds = fairShare(begin, rootsLeft--);
    family->root = rank;
    std::optional<int> ofRoot =
        searchRoot(*topology, boxes, *family, *options, where, origin);
    if (!ofRoot)
      return BadInput;
    isBad |= *ofRoot == BadInput;
    code = std::max(code, *ofRoot);
  }
  return isBad ? int(BadInput) : code;
}
