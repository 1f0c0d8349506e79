//===- Synth.cpp - sccl synth ---------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "CollectiveChoice.h"
#include "Driver.h"
#include "Interrupt.h"
#include "MachineFlags.h"
#include "Output.h"
#include "Progress.h"

#include "sccl/Bounds/LowerBound.h"

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

cl::SubCommand &driver::synthCommand() {
  static cl::SubCommand command("synth", "Find one schedule, by its size or as "
                                         "NCCL's ring or tree");
  return command;
}
static cl::opt<std::string> collective("collective", cl::desc(collectiveHelp),
                                       cl::value_desc(collectiveValue),
                                       cl::sub(synthCommand()));
static cl::list<std::string> groups("group", cl::desc(groupHelp),
                                    cl::value_desc("RANKS"),
                                    cl::sub(synthCommand()));
static cl::list<unsigned>
    chunks("chunks", cl::CommaSeparated, cl::value_desc("C"),
           cl::desc("Chunks of one rank's send buffer; one number per rank for "
                    "all_gatherv"),
           cl::sub(synthCommand()));
static cl::opt<unsigned> steps("steps", cl::desc("S"), cl::sub(synthCommand()));
static cl::opt<unsigned> rounds("rounds", cl::desc("R, of all steps together"),
                                cl::sub(synthCommand()));
static cl::opt<unsigned> root("root",
                              cl::desc("Root rank (default 0); with --group "
                                       "its place in the group"),
                              cl::sub(synthCommand()));
static cl::opt<SumOrder> order("order", cl::desc(scheduleOrderHelp),
                               usually(SumOrder()), cl::sub(synthCommand()));
static cl::opt<std::string> engine("engine", cl::desc("Engine, or auto"),
                                   usually("auto"), cl::sub(synthCommand()));
static cl::opt<std::string> encoding("encoding",
                                     cl::desc("For z3: direct or paper"),
                                     usually("direct"), cl::sub(synthCommand()),
                                     cl::Hidden);
static cl::opt<double> timeout("timeout", cl::desc("Limit in seconds"),
                               cl::sub(synthCommand()));
static cl::opt<unsigned> memory("memory", cl::desc("Limit in MiB"), cl::init(0),
                                cl::sub(synthCommand()), cl::Hidden);
static cl::opt<unsigned> seed("seed", cl::desc("Seed of the engine"),
                              cl::init(0), cl::sub(synthCommand()), cl::Hidden);
static cl::opt<std::string>
    batch("batch",
          cl::desc("Synthesize each row of a table; prints JSON. Exit codes: 0 "
                   "each row has an answer, yes or no; 1 a row failed; 3 a row "
                   "is unknown"),
          cl::value_desc("FILE.csv"), cl::sub(synthCommand()));
static cl::opt<bool>
    frontiers("frontiers",
              cl::desc("With --batch: search the frontier of each topology and "
                       "collective, too, for on_true_frontier; =false if only "
                       "the rows count"),
              cl::init(true), cl::sub(synthCommand()), cl::Hidden);
static cl::opt<bool> json("json", cl::desc("Print the result as JSON"),
                          cl::sub(synthCommand()));
static cl::opt<bool>
    pipelined("pipelined",
              cl::desc("The schedule of the least load whose pieces follow "
                       "each other, with --steps of no more steps; C and R "
                       "are what it takes"),
              cl::sub(synthCommand()));
static cl::opt<std::string>
    certificate("certificate",
                cl::desc("Write a lower bound on R/C for S steps here"),
                cl::value_desc("FILE.cert"), cl::sub(synthCommand()));
static cl::opt<std::string> output("o", cl::desc("Write the schedule here"),
                                   cl::value_desc("FILE"),
                                   cl::sub(synthCommand()));

bool driver::synthChosen() { return bool(synthCommand()); }

/// False, after an error, if no collective is given.
static bool hasCollective() {
  if (collective.empty())
    fail("--collective must be given");
  return !collective.empty();
}

/// As checkOptionsFit, for a pipelined schedule, which needs less and takes
/// less.
static bool checkPipelinedOptions() {
  if (steps.getNumOccurrences() && steps == 0) {
    fail("--steps must be at least 1");
    return false;
  }
  if (!hasCollective())
    return false;
  std::string idle =
      findGiven({std::addressof(chunks), std::addressof(groups), &rounds,
                 &order, &engine, &encoding, &seed, &memory});
  if (!idle.empty())
    fail(idle + " is not for --pipelined");
  return idle.empty();
}

/// The same for --algorithm.
static bool checkBaselineOptions() {
  if (!hasCollective())
    return false;
  std::string idle =
      findGiven({std::addressof(chunks), std::addressof(groups), &steps,
                 &rounds, &order, &engine, &encoding, &seed, &memory, &timeout,
                 &batch, &frontiers, &pipelined, &certificate, &json});
  if (!idle.empty())
    fail(idle + " is not for --algorithm");
  return idle.empty();
}

/// False, after an error, if an option is given that is for one instance, or if
/// one that every instance needs is not.
static bool checkOptionsFit() {
  if (isBaseline())
    return checkBaselineOptions();
  if (std::string idle = findBaselineOption(); !idle.empty()) {
    fail(idle + " needs --algorithm");
    return false;
  }
  using Options = std::initializer_list<const cl::Option *>;
  Options needed = {&collective, std::addressof(chunks), &steps, &rounds};
  if (batch.empty() && frontiers.getNumOccurrences()) {
    fail("--frontiers is for --batch");
    return false;
  }
  if (pipelined && batch.empty())
    return checkPipelinedOptions();
  if (batch.empty()) {
    for (const cl::Option *option : needed)
      if (option->getNumOccurrences() == 0) {
        fail("--" + option->ArgStr + " must be given");
        return false;
      }
    return true;
  }
  std::string single = findAnyOfMachines();
  if (single.empty())
    single = findGiven(needed);
  if (single.empty())
    single = findGiven({&root, &order, &certificate, &output, &pipelined,
                        std::addressof(groups)});
  if (!single.empty())
    fail(single + " is for one instance, not for --batch");
  return single.empty();
}

int driver::synthMain() {
  if (timeout.getNumOccurrences() && !(timeout > 0))
    return fail("--timeout must be more than 0 seconds");
  if (!checkOptionsFit())
    return BadInput;
  if (encoding.getNumOccurrences() && engine.getNumOccurrences() &&
      engine != "z3")
    return fail("--encoding is for the engine z3, got '" + engine + "'");
  if (!checkEngineOptions(engine, &seed, &memory))
    return BadInput;
  SynthesisRequest request;
  request.collective = collectiveWord(collective);
  request.groups = joinGroups(groups);
  request.engine = engine;
  // Only z3 has encodings to choose from.
  if (encoding.getNumOccurrences() && !engine.getNumOccurrences())
    request.engine = "z3";
  request.encoding = encoding;
  request.chunks.assign(chunks.begin(), chunks.end());
  request.steps = steps;
  request.rounds = rounds;
  request.order = order;
  if (root.getNumOccurrences())
    request.root = root;
  request.timeoutSeconds = timeout;
  request.memoryMiB = memory;
  request.seed = seed;
  request.json = json;
  request.frontiers = frontiers;
  request.output = output;
  request.certificate = certificate;
  if (isBaseline())
    return writeBaseline(request);
  if (!batch.empty())
    return synthesizeBatch(batch, request);
  if (pipelined)
    return synthesizePipelinedSchedule(request);
  return synthesizeSchedule(request);
}

std::optional<Topology> SynthesisRequest::topology(std::string *where,
                                                   RankGroups *boxes) const {
  return machine.empty()
             ? givenTopology(where, boxes, /*origin=*/nullptr, groups)
             : loadTopology(machine, where, boxes, /*origin=*/nullptr, groups);
}

/// The collective that is asked for; prints an error and returns nothing if
/// there is none.
static std::optional<Collective> makeCollective(const SynthesisRequest &request,
                                                unsigned numRanks) {
  std::optional<CollectiveFamily> family = chooseFamily(
      {request.collective, request.groups, request.root, request.chunks},
      numRanks);
  if (!family)
    return std::nullopt;
  bool isPerRank = request.collective == "all_gatherv";
  if (!isPerRank && request.chunks.size() != 1) {
    fail("--chunks must be one number");
    return std::nullopt;
  }
  Result<Collective> collective =
      isPerRank ? Collective::makeAllGatherV(request.chunks)
                : family->make(numRanks, request.chunks.front());
  if (collective)
    return std::move(*collective);
  fail(collective.error());
  return std::nullopt;
}

std::optional<Instance> driver::makeInstance(const SynthesisRequest &request,
                                             RankGroups *boxes) {
  std::string where;
  std::optional<Topology> topology = request.topology(&where, boxes);
  if (!topology)
    return std::nullopt;
  std::optional<Collective> collective =
      makeCollective(request, topology->numRanks());
  if (!collective)
    return std::nullopt;
  Result<Instance> instance =
      Instance::make(std::move(*topology), std::move(*collective),
                     request.steps, request.rounds, request.order);
  if (!instance) {
    fail(where + instance.error());
    return std::nullopt;
  }
  return std::move(*instance);
}

static int exitCodeOf(const Outcome &outcome) {
  if (std::holds_alternative<Satisfied>(outcome))
    return Done;
  if (std::holds_alternative<Unsatisfiable>(outcome))
    return ProvedUnsatisfiable;
  return std::holds_alternative<Unknown>(outcome) ? NotKnown : BadInput;
}

/// Adds to `object` what the lower bound for as many steps says about the
/// instance, without the engine's word and within `limits`, and writes it to
/// the certificate file. Returns false, after an error, if that cannot be
/// written or there is nothing to write.
static bool certify(const SynthesisRequest &request, const Instance &instance,
                    const Outcome &outcome, const SearchLimits &limits,
                    llvm::json::Object &object) {
  bool isRefuted = std::holds_alternative<Unsatisfiable>(outcome);
  if (!isRefuted && request.certificate.empty())
    return true;
  Rational cost(instance.rounds, instance.collective.chunks());
  LowerBoundOptions options;
  static_cast<SearchLimits &>(options) = limits;
  // What refutes must be above it.
  options.target =
      Rational(instance.rounds + isRefuted, instance.collective.chunks());
  options.searches = true;
  Result<LowerBound> bound = availableBound(
      instance.topology, instance.collective, instance.steps, options);
  bool refutes = bound && (!bound->value || cost < *bound->value);
  if (isRefuted)
    object["certified"] = refutes;
  if (!bound) {
    if (!request.certificate.empty())
      fail("no certificate for " + request.certificate + ": " + bound.error());
    return request.certificate.empty();
  }
  if (refutes || !isRefuted)
    object["claim"] = claimText(bound->certificate, instance.collective.name());
  return request.certificate.empty() ||
         writeFile(request.certificate, printCertificate(bound->certificate));
}

/// Prints the result; the schedule goes to the file, or to standard output if
/// there is nothing else to print there.
static int report(const SynthesisRequest &request, const Instance &instance,
                  const RankGroups &boxes, const SynthesisResult &result,
                  const SearchLimits &limits) {
  if (auto *satisfied = std::get_if<Satisfied>(&result.outcome)) {
    std::string path = request.output;
    if (path.empty() && !request.json)
      path = "-";
    if (!path.empty() &&
        !writeFile(path, scheduleText(instance, boxes, satisfied->schedule)))
      return BadInput;
  }
  llvm::json::Object object = resultObject(instance, result);
  bool isCertified = certify(request, instance, result.outcome, limits, object);
  int code = exitCodeOf(result.outcome);
  if (!isCertified && code != NotKnown)
    code = BadInput;
  if (request.json) {
    llvm::outs() << llvm::json::Value(std::move(object)) << '\n';
    return code;
  }
  err() << llvm::formatv(
      "{0} on {1}, {2} chunks, {3} steps, {4} rounds: {5} ({6}, {7:f3} s)",
      instance.collective.name(), instance.topology.name(),
      instance.collective.chunks(), instance.steps, instance.rounds,
      statusName(result.outcome), result.engine, result.seconds);
  if (auto reason = object.getString("reason"))
    err() << ": " << *reason;
  err() << '\n';
  if (auto claim = object.getString("claim"))
    err() << "certified: " << *claim << '\n';
  else if (object.get("certified"))
    err() << "uncertified: no lower bound covers this refutation\n";
  return code;
}

std::optional<SolverOptions>
driver::solverOptions(const SynthesisRequest &request) {
  SolverOptions options;
  if (request.encoding == "paper") {
    options.encoding = Encoding::Paper;
  } else if (request.encoding != "direct") {
    fail("unknown encoding '" + request.encoding +
         "', expected direct or paper");
    return std::nullopt;
  }
  options.timeoutSeconds = request.timeoutSeconds;
  options.memoryMiB = request.memoryMiB;
  options.seed = request.seed;
  return options;
}

int driver::synthesizeSchedule(const SynthesisRequest &request) {
  std::optional<SolverOptions> options = solverOptions(request);
  if (!options)
    return BadInput;
  RankGroups boxes;
  std::optional<Instance> instance = makeInstance(request, &boxes);
  if (!instance)
    return BadInput;
  SynthesisResult result;
  InterruptScope interrupt;
  options->interrupt = interrupt.flag();
  Deadline deadline(*options);
  {
    Progress progress("synthesizing " + instance->collective.name() + " on " +
                      instance->topology.name());
    result = synthesize(*instance, *options, request.engine);
  }
  return report(request, *instance, boxes, result,
                {.timeoutSeconds = deadline.remainingLimit(),
                 .interrupt = interrupt.flag()});
}
