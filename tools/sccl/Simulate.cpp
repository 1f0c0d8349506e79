//===- Simulate.cpp - sccl simulate ---------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdvisedPrograms.h"
#include "Arguments.h"
#include "LoweringFlags.h"
#include "ModelTable.h"
#include "Output.h"
#include "Pictures.h"
#include "Plans.h"
#include "Prediction.h"
#include "TopologyNotes.h"

#include "sccl/Advice/MessageTraffic.h"
#include "sccl/Dialect/Coll/Boxes.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/Pieces.h"
#include "sccl/Model/UsualModel.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Pipelines/Ways.h"
#include "sccl/Plan/SizeTables.h"
#include "sccl/Report/Trace.h"
#include "sccl/Simulate/TimingOps.h"
#include "sccl/Simulate/Traffic.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

static cl::SubCommand command("simulate",
                              "Predict how long programs take on a machine");
static cl::list<std::string> inputs(cl::Positional,
                                    cl::desc("FILE.mlir|FILE.sccl|DIR..."),
                                    cl::OneOrMore, cl::sub(command));
static cl::opt<bool>
    byModel("model",
            cl::desc("Compare schedules by S*alpha + (R/C)*L*beta alone"),
            cl::sub(command));
static cl::opt<double>
    latency("alpha",
            cl::desc("Microseconds that a link takes besides "
                     "the bytes, and a barrier"),
            usually(usualMicroseconds), cl::sub(command));
static cl::opt<double>
    bandwidth("bandwidth", cl::desc("GB/s of a link of bandwidth 1 (1/beta)"),
              usually(usualGigabytes), cl::sub(command));
static cl::opt<double> copyBandwidth(
    "copy-bandwidth",
    cl::desc("GB/s of copies within a rank; 0 means that they take no time"),
    cl::init(0), cl::sub(command), cl::Hidden);
static cl::opt<double>
    startTime("start-time",
              cl::desc("Microseconds from a transfer's turn to its first byte"),
              cl::init(0), cl::sub(command), cl::Hidden);
static cl::opt<std::string> machineName(
    "machine",
    cl::desc("How fast links and copies are, in place of --alpha, --bandwidth "
             "and --copy-bandwidth"),
    cl::value_desc("NAME|FILE.mlir"), cl::sub(command));
static cl::opt<std::string> from("from", cl::desc("Smallest send buffer"),
                                 usually("1KiB"), cl::sub(command));
static cl::opt<std::string> upTo("to", cl::desc("Largest send buffer"),
                                 usually("1GiB"), cl::sub(command));
static LoweringFlags lowering(command, {OptionGroup::Program});
static cl::opt<std::string>
    tracePath("trace",
              cl::desc("Write what channels do when here, for Perfetto; for "
                       "one program and size"),
              cl::value_desc("FILE.json"), cl::sub(command));
static cl::opt<std::string>
    beside("beside",
           cl::desc("A file that `run` or `bench` wrote with --trace; what is "
                    "simulated goes below it"),
           cl::value_desc("FILE.json"), cl::sub(command), cl::Hidden);
static cl::opt<bool> json("json", cl::desc("Print results as JSON"),
                          cl::sub(command));

bool driver::simulateChosen() { return bool(command); }

/// What is simulated: one file or folder.
static llvm::StringRef input() { return inputs.front(); }

namespace {
using ScheduleCosts = std::map<std::string, Cost>;

/// How fast things are, and who says so.
struct Clock {
  Timing timing;
  const char *source;
};
} // namespace

/// The costs of the schedules in `module`, in pieces, which lowering removes.
static std::optional<ScheduleCosts> costsOf(mlir::ModuleOp module) {
  ScheduleCosts costs;
  for (auto op : module.getOps<coll::ScheduleOp>()) {
    mlir::FailureOr<coll::Problem> problem = coll::importProblem(op);
    if (failed(problem))
      return std::nullopt;
    Implementation whole{problem->collective, coll::importSchedule(op)};
    Result<Implementation> inPieces = cutIntoPieces(
        whole, problem->topology, lowering.get().pieces,
        {lowering.get().pieceDistance, lowering.get().pieceRounds});
    if (!inPieces) {
      op.emitOpError(inPieces.error());
      return std::nullopt;
    }
    costs.emplace(op.getSymName().str(),
                  costOf(inPieces->schedule, inPieces->collective));
  }
  return costs;
}

/// What --beside names; nothing without it.
using Beside = std::optional<report::RecordedTrace>;

/// Reads it. Prints an error and returns false if it cannot.
static bool readBeside(Beside &measured) {
  if (beside.empty())
    return true;
  std::unique_ptr<llvm::MemoryBuffer> file = readText(beside);
  if (!file)
    return false;
  Result<report::RecordedTrace> trace =
      report::RecordedTrace::parse(file->getBuffer().str());
  if (trace)
    measured = std::move(*trace);
  else
    fail("'" + beside + "' " + trace.error());
  return measured.has_value();
}

/// Writes what is simulated to --trace. False after an error.
static bool writeTrace(coll::ProgramOp program, const coll::Problem &problem,
                       const Traffic &traffic, const Timing &timing,
                       Beside &measured) {
  std::string name =
      (input() + ":@" + program.getSymName() + ", simulated").str();
  Result<report::Trace> trace =
      report::traceOf(name, problem.topology, traffic, timing);
  if (!trace)
    program.emitOpError() << trace.error();
  if (!trace || !measured)
    return trace && writeFile(tracePath, report::chromeText(*trace));
  if (measured->isOfMessages())
    trace = report::asMessages(*trace);
  Result<std::string> both = std::move(*measured).withModel(*trace);
  if (!both)
    fail("'" + beside + "' " + both.error());
  return both && writeFile(tracePath, *both);
}

/// What `traffic` takes for `bytes` bytes, if it is `scale` times as much.
/// Prints an error and returns nothing if the program does not come to an end.
static std::optional<Prediction> predict(coll::ProgramOp program,
                                         const coll::Problem &problem,
                                         const Clock &clock, uint64_t bytes,
                                         const Traffic &traffic, double scale) {
  SimulationOptions options;
  options.scale = scale;
  Result<SimulationResult> result =
      simulate(problem.topology, traffic, clock.timing, options);
  if (!result) {
    program.emitOpError() << result.error();
    return std::nullopt;
  }
  Prediction prediction{program.getSymName().str(), clock.source, bytes,
                        result->microseconds};
  findBusiest(*result, clock.timing, prediction);
  return prediction;
}

static double chunkBytesOf(const coll::Problem &problem, uint64_t bytes) {
  return double(bytes) / problem.collective.chunks();
}

/// The same of what ranks that write to each other do.
static std::optional<Prediction> predict(coll::ProgramOp program,
                                         const coll::Problem &problem,
                                         const Clock &clock, uint64_t bytes,
                                         Beside &measured) {
  const Timing &timing = clock.timing;
  double chunkBytes = chunkBytesOf(problem, bytes);
  mlir::FailureOr<Traffic> traffic =
      coll::trafficOf(program, problem.topology, chunkBytes);
  if (failed(traffic))
    return std::nullopt;
  if (!tracePath.empty() &&
      !writeTrace(program, problem, *traffic, timing, measured))
    return std::nullopt;
  return predict(program, problem, clock, bytes, *traffic, /*scale=*/1);
}

/// What GPUs do that exchange messages; nothing after an error.
static std::optional<MessageTraffic> messagesOf(coll::ProgramOp program,
                                                const coll::Problem &problem,
                                                const Clock &clock,
                                                unsigned pieces) {
  auto topology = mlir::SymbolTable::lookupNearestSymbolFrom<coll::TopologyOp>(
      program, program.getTopologyAttr());
  mlir::FailureOr<RankGroups> boxes = coll::boxesOf(topology);
  if (failed(boxes))
    return std::nullopt;
  mlir::FailureOr<MessageTraffic> made =
      messageTrafficOf(program, problem.collective, problem.topology,
                       {*boxes, clock.timing.launchTime}, pieces);
  return succeeded(made) ? std::optional(std::move(*made)) : std::nullopt;
}

static CostModel modelOf(const std::optional<MachineSpeeds> &machine) {
  return machine ? machine->model() : CostModel{latency, 1 / (bandwidth * 1e3)};
}

/// The clock: that of --machine, or what the file says of its own, unless
/// options say something else, and then what they or their defaults say.
static Clock clockOf(mlir::Operation *op, const Topology &topology,
                     const std::optional<MachineSpeeds> &machine) {
  bool isGiven = latency.getNumOccurrences() || bandwidth.getNumOccurrences() ||
                 copyBandwidth.getNumOccurrences() ||
                 startTime.getNumOccurrences();
  auto named = mlir::SymbolTable::lookupNearestSymbolFrom<coll::TopologyOp>(
      op, op->getAttrOfType<mlir::FlatSymbolRefAttr>("topology"));
  std::optional<Timing> own;
  if (named && !isGiven && !machine)
    own = coll::timingOf(named, topology);
  if (own)
    return {*own, "file"};
  Timing timing = machine ? machine->clockOn(topology)
                          : Timing::uniform(topology, latency, bandwidth * 1e3);
  if (!machine)
    timing.copyRate = copyBandwidth * 1e3;
  timing.barrierTime = modelOf(machine).alphaMicroseconds;
  timing.startTime = startTime;
  return {timing, machine ? "machine" : isGiven ? "given" : "assumed"};
}

/// As "0.7 us and 25 GB/s at bandwidth 1 (assumed)".
static std::string describe(const Clock &clock) {
  llvm::StringRef source(clock.source);
  if (source == "file" || source == "machine")
    return ("the clock of the " + source).str();
  return llvm::formatv("{0} us and {1} GB/s at bandwidth 1 ({2})",
                       double(latency), double(bandwidth), source);
}

/// False after an error.
static bool predictAll(coll::ProgramOp program, const ScheduleCosts &costs,
                       const std::optional<MachineSpeeds> &machine,
                       const std::vector<uint64_t> &sizes, Beside &measured) {
  mlir::FailureOr<coll::Problem> problem = coll::importProblem(program);
  if (failed(problem) ||
      (machine && !isOf(machine->placement, input(), problem->topology)))
    return false;
  if (!machine)
    noteUnlimitedLinks(problem->topology);
  Clock clock = clockOf(program, problem->topology, machine);
  if (!json)
    out() << program.getSymName() << " on " << problem->topology.name()
          << ", by " << describe(clock) << '\n'
          << llvm::formatv("{0,12}{1,14}{2,14}   {3}\n", "size", "simulated us",
                           "model us", "busiest");
  CostModel model = modelOf(machine);
  auto cost = costs.find(program.getSymName().str());
  for (uint64_t bytes : sizes) {
    std::optional<Prediction> prediction =
        predict(program, *problem, clock, bytes, measured);
    if (!prediction)
      return false;
    if (cost != costs.end())
      prediction->model = model.microseconds(cost->second, double(bytes));
    print(*prediction, problem->topology, json);
  }
  return true;
}

/// What is wrong with the options, or nothing.
static std::optional<std::string> findMistake() {
  for (const cl::opt<double> *option : {&latency, &startTime})
    if (!isLatency(*option))
      return ("--" + option->ArgStr + " must be from 0 to 1e9 microseconds")
          .str();
  if (copyBandwidth != 0 && !isBandwidth(copyBandwidth))
    return "--copy-bandwidth must be 0, or from 1e-6 to 1e9 GB/s";
  if (!isBandwidth(bandwidth))
    return "--bandwidth must be from 1e-6 to 1e9 GB/s";
  if (std::string given = findGiven({&latency, &bandwidth, &copyBandwidth});
      !machineName.empty() && !given.empty())
    return "--machine says what " + given + " would";
  if (!beside.empty() && tracePath.empty())
    return "--beside needs --trace";
  if (std::string idle = lowering.findIdle(); !idle.empty())
    return idle;
  return std::nullopt;
}

/// The sizes that options ask for, or else those of the advice.
static std::optional<std::vector<uint64_t>>
sizesOf(llvm::ArrayRef<SizedTime> advised) {
  if (advised.empty() || from.getNumOccurrences() || upTo.getNumOccurrences())
    return sizesByFour(from, upTo);
  auto sizes = llvm::map_range(
      advised, [](const SizedTime &time) { return time.bytes; });
  return std::vector<uint64_t>(sizes.begin(), sizes.end());
}

/// With as many thread blocks as `machine` asks for; null after an error.
static mlir::OwningOpRef<mlir::ModuleOp>
lowerOn(const SourceProgram &source, const LoweringOptions &options,
        const std::optional<MachineSpeeds> &machine) {
  auto whole = source.schedule->getParentOfType<mlir::ModuleOp>();
  if (machine && !setClocks(whole, *machine, input()))
    return nullptr;
  return lowerAs(source.schedule, source.way, options);
}

/// Adds what was said of its size among `times`, if that is there.
static void addAdvice(llvm::ArrayRef<SizedTime> times, Prediction &prediction) {
  auto time = llvm::find_if(times, [&](const SizedTime &one) {
    return one.bytes == prediction.bytes;
  });
  if (time == times.end())
    return;
  prediction.advised = double(time->nanoseconds) * 1e-3;
  if (time->bound)
    prediction.bound = double(time->bound) * 1e-3;
}

/// Simulates for each size the program that is taken for it.
static int simulateAdvised(const AdvisedPrograms &advised,
                           const std::optional<MachineSpeeds> &machine) {
  llvm::ArrayRef<SizedTime> times = advisedTimes(advised.table);
  std::optional<std::vector<uint64_t>> sizes = sizesOf(times);
  if (!sizes)
    return BadInput;
  if (std::string option = lowering.findGiven(OptionGroup::Program);
      !option.empty() || !tracePath.empty())
    return fail((option.empty() ? "--trace" : option) +
                " is for schedules that do not say how they are lowered, and " +
                input() + " does");
  if (!json)
    out() << llvm::formatv("{0,12}{1,14}{2,14}{3,14}   {4}\n", "size",
                           "simulated us", "advised us", "bound us",
                           "busiest, program");
  std::map<unsigned, std::vector<uint64_t>> sizesByProgram;
  for (uint64_t bytes : *sizes)
    sizesByProgram[choiceFor(advised.table, double(bytes))->program].push_back(
        bytes);
  std::map<uint64_t, Prediction> predictions;
  std::optional<Topology> topology;
  for (const auto &[number, own] : sizesByProgram) {
    const std::optional<SourceProgram> &source = advised.programs[number];
    if (!source)
      return fail(input() + " does not hold the schedule of program " +
                  llvm::Twine(number));
    mlir::OwningOpRef<mlir::ModuleOp> module =
        lowerOn(*source, advised.lowering, machine);
    if (!module)
      return BadInput;
    coll::ProgramOp program = *module->getOps<coll::ProgramOp>().begin();
    mlir::FailureOr<coll::Problem> problem = coll::importProblem(program);
    if (failed(problem))
      return BadInput;
    Clock clock = clockOf(program, problem->topology, machine);
    std::optional<MessageTraffic> messages;
    if (source->isOfMessages &&
        !(messages = messagesOf(program, *problem, clock, source->way.pieces)))
      return BadInput;
    for (uint64_t bytes : own) {
      Beside none;
      double chunk = chunkBytesOf(*problem, bytes);
      std::optional<Prediction> prediction =
          messages ? predict(program, *problem, clock, bytes,
                             messages->of(chunk), chunk)
                   : predict(program, *problem, clock, bytes, none);
      if (!prediction)
        return BadInput;
      prediction->program = source->name;
      addAdvice(times, *prediction);
      predictions.emplace(bytes, std::move(*prediction));
    }
    topology = std::move(problem->topology);
  }
  if (topology && !machine)
    noteUnlimitedLinks(*topology);
  for (const auto &[bytes, prediction] : predictions)
    print(prediction, *topology, json);
  return Done;
}

/// Simulates each schedule and program in `module`, which it lowers as the
/// options say.
static int simulateModule(mlir::ModuleOp module,
                          const std::optional<MachineSpeeds> &machine) {
  std::optional<std::vector<uint64_t>> sizes = sizesByFour(from, upTo);
  if (!sizes || !areForContents(lowering.given(), module, input()))
    return BadInput;
  std::optional<ScheduleCosts> costs = costsOf(module);
  Beside measured;
  if (!costs || !readBeside(measured) ||
      (machine && !setClocks(module, *machine, input())) ||
      failed(runPasses(module, [&](mlir::OpPassManager &manager) {
        if (measured && measured->isOfMessages())
          addMessageLowering(manager, messageLowering(lowering.get()));
        else
          addLowering(manager, lowering.get());
      })))
    return BadInput;
  auto programs = module.getOps<coll::ProgramOp>();
  if (!tracePath.empty() &&
      (sizes->size() != 1 ||
       std::distance(programs.begin(), programs.end()) != 1))
    return fail("--trace is for one program and one size, with --from and "
                "--to alike");
  bool hasProgram = false;
  for (auto program : programs) {
    hasProgram = true;
    if (!predictAll(program, *costs, machine, *sizes, measured))
      return BadInput;
  }
  return hasProgram ? Done
                    : fail(input() + " holds no schedule and no program");
}

/// The options that the model takes, as a table.
static int compareByModel() {
  std::string idle = findGiven(
      {&copyBandwidth, &startTime, &machineName, &tracePath, &beside});
  for (const LoweringOptionRow *row : lowering.given())
    if (row->member != LoweringOptionRow::Member(&LoweringOptions::pieces))
      idle = std::string("--") + row->word;
  if (!idle.empty())
    return fail(idle + " is for a simulation, and not for --model");
  std::optional<std::vector<uint64_t>> sizes = sizesByFour(from, upTo);
  std::optional<CostModel> model =
      sizes ? makeCostModel(latency, bandwidth) : std::nullopt;
  if (!model)
    return BadInput;
  if (!latency.getNumOccurrences() && !bandwidth.getNumOccurrences())
    model.reset();
  return printModelTable({{inputs.begin(), inputs.end()},
                          model,
                          std::move(*sizes),
                          lowering.get().pieces,
                          json});
}

int driver::simulateMain() {
  if (byModel)
    return compareByModel();
  if (inputs.size() > 1)
    return fail("several files are for --model, and there are " +
                llvm::Twine(inputs.size()));
  if (std::optional<std::string> mistake = findMistake())
    return fail(*mistake);
  std::optional<MachineSpeeds> machine;
  if (!machineName.empty()) {
    machine = loadSpeeds(machineName);
    if (!machine)
      return BadInput;
  }
  bool isPlan = isPlanFile(input());
  std::optional<AdvisedPrograms> advised =
      isPlan ? loadPlanPrograms(input())
             : loadAdvised(input(), machine ? &machine->placement : nullptr);
  if (!advised)
    return BadInput;
  bool hasOptions = !lowering.findGiven(OptionGroup::Program).empty();
  if (isPlan || (!advised->programs.empty() && !hasOptions))
    return simulateAdvised(*advised, machine);
  for (const mlir::OwningOpRef<mlir::ModuleOp> &module : advised->modules)
    if (int code = simulateModule(*module, machine))
      return code;
  return Done;
}
