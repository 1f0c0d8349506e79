//===- Compile.cpp - sccl compile -----------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Driver.h"
#include "LoweringFlags.h"
#include "PlannedModules.h"
#include "Plans.h"
#include "Progress.h"
#include "Subjects.h"

#include "sccl/Dialect/Coll/Boxes.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/Text.h"
#include "sccl/Model/UsualModel.h"
#include "sccl/Pipelines/Ways.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/WithColor.h"

#include <memory>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

static cl::SubCommand command("compile", "Compile schedules for GPUs and CPUs");
static cl::list<std::string> inputs(cl::Positional, cl::desc("FILE|DIR..."),
                                    cl::OneOrMore, cl::sub(command));
static cl::list<std::string>
    targets("target",
            cl::desc("sm_90, gfx942, ..., nccl-device; for plans also host, "
                     "mpi, mpi/sm_90, ..."),
            cl::OneOrMore, cl::sub(command));
static cl::opt<std::string>
    output("o",
           cl::desc("Output; .sccl .mlir .ptx .cubin .fatbin .s .hsaco or .ll"),
           cl::value_desc("FILE"), cl::Required, cl::sub(command));
static cl::opt<double>
    alpha("alpha",
          cl::desc("Microseconds per step, for --transport=auto, and for plans "
                   "unless schedules say for which sizes they are"),
          usually(usualMicroseconds), cl::sub(command));
static cl::opt<double> bandwidth(
    "bandwidth",
    cl::desc("GB/s of a link of bandwidth 1, for plans and --transport=auto"),
    usually(usualGigabytes), cl::sub(command));
static cl::opt<std::string>
    bytes("bytes",
          cl::desc("Size of a send buffer that --transport=auto is for"),
          usually("1MiB"), cl::sub(command));
static LoweringFlags lowering(command, {OptionGroup::Program, OptionGroup::Data,
                                        OptionGroup::Shape, OptionGroup::GPU,
                                        OptionGroup::Code, OptionGroup::CPU});
static cl::list<std::string>
    variants("variant",
             cl::desc("For plans: push, pull, scratch, dma, ll (default: the "
                      "ways that schedules name; of others the first four, "
                      "within --range-budget)"),
             cl::sub(command));
static cl::opt<uint64_t> rangeBudget(
    "range-budget",
    cl::desc("For plans: ranges of chunks that the variants of a schedule send "
             "together at most, unless --variant names them (524288)"),
    cl::init(PlanRequest().rangeBudget), cl::sub(command), cl::Hidden);
static cl::opt<bool> assemble(
    "assemble",
    cl::desc("For plans: machine code for NVIDIA chips, in place of PTX"),
    cl::sub(command));
static cl::opt<Instrument> instrument(
    "instrument",
    cl::desc("For plans: code for CPUs that sccl-execute looks for races in"),
    cl::values(clEnumValN(Instrument::Ranks, "ranks", "A thread for each rank"),
               clEnumValN(Instrument::Channels, "channels",
                          "A thread for each channel")),
    cl::init(Instrument::No), cl::Hidden, cl::sub(command));

static cl::opt<unsigned> ranksPerBox(
    "ranks-per-box",
    cl::desc(
        "For --target=nccl-device: ranks of a box, in a row; 0 means those "
        "of the machine"),
    cl::init(0), cl::sub(command));

bool driver::compileChosen() { return bool(command); }

std::string driver::findOfReductions(const GivenOptions &given) {
  const LoweringOptionRow::Member ofReductions[] = {
      &LoweringOptions::reduction, &LoweringOptions::element,
      &LoweringOptions::oneRounding, &LoweringOptions::wire};
  for (const LoweringOptionRow *row : given)
    if (llvm::is_contained(ofReductions, row->member))
      return std::string("--") + row->word;
  return "";
}

/// The collective of a schedule or program in `module`, if there is one and
/// none reduces; else empty.
static std::string findMove(mlir::ModuleOp module) {
  std::string name;
  bool isMove = true;
  auto look = [&](auto op) {
    mlir::FailureOr<coll::Problem> problem = coll::importProblem(op);
    isMove &= succeeded(problem) && !problem->collective.combining();
    name = isMove ? problem->collective.name() : "";
  };
  llvm::for_each(module.getOps<coll::ScheduleOp>(), look);
  llvm::for_each(module.getOps<coll::ProgramOp>(), look);
  return name;
}

bool driver::areForContents(const GivenOptions &given, mlir::ModuleOp module,
                            llvm::StringRef path) {
  if (std::string option = findOfReductions(given); !option.empty())
    if (std::string name = findMove(module); !name.empty()) {
      fail(option + " is for collectives that reduce, and " + name +
           " does not");
      return false;
    }
  bool isLowered = chipOfKernels(module).has_value();
  if (!module.getOps<coll::ScheduleOp>().empty() ||
      (module.getOps<coll::ProgramOp>().empty() && !isLowered))
    return true;
  const LoweringOptionRow::Member ofSchedules[] = {
      &LoweringOptions::pieces,       &LoweringOptions::pieceDistance,
      &LoweringOptions::pieceRounds,  &LoweringOptions::transport,
      &LoweringOptions::links,        &LoweringOptions::throughScratch,
      &LoweringOptions::doubleBuffer, &LoweringOptions::ll,
      &LoweringOptions::inNetwork};
  for (const LoweringOptionRow *row : given) {
    bool isIdle = isLowered ? row->group != OptionGroup::Code
                            : llvm::is_contained(ofSchedules, row->member);
    if (isIdle) {
      fail(llvm::Twine("--") + row->word + " is for schedules, and " + path +
           (isLowered ? " holds lowered kernels" : " holds a program"));
      return false;
    }
  }
  return true;
}

/// "--OPTION=VALUE is there N times" for the first value that is.
template <typename T>
static std::optional<std::string> findTwice(const char *option,
                                            const std::vector<T> &values) {
  for (const T &value : values)
    if (size_t count = llvm::count(values, value); count > 1)
      return std::string(option) + "=" + optionText(value) + " is there " +
             std::to_string(count) + " times";
  return std::nullopt;
}

/// What is wrong with repeatable options of a plan, or nothing.
static std::optional<std::string> findMistake(const PlanRequest &plan) {
  for (const std::string &name : plan.variants)
    if (!findWay(name))
      return "unknown variant '" + name +
             "', expected push, pull, scratch, eager, dma, ll, "
             "single-scratch or in-network";
  std::optional<std::string> mistake = findTwice("--variant", plan.variants);
  if (!mistake)
    mistake = findTwice("--code-shape", plan.shapes);
  if (!mistake)
    mistake = findTwice("--target", plan.targets);
  if (!mistake)
    mistake = findTwice("--element", plan.elements);
  if (!mistake)
    mistake = findTwice("--reduction", plan.reductions);
  return mistake;
}

/// What is wrong with options that nothing would look at without a plan, or
/// nothing.
static std::optional<std::string> findIdleOption() {
  if (std::string option = findGiven(
          {std::addressof(variants), &rangeBudget, &assemble, &instrument});
      !option.empty())
    return option + " needs a plan; '" + output + "' should end in .sccl";
  if (lowering.get().transport == TransportChoice::Auto)
    return std::nullopt;
  if (bytes.getNumOccurrences() > 0)
    return "--bytes needs --transport=auto";
  if (std::string option = findGiven({&alpha, &bandwidth}); !option.empty())
    return option + " needs --transport=auto, or a plan";
  return std::nullopt;
}

/// What is wrong with options for other targets than there are; empty if
/// nothing.
static std::string findOptionOfOtherTargets() {
  auto isNVIDIA = [](const std::string &name) {
    Result<Chip> chip = findChip(chipOf(name));
    return chip && chip->isNVIDIA();
  };
  if (instrument.getNumOccurrences() && !llvm::all_of(targets, isCPUTarget))
    return "--instrument is for CPUs, and not all targets are";
  std::string option = lowering.findGiven(OptionGroup::CPU);
  if (option.empty())
    option = lowering.findGiven(OptionGroup::Shape);
  if (option.empty())
    option = lowering.findAmong(
        {&LoweringOptions::throughScratch, &LoweringOptions::doubleBuffer,
         &LoweringOptions::ll, &LoweringOptions::inNetwork});
  if (option.empty())
    option = findGiven({std::addressof(variants)});
  if (!option.empty() && llvm::all_of(targets, isMessageTarget))
    return option + " is for code, and messages have none";
  option = lowering.findGiven(OptionGroup::GPU);
  if (option.empty())
    option = lowering.findGiven(OptionGroup::Code);
  if (option.empty())
    option = findGiven({&assemble});
  if (!option.empty() && llvm::all_of(targets, isCPUTarget))
    return option + " is for GPUs, and all targets are CPUs";
  if (assemble.getNumOccurrences() && llvm::none_of(targets, isNVIDIA))
    return "--assemble is for NVIDIA chips, and no target is one";
  return "";
}

static int compilePlan() {
  if (std::string option = lowering.findReplacedByVariants(); !option.empty())
    return fail("plans have variants in place of " + option);
  if (bytes.getNumOccurrences() > 0)
    return fail("--bytes needs --transport=auto; plans choose for each size");
  if (std::string mistake = findOptionOfOtherTargets(); !mistake.empty())
    return fail(mistake);
  if (rangeBudget.getNumOccurrences() && !variants.empty())
    return fail("--range-budget chooses variants, and --variant names them");
  PlanCompileRequest request;
  for (const std::string &input : inputs) {
    std::optional<std::vector<std::string>> paths = schedulesIn(input);
    if (!paths)
      return BadInput;
    for (std::string &path : *paths)
      request.modules.emplace_back(std::move(path), "");
  }
  request.output = output;
  for (const std::string &name : targets)
    request.plan.targets.push_back(findHostTarget(name).value_or(name));
  request.given = lowering.given();
  request.plan.elements = lowering.values(&LoweringOptions::element);
  request.plan.reductions = lowering.values(&LoweringOptions::reduction);
  if (!variants.empty())
    request.plan.variants = {variants.begin(), variants.end()};
  request.plan.rangeBudget = rangeBudget;
  request.plan.shapes = lowering.values(&LoweringOptions::codeShape);
  request.plan.blocks = lowering.values(&LoweringOptions::blocksPerLink);
  request.plan.assemble = assemble;
  request.plan.instrument = instrument;
  request.plan.pieces = lowering.values(&LoweringOptions::pieces);
  request.plan.lowering = lowering.get();
  request.plan.lowering.pieces = 1;
  if (runsBySteps(request.plan.lowering))
    return fail("plans have variants in place of dma for single links");
  if (std::optional<std::string> mistake = findMistake(request.plan))
    return fail(*mistake);
  request.plan.generator = planGenerator();
  std::optional<CostModel> model = makeCostModel(alpha, bandwidth);
  if (!model)
    return BadInput;
  if (alpha.getNumOccurrences() || bandwidth.getNumOccurrences())
    request.plan.model = *model;
  return compilePlanFile(request);
}

/// Warns if kernels for the first of `targets` that is a GPU are for ranks of
/// several boxes, which is no error: one host may hold what a machine file
/// calls boxes. False, after an error, if the file says wrongly which ranks
/// those are.
static bool warnOfBoxes(mlir::ModuleOp module, llvm::StringRef path,
                        llvm::ArrayRef<std::string> targets) {
  size_t most = 1;
  for (auto topology : module.getOps<coll::TopologyOp>()) {
    mlir::FailureOr<RankGroups> boxes = coll::boxesOf(topology);
    if (failed(boxes))
      return false;
    most = std::max(most, boxes->size());
  }
  auto gpu = llvm::find_if(targets, [](const std::string &name) {
    return static_cast<bool>(findChip(name));
  });
  if (most > 1 && gpu != targets.end())
    llvm::WithColor::warning(llvm::errs(), "sccl")
        << escapeControls(path.str()) << " is for " << most
        << " boxes, and libsccl launches kernels for " << *gpu
        << " on GPUs of one host only; for ranks on several hosts there are "
           "--target=mpi, by way of memory of the hosts, --target=mpi/"
        << *gpu << ", by NCCL or RCCL, and --target=nccl-device\n";
  return true;
}

/// Runs `work` in a child process and returns its exit code. LLVM's back ends
/// end the process on an internal error; a child takes that, so that we can say
/// what happened.
static int runInChild(llvm::function_ref<int()> work, const llvm::Twine &what) {
  llvm::outs().flush();
  pid_t parent = getpid();
  pid_t child = fork();
  if (child < 0)
    return fail("cannot start a child process");
  if (child == 0) {
    // Whoever ends the parent does not want what the child would write. What is
    // half-written goes with the signal.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
      _exit(BadInput);
    int code = afterFlush(work());
    llvm::errs().flush();
    _exit(code);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  if (WIFEXITED(status) && WEXITSTATUS(status) <= NotKnown)
    return WEXITSTATUS(status);
  return fail("the back end broke down while compiling " + what);
}

static int compileNcclHere(const LoweringOptions &options) {
  Session session;
  mlir::OwningOpRef<mlir::ModuleOp> module = session.parseSchedules(inputs[0]);
  if (!module || !areForContents(lowering.given(), *module, inputs[0]))
    return BadInput;
  mlir::FailureOr<std::string> text =
      compileForNccl(*module, options, ranksPerBox);
  if (failed(text))
    return BadInput;
  return writeFile(output, *text) ? Done : BadInput;
}

static int compileNcclFile(const LoweringOptions &options) {
  if (!llvm::StringRef(output).ends_with(".ll"))
    return fail("kernels for nccl-device are LLVM IR, and '" + output +
                "' should end in .ll");
  if (std::string option = lowering.findGiven(OptionGroup::Code);
      !option.empty())
    return fail(option + " is for assembly, and '" + output + "' is LLVM IR");
  return runInChild([&] { return compileNcclHere(options); },
                    inputs[0] + " for " + ncclTarget);
}

int driver::compileMain() {
  if (ranksPerBox.getNumOccurrences() > 0 && targets[0] != ncclTarget)
    return fail("--ranks-per-box is for --target=nccl-device");
  if (std::string idle = lowering.findIdle(); !idle.empty())
    return fail(idle);
  if (isPlanFile(output))
    return compilePlan();
  std::string repeated = lowering.findRepeated();
  if (targets.size() > 1)
    repeated = std::to_string(targets.size()) + " times --target";
  if (inputs.size() > 1)
    repeated = std::to_string(inputs.size()) + " times input file";
  if (!repeated.empty())
    return fail(repeated + " need a plan; '" + output +
                "' should end in .sccl");
  if (std::optional<std::string> mistake = findIdleOption())
    return fail(*mistake);
  LoweringOptions options = lowering.get();
  std::optional<CostModel> model = makeCostModel(alpha, bandwidth);
  if (!model)
    return BadInput;
  options.alpha = model->alphaMicroseconds;
  options.beta = model->betaMicrosecondsPerByte;
  std::optional<uint64_t> size = readBytes("--bytes", bytes);
  if (!size)
    return BadInput;
  options.bytes = *size;
  if (targets[0] == ncclTarget)
    return compileNcclFile(options);
  if (isCPUTarget(targets[0]) || isMessageTarget(targets[0]))
    return fail("--target=" + targets[0] + " needs a plan; '" + output +
                "' should end in .sccl");
  return compileFile(
      {inputs[0], targets[0], output, options, lowering.given()});
}

static int compileHere(const CompileRequest &request, const Chip &chip,
                       OutputKind kind) {
  Progress progress("compiling " + request.path + " for " + request.target);
  Session session;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      session.parseSchedules(request.path);
  if (!module || !areForContents(request.given, *module, request.path) ||
      !warnOfBoxes(*module, request.path, {request.target}))
    return BadInput;
  mlir::FailureOr<std::string> bytes =
      compileFor(*module, chip, kind, request.lowering);
  if (failed(bytes))
    return BadInput;
  return writeFile(request.output, *bytes) ? Done : BadInput;
}

int driver::compileFile(const CompileRequest &request) {
  Result<Chip> chip = findChip(request.target);
  if (!chip)
    return fail(chip.error());
  std::optional<OutputKind> kind = outputKindOf(request.output);
  if (!kind)
    return fail(
        "cannot tell what to write from the name '" + request.output +
        "'; it should end in .sccl .mlir .ptx .cubin .fatbin .s or .hsaco");
  return runInChild([&] { return compileHere(request, *chip, *kind); },
                    request.path + " for " + request.target);
}

static int compilePlanHere(PlanCompileRequest request) {
  Progress progress("compiling");
  request.plan.watch = [&](const std::string &what) {
    progress.setDetail(what);
  };
  auto read = [&](unsigned number, PlannedModule &module) {
    const auto &[name, text] = request.modules[number];
    return module.read(name, text) &&
           (number > 0 ||
            warnOfBoxes(module.get(), name, request.plan.targets));
  };
  PlannedModules modules(request.modules.size(), read);
  std::unique_ptr<PlanBuilder> builder = modules.build(request.plan);
  if (!builder)
    return BadInput;
  if (!builder->hasSchedules()) {
    const SumOrder &order = request.plan.lowering.sumOrder;
    bool isWide = request.plan.lowering.wire == Wire::F32;
    if (request.plan.lowering.oneRounding || isWide)
      return fail("no schedule is left: none rounds each sum once, as " +
                  std::string(isWide ? "--wire=f32" : "--one-rounding") +
                  " asks, and reduces in the order " + order.toString());
    return fail("no schedule is left: " +
                (order.isTree()
                     ? "none adds up in the order " + order.toString()
                     : "in none do all ranks reduce in the same order") +
                "; --order=any takes them all the same");
  }
  plan::Plan plan = builder->finish();
  if (!reduces(plan.manifest, findOfReductions(request.given)))
    return BadInput;
  Result<std::string> bytes = plan::serialize(plan);
  if (!bytes)
    return fail(bytes.error());
  return writeFile(request.output, *bytes) ? Done : BadInput;
}

std::string driver::planGenerator() {
  return "sccl " SCCL_VERSION ", LLVM " SCCL_LLVM_VERSION;
}

bool driver::areTargets(llvm::ArrayRef<std::string> names) {
  for (const std::string &name : names)
    if (!isCPUTarget(name))
      if (Result<Chip> chip = findChip(chipOf(name)); !chip) {
        fail(chip.error() +
             "; in plans also host mpi mpi/CHIP x86-64 x86-64-v3");
        return false;
      }
  return true;
}

int driver::compilePlanFile(const PlanCompileRequest &request) {
  if (!areTargets(request.plan.targets))
    return BadInput;
  return runInChild([&] { return compilePlanHere(request); },
                    llvm::join(llvm::make_first_range(request.modules), ", ") +
                        " for " + llvm::join(request.plan.targets, ", "));
}
