//===- Plan.cpp - sccl plan -----------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdviceReport.h"
#include "Arguments.h"
#include "CollectiveChoice.h"
#include "Driver.h"
#include "FrontierReport.h"
#include "Interrupt.h"
#include "LoweringFlags.h"
#include "MachineFlags.h"
#include "Output.h"
#include "PlanEngines.h"
#include "PlanFabric.h"
#include "PlanFiles.h"
#include "Progress.h"

#include "sccl/Advice/Advice.h"
#include "sccl/Advice/MachineTiming.h"
#include "sccl/Pipelines/Ways.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

llvm::cl::SubCommand &driver::planCommand() {
  static cl::SubCommand command(
      "plan", "Find the best schedule of a collective for each size");
  return command;
}
static cl::opt<std::string> collectiveSpelling("collective",
                                               cl::desc(collectiveHelp),
                                               cl::value_desc(collectiveValue),
                                               cl::Required,
                                               cl::sub(planCommand()));
static cl::list<std::string> groups("group", cl::desc(groupHelp),
                                    cl::value_desc("RANKS"),
                                    cl::sub(planCommand()));
static cl::list<unsigned>
    chunks("chunks", cl::CommaSeparated, cl::value_desc("C0,C1,..."),
           cl::desc("For all_gatherv: chunks of each rank, or their ratio"),
           cl::sub(planCommand()));
static cl::opt<unsigned> root("root",
                              cl::desc("Root rank (default 0); with --group "
                                       "its place in the group"),
                              cl::init(0), cl::sub(planCommand()));
static cl::list<std::string> latencies(
    "latency", cl::desc("Microseconds of an edge, for all or one kind of them"),
    cl::value_desc("[KIND=]US"), cl::CommaSeparated, cl::sub(planCommand()));
static cl::opt<double>
    bandwidth("bandwidth",
              cl::desc("For a topology: GB/s of a link of bandwidth 1"),
              usually(25), cl::sub(planCommand()));
static cl::opt<double>
    copyBandwidth("copy-bandwidth",
                  cl::desc("GB/s of copies within a rank; 0 means that only "
                           "links and their latencies take time"),
                  usually(assumedCopyRate), cl::sub(planCommand()), cl::Hidden);
static cl::opt<std::string> from("from", cl::desc("Smallest send buffer"),
                                 usually("1KiB"), cl::sub(planCommand()));
static cl::opt<std::string> upTo("to", cl::desc("Largest send buffer"),
                                 usually("1GiB"), cl::sub(planCommand()));
static cl::opt<unsigned> maxSteps("max-steps",
                                  cl::desc("Largest S (default: 8)"),
                                  cl::init(8), cl::sub(planCommand()));
static cl::opt<double>
    timeout("timeout",
            cl::desc("Limit of everything in seconds; then the "
                     "best so far is printed"),
            cl::sub(planCommand()));
static LoweringFlags lowering(planCommand(), {OptionGroup::Data});
static cl::opt<SumOrder>
    order("order",
          cl::desc("Order of summation: same, in which all ranks get the same "
                   "bits, any, or one tree for all elements and sizes: tree, "
                   "rank, left, ring:R, ((0+1)+2), or a file with one "
                   "(default: same)"),
          cl::init(SumOrder::Same), cl::sub(planCommand()));
static cl::opt<bool> oneRounding(
    "one-rounding",
    cl::desc("Of floats of less than 32 bits, round each sum to the type once: "
             "no partial sum is sent or kept in the type"),
    cl::sub(planCommand()));
static cl::opt<Wire> wire(
    "wire",
    cl::desc("Type of partial sums of floats of less than 32 bits: element, or "
             "f32, with which each sum is rounded once (default: element)"),
    cl::init(Wire::Element), cl::sub(planCommand()));
static cl::opt<unsigned>
    smBudget("sm-budget",
             cl::desc("Multiprocessors of a GPU that a collective may take, a "
                      "thread block each; 0 means no limit"),
             cl::init(0), cl::sub(planCommand()));
static cl::opt<bool> json("json", cl::desc("Print results as JSON"),
                          cl::sub(planCommand()));

static std::optional<double> givenCopies() {
  if (copyBandwidth.getNumOccurrences())
    return copyBandwidth;
  return std::nullopt;
}

bool driver::planChosen() { return bool(planCommand()); }

/// Reads --latency. Prints an error and returns nothing if it makes no sense.
static std::optional<LatencyByKind> readLatencies() {
  LatencyByKind result;
  for (llvm::StringRef text : latencies) {
    auto [kind, number] = text.contains('=')
                              ? text.split('=')
                              : std::pair(llvm::StringRef(), text);
    double value;
    if (number.getAsDouble(value) || !isLatency(value)) {
      fail("--latency is '" + text +
           "', expected microseconds of at most 1e9, or a kind of edges, = and "
           "microseconds");
      return std::nullopt;
    }
    result[kind.str()] = value;
  }
  return result;
}

/// `groups` are those of the machine's ranks.
static std::optional<NamedFabric> fabricOf(const Machine &machine,
                                           const LatencyByKind &given,
                                           const std::string &groups) {
  std::optional<Derivation> derivation = derive(machine, groups);
  if (!derivation)
    return std::nullopt;
  Result<MachineFabric> made = fabricOf(*derivation, given, givenCopies());
  if (!made) {
    fail(made.error());
    return std::nullopt;
  }
  for (const std::string &kind : made->unused) {
    fail("--latency=" + (kind.empty() ? "" : kind + "=") +
         llvm::formatv("{0}", given.find(kind)->second).str() +
         " changes nothing: " + machine.name() +
         (kind.empty() ? " says itself how long its edges take"
                       : " has no edges of this kind, or says itself how long "
                         "they take; its kinds: " +
                             kindsOf(machine)));
    return std::nullopt;
  }
  NamedFabric named{
      std::move(made->fabric),     std::move(made->assumptions),
      ranksByBox(machine),         std::move(derivation->deviations),
      std::move(made->boundClass), {}};
  for (unsigned gpu : machine.gpus())
    named.gpus.push_back(machine.vertices()[gpu].name);
  named.chip = machine.vertices()[machine.gpus().front()].chip;
  return named;
}

static std::optional<NamedFabric> fabricOf(Wiring wiring,
                                           const LatencyByKind &given) {
  if (!isBandwidth(bandwidth)) {
    fail("--bandwidth must be from 1e-6 to 1e9 GB/s");
    return std::nullopt;
  }
  RankGroups boxes;
  std::optional<Topology> topology =
      topologyOf(std::move(wiring), /*where=*/nullptr, &boxes);
  if (!topology)
    return std::nullopt;
  for (const auto &[kind, latency] : given)
    if (!kind.empty()) {
      fail("--latency=" + kind +
           "=... is for machines: the links of a "
           "topology have no kinds");
      return std::nullopt;
    }
  auto it = given.find("");
  bool isGiven = it != given.end();
  double latency = isGiven ? it->second : assumedLatencies().find("")->second;
  NamedFabric result{{*topology,
                      Timing::uniform(*topology, latency, bandwidth * 1e3),
                      1 / (bandwidth * 1e3)},
                     {},
                     std::move(boxes),
                     {},
                     boundClassOf(*topology)};
  if (!isGiven)
    result.assumptions.push_back(
        llvm::formatv("latency of {0} us for each link (assumed)", latency));
  setCopies(givenCopies(), result.fabric.timing, result.assumptions);
  return result;
}

/// The fabrics of `machine`: the intact one first if the options say what is
/// lost. Prints an error and returns nothing on failure.
static std::optional<std::vector<NamedFabric>>
fabricsOf(Machine machine, const LatencyByKind &given) {
  if (bandwidth.getNumOccurrences()) {
    fail("--bandwidth is for topologies; machines have GB/s of their own");
    return std::nullopt;
  }
  std::vector<Machine> machines;
  if (hasFaults() && canCompareWith(machine))
    machines.push_back(machine);
  if (!applyFaults(machine))
    return std::nullopt;
  machines.push_back(std::move(machine));
  std::vector<NamedFabric> fabrics;
  for (const Machine &one : machines) {
    bool isOfGroups = one.gpus().size() == machines.back().gpus().size();
    std::optional<NamedFabric> named =
        fabricOf(one, given, isOfGroups ? joinGroups(groups) : "");
    if (!named)
      return std::nullopt;
    fabrics.push_back(std::move(*named));
  }
  return fabrics;
}

/// What to plan for: see fabricsOf.
static std::optional<std::vector<NamedFabric>> loadFabrics() {
  if (copyBandwidth != 0 && !isBandwidth(copyBandwidth)) {
    fail("--copy-bandwidth must be 0, or from 1e-6 to 1e9 GB/s");
    return std::nullopt;
  }
  std::optional<LatencyByKind> given = readLatencies();
  std::optional<Wiring> wiring = given ? givenWiring() : std::nullopt;
  if (!wiring)
    return std::nullopt;
  std::optional<std::vector<NamedFabric>> fabrics;
  if (wiring->machine)
    fabrics = fabricsOf(std::move(*wiring->machine), *given);
  else if (std::optional<NamedFabric> plain =
               fabricOf(std::move(*wiring), *given))
    fabrics = {std::move(*plain)};
  if (!fabrics)
    return std::nullopt;
  for (NamedFabric &named : *fabrics) {
    if (isForMessagesOfGPUs())
      takeMessages(named);
    const Topology &topology = named.fabric.topology;
    if (topology.links().empty() && topology.numRanks() > 1) {
      fail(topology.name() + " has no links: there is nothing to plan for");
      return std::nullopt;
    }
  }
  return fabrics;
}

/// Whether what large sizes take at least is that of one order of additions.
static bool isBoundByOrder(const Advice &advice) {
  const SharedBound &bound = advice.frontier.throughput;
  return bound && bound->certificate.order.isTree();
}

/// `compared` says what the intact machine does, if there is need to.
static void print(const NamedFabric &named, const CollectiveFamily &family,
                  const std::string &compared, const AdviceReport &report) {
  if (json)
    return report.printJson();
  out() << family.name() << " on " << named.fabric.topology.name() << ", "
        << named.fabric.topology.numRanks() << " ranks";
  if (!family.groups.empty())
    out() << ", groups " << printRankGroups(family.groups);
  out() << '\n';
  for (const std::string &line : named.assumptions)
    out() << "  " << line << '\n';
  for (const std::string &note : named.notes)
    out() << "  note: " << note << '\n';
  out() << "  bounds hold for " << report.bounded;
  if (report.tree)
    out() << (isBoundByOrder(report.advice) ? ", by this order of additions"
                                            : ", in any order of additions");
  out() << '\n';
  if (!compared.empty())
    out() << "  " << compared << '\n';
  if (order.getNumOccurrences() && !report.reduces())
    out() << "  note: nothing is added up, so --order changes nothing\n";
  if (oneRounding && !contractFor(report.lowering).oneRounding)
    out() << "  note: --one-rounding changes nothing for "
          << elementType(report.lowering.element).name << '\n';
  if (wire == Wire::F32 && contractFor(report.lowering).sumWidth == 1)
    out() << "  note: --wire=f32 changes nothing for "
          << toString(report.lowering.reduction) << " of "
          << elementType(report.lowering.element).name << '\n';
  if (std::string sentence = report.sumSentence(); !sentence.empty())
    out() << "  " << sentence << '\n';
  for (const std::string &line : engineNotes(named, report.baselines))
    out() << "  " << line << '\n';
  report.printTable();
  const Advice &advice = report.advice;
  out() << "frontier "
        << (named.fabric.topology.switches().empty() ? "" : "without switches ")
        << (advice.frontier.complete ? "complete: " : "incomplete: ")
        << advice.frontier.why << '\n';
  if (!advice.stopped.empty())
    out() << "stopped before all was tried: " << advice.stopped << '\n';
}

static std::optional<CollectiveFamily> givenFamily(const NamedFabric &named) {
  CollectiveChoice choice{collectiveWord(collectiveSpelling),
                          joinGroups(groups),
                          std::nullopt,
                          {chunks.begin(), chunks.end()}};
  if (root.getNumOccurrences())
    choice.root = root;
  if (!choice.chunks.empty() && choice.spelling != "all_gatherv") {
    fail("--chunks is for all_gatherv: the search chooses C");
    return std::nullopt;
  }
  return chooseFamily(choice, named.fabric.topology.numRanks());
}

/// The options of all programs that are asked for, and of what restricts them
/// most of what they reduce.
static LoweringOptions loweringOptions() {
  LoweringOptions options = lowering.get();
  restrictTo(lowering.reductions(), options);
  options.sumOrder = order;
  options.oneRounding = oneRounding;
  options.wire = wire;
  options.smBudget = smBudget;
  return options;
}

/// The ways that are tried: messages know one.
static std::vector<LoweringWay> waysToTry() {
  std::vector<LoweringWay> ways =
      usualWays(loweringOptions(), lowering.reductions());
  if (isForMessages())
    std::erase_if(ways, [](const LoweringWay &way) {
      return way.name != nameOf(coll::Way());
    });
  return ways;
}

static std::vector<uint64_t> sizesOf(const Advice &advice) {
  std::vector<uint64_t> sizes;
  for (const SizeAdvice &size : advice.sizes)
    sizes.push_back(size.bytes);
  return sizes;
}

/// The largest C asked for. Searches grow with the chunks of all ranks that
/// take part; few of them, with relays, may need a large C for what they can
/// do.
static unsigned mostChunks(const CollectiveFamily &family, size_t numRanks) {
  constexpr size_t perRank = 32, most = 96;
  size_t ranks = 0;
  for (const std::vector<unsigned> &group : family.groups)
    ranks += group.size();
  return ranks == 0 ? perRank : std::min(perRank * numRanks / ranks, most);
}

/// `parts` share the time.
static FrontierOptions searchOptions(size_t parts, unsigned maxChunks,
                                     const InterruptScope &interrupt) {
  FrontierOptions options;
  options.maxSteps = maxSteps;
  // Step by step for small messages only, large ones take pipelined candidates.
  options.probeWork = 100'000;
  options.stepWork = 200'000;
  options.hasty = true;
  options.maxChunks = maxChunks;
  options.timeoutSeconds = timeout / double(parts);
  options.solver.interrupt = interrupt.flag();
  return options;
}

/// `adviser` is advise() or adviseByDrafts(). Prints an error and returns
/// nothing on failure.
template <typename Adviser>
static std::optional<Advice>
adviseFor(Adviser adviser, mlir::MLIRContext &context, const NamedFabric &named,
          const CollectiveFamily &family, const std::vector<uint64_t> &sizes,
          FrontierOptions options) {
  Progress progress("plan for " + named.fabric.topology.name());
  options.watch = [&](const FrontierActivity &activity) {
    progress.setDetail(describe(activity));
  };
  Result<Advice> advice =
      adviser(context, named.fabric, family, sizes, options, waysToTry());
  if (advice)
    return std::move(*advice);
  fail(advice.error());
  return std::nullopt;
}

/// Plans for the last of `fabrics`, and for the same sizes for the first, which
/// is there to compare with.
static int planFor(const std::vector<NamedFabric> &fabrics,
                   const CollectiveFamily &family,
                   const std::vector<uint64_t> &askedFor) {
  InterruptScope interrupt;
  Deadline deadline({timeout, 0, interrupt.flag()});
  const NamedFabric &named = fabrics.back();
  Session session;
  mlir::MLIRContext &context = session.context();
  std::optional<NamedBaselines> schedules =
      makeBaselines(named.fabric.topology, named.boxes, family);
  if (!schedules)
    return BadInput;
  FrontierOptions options = searchOptions(
      fabrics.size() + hasMoreToCompare(*schedules),
      mostChunks(family, named.fabric.topology.numRanks()), interrupt);
  std::optional<Advice> advice = adviseFor(
      [](auto &&...args) {
        // What is written is lowered anyway, and holds what it says.
        return advise(args..., writesOutput() && !isForMessagesOfGPUs());
      },
      context, named, family, askedFor, options);
  if (!advice)
    return BadInput;
  if (advice->candidates.empty() || advice->sizes.empty()) {
    fail("no schedule was found: " + advice->stopped);
    return NotKnown;
  }
  std::vector<uint64_t> sizes = sizesOf(*advice);
  std::optional<Advice> intact;
  bool hasIntact = false;
  if (std::optional<CollectiveFamily> same =
          amongAll(family, named, fabrics.front());
      same && fabrics.size() > 1) {
    intact = adviseFor(adviseByDrafts, context, fabrics.front(), *same, sizes,
                       options);
    if (!intact)
      return BadInput;
    hasIntact =
        !intact->candidates.empty() && intact->sizes.size() == sizes.size();
    if (hasIntact)
      limitBy(*advice, *intact);
  }
  std::optional<std::vector<Baseline>> baselines =
      timesToCompare(context, named, *schedules, *advice, waysToTry(),
                     {deadline.remainingLimit(), 0, interrupt.flag()});
  if (!baselines)
    return BadInput;
  print(named, family, comparisonText(named, fabrics.front(), bool(intact)),
        {*advice, hasIntact ? &*intact : nullptr, *baselines, named.bounded,
         treeOf(advice->candidates.front().implementation.collective,
                loweringOptions()),
         loweringOptions(),
         errorsOf(context, named.fabric.topology, *advice, waysToTry())});
  if (!writeOutput(context, named, *advice, lowering, loweringOptions(), json))
    return BadInput;
  bool isWhole = !advice->frontier.stopped && advice->stopped.empty() &&
                 llvm::all_of(*baselines, std::mem_fn(&Baseline::isKnown));
  return isWhole ? Done : NotKnown;
}

int driver::planMain() {
  std::optional<std::vector<uint64_t>> sizes = sizesByFour(from, upTo);
  if (!sizes)
    return BadInput;
  if (timeout.getNumOccurrences() && !(timeout > 0))
    return fail("--timeout must be more than 0 seconds");
  if (!isOutputRight())
    return BadInput;
  std::optional<std::vector<NamedFabric>> fabrics = loadFabrics();
  if (!fabrics)
    return BadInput;
  std::optional<CollectiveFamily> family = givenFamily(fabrics->back());
  if (!family)
    return BadInput;
  bool isCombining = family->defined ? family->defined->combining()
                                     : sccl::isCombining(family->kind);
  std::string option = oneRounding ? "--one-rounding"
                       : wire != Wire::Element
                           ? "--wire"
                           : findOfReductions(lowering.given());
  if (!isCombining && !option.empty())
    return fail(option + " is for collectives that reduce, and " +
                family->name() + " does not");
  if (!fitsOutput(fabrics->back(), *family, wire) || !prepareOutput())
    return BadInput;
  return planFor(*fabrics, *family, *sizes);
}
