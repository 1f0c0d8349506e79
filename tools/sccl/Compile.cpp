//===- Compile.cpp - sccl compile -----------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "LoweringFlags.h"
#include "Plans.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

#include <sys/wait.h>
#include <unistd.h>

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

static cl::SubCommand command("compile", "Compile schedules for GPUs and CPUs");
static cl::list<std::string> inputs(cl::Positional, cl::desc("FILE..."),
                                    cl::OneOrMore, cl::sub(command));
static cl::list<std::string>
    targets("target", cl::desc("sm_90, gfx942, ...; for plans also host"),
            cl::OneOrMore, cl::sub(command));
static cl::opt<std::string>
    output("o",
           cl::desc("Output; .sccl .mlir .ptx .cubin .fatbin .s or .hsaco"),
           cl::value_desc("FILE"), cl::Required, cl::sub(command));
static cl::list<unsigned> blocks("blocks-per-link",
                                 cl::desc("Thread blocks for each link"),
                                 cl::sub(command));
static cl::opt<unsigned> blockSize("block-size", cl::desc("Threads per block"),
                                   cl::init(256), cl::sub(command));
static cl::opt<double>
    alpha("alpha",
          cl::desc("Microseconds per step, for plans (5) and --transport=auto "
                   "(0.7)"),
          cl::init(5), cl::sub(command));
static cl::opt<double> bandwidth(
    "bandwidth",
    cl::desc("GB/s of a link of bandwidth 1, for plans and --transport=auto"),
    cl::init(25), cl::sub(command));
static cl::opt<std::string>
    bytes("bytes",
          cl::desc("Size of a send buffer that --transport=auto is for"),
          cl::init("1MiB"), cl::sub(command));
static cl::opt<unsigned> residentBlocks(
    "resident-blocks",
    cl::desc("Blocks that the GPU holds at once, if other than a product with "
             "its chip, which errors name"),
    cl::init(0), cl::sub(command));
static cl::opt<bool>
    noResidency("no-residency",
                cl::desc("Do not check that all blocks of a rank run at once"),
                cl::sub(command));
static cl::opt<bool> virtualRanks(
    "virtual-ranks",
    cl::desc("Add a kernel that runs all ranks, for ranks that share a GPU"),
    cl::sub(command));
static LoweringFlags lowering(command);
static cl::list<std::string>
    variants("variant",
             cl::desc("For plans: push, pull, scratch, dma (all four)"),
             cl::sub(command));
static cl::opt<bool> assemble(
    "assemble",
    cl::desc("For plans: machine code for NVIDIA chips, in place of PTX"),
    cl::sub(command));
static cl::opt<bool> noAudit("no-audit",
                             cl::desc("Do not check the flags in the assembly"),
                             cl::sub(command));

bool driver::compileChosen() { return bool(command); }

/// The values of a repeatable option.
template <typename T>
static std::vector<T> valuesOr(const cl::list<T> &option, T fallback) {
  if (option.empty())
    return {fallback};
  return {option.begin(), option.end()};
}

/// What is wrong with repeatable options of a plan, or nothing.
static std::optional<std::string> findMistake(const PlanRequest &plan) {
  for (const std::string &name : plan.variants)
    if (!findVariant(name))
      return "unknown variant '" + name +
             "', expected push, pull, scratch or dma";
  for (const std::string &name : plan.shapes)
    if (name != "unrolled" && name != "table" && name != "auto")
      return "unknown code shape '" + name +
             "', expected auto, unrolled or table";
  for (const std::string &name : plan.elements)
    if (Result<ElementType> element = findElementType(name); !element)
      return element.error();
  for (const std::string &name : plan.reductions)
    if (Result<Reduction> reduction = findReduction(name); !reduction)
      return reduction.error();
  for (auto [option, values] : {std::pair{"--variant", &plan.variants},
                                {"--code-shape", &plan.shapes},
                                {"--target", &plan.targets},
                                {"--dtype", &plan.elements},
                                {"--op", &plan.reductions}})
    for (const std::string &value : *values)
      if (size_t count = llvm::count(*values, value); count > 1)
        return std::string(option) + "=" + value + " is there " +
               std::to_string(count) + " times";
  return std::nullopt;
}

/// The model that --alpha and --bandwidth describe. Prints an error and returns
/// nothing if they make no sense.
static std::optional<CostModel> readCostModel() {
  if (alpha >= 0 && bandwidth > 0 && std::isfinite(alpha) &&
      std::isfinite(bandwidth))
    return CostModel{alpha, 1 / (bandwidth * 1e3)};
  fail("--alpha must be at least 0 and --bandwidth more than 0, and both "
       "finite");
  return std::nullopt;
}

/// What is wrong with options that nothing would look at without a plan, or
/// nothing.
static std::optional<std::string> findIdleOption() {
  if (std::string option =
          LoweringFlags::findGiven({std::addressof(variants), &assemble});
      !option.empty())
    return option + " needs a plan; '" + output + "' should end in .sccl";
  if (lowering.get().transport == "auto")
    return std::nullopt;
  if (bytes.getNumOccurrences() > 0)
    return "--bytes needs --transport=auto";
  if (std::string option = LoweringFlags::findGiven({&alpha, &bandwidth});
      !option.empty())
    return option + " needs --transport=auto, or a plan";
  return std::nullopt;
}

/// True if there is no option for GPUs, or a GPU. Prints an error if not.
static bool checkOptionsForGPUs() {
  if (!llvm::all_of(targets, findHostTarget))
    return true;
  std::string option = LoweringFlags::findGiven(
      {std::addressof(blocks), &blockSize, &residentBlocks, &virtualRanks,
       &assemble, &noAudit});
  if (!option.empty())
    fail(option + " is for GPUs, and all targets are CPUs");
  return option.empty();
}

static int compilePlan() {
  if (std::string option = lowering.findReplacedByVariants(); !option.empty())
    return fail("plans have variants in place of " + option);
  if (bytes.getNumOccurrences() > 0)
    return fail("--bytes needs --transport=auto; plans choose for each size");
  if (!checkOptionsForGPUs())
    return BadInput;
  PlanCompileRequest request;
  request.paths = {inputs.begin(), inputs.end()};
  request.output = output;
  for (const std::string &name : targets)
    request.plan.targets.push_back(findHostTarget(name).value_or(name));
  request.plan.elements = lowering.elements();
  request.plan.reductions = lowering.reductions();
  if (!variants.empty())
    request.plan.variants = {variants.begin(), variants.end()};
  request.plan.shapes = lowering.shapes();
  request.plan.blocks = valuesOr<unsigned>(blocks, 1);
  request.plan.assemble = assemble;
  LoweringOptions &options = request.plan.lowering;
  options = lowering.get();
  options.blockSize = blockSize;
  options.audit = !noAudit;
  options.residentBlocks = residentBlocks;
  options.residency = !noResidency;
  options.virtualRanks = virtualRanks;
  if (options.steps)
    return fail("plans have variants in place of dma for single links");
  if (std::optional<std::string> mistake = findMistake(request.plan))
    return fail(*mistake);
  request.plan.generator = "sccl " SCCL_VERSION ", LLVM " SCCL_LLVM_VERSION;
  std::optional<CostModel> model = readCostModel();
  if (!model)
    return BadInput;
  request.plan.model = *model;
  return compilePlanFile(request);
}

int driver::compileMain() {
  if (llvm::StringRef(output).ends_with(".sccl"))
    return compilePlan();
  for (auto [option, count] : {std::pair{"input file", inputs.size()},
                               {"--target", targets.size()},
                               {"--blocks-per-link", blocks.size()},
                               {"--dtype", lowering.elements().size()},
                               {"--op", lowering.reductions().size()},
                               {"--code-shape", lowering.shapes().size()}})
    if (count > 1)
      return fail(llvm::Twine(count) + " times " + option + " need a plan; '" +
                  output + "' should end in .sccl");
  if (std::optional<std::string> mistake = findIdleOption())
    return fail(*mistake);
  LoweringOptions options = lowering.get();
  options.blocks = valuesOr<unsigned>(blocks, 1)[0];
  options.blockSize = blockSize;
  options.audit = !noAudit;
  options.residentBlocks = residentBlocks;
  options.residency = !noResidency;
  options.virtualRanks = virtualRanks;
  std::optional<CostModel> model = readCostModel();
  if (!model)
    return BadInput;
  if (alpha.getNumOccurrences() > 0)
    options.alpha = model->alphaMicroseconds;
  options.beta = model->betaMicrosecondsPerByte;
  std::optional<uint64_t> size = parseBytes(bytes);
  if (!size)
    return fail("cannot read --bytes='" + bytes + "' as a number of bytes");
  options.bytes = *size;
  return compileFile({inputs[0], targets[0], output, options});
}

/// Runs `work` in a child process and returns its exit code. LLVM's back ends
/// end the process on an internal error; a child takes that, so that we can say
/// what happened.
static int runInChild(llvm::function_ref<int()> work, const llvm::Twine &what) {
  llvm::outs().flush();
  pid_t child = fork();
  if (child < 0)
    return fail("cannot start a child process");
  if (child == 0) {
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

static int compileHere(const CompileRequest &request, const Chip &chip,
                       OutputKind kind) {
  Session session;
  mlir::OwningOpRef<mlir::ModuleOp> module = session.parse(request.path);
  if (!module)
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

static int compilePlanHere(const PlanCompileRequest &request) {
  PlanBuilder builder(request.plan);
  for (const std::string &path : request.paths) {
    Session session;
    mlir::OwningOpRef<mlir::ModuleOp> module = session.parse(path);
    if (!module || failed(builder.add(*module)))
      return BadInput;
  }
  Result<std::string> bytes = plan::serialize(builder.finish());
  if (!bytes)
    return fail(bytes.error());
  return writeFile(request.output, *bytes) ? Done : BadInput;
}

int driver::compilePlanFile(const PlanCompileRequest &request) {
  for (const std::string &name : request.plan.targets)
    if (!findHostTarget(name))
      if (Result<Chip> chip = findChip(name); !chip)
        return fail(chip.error() + "; in plans also host x86-64 x86-64-v3");
  return runInChild([&] { return compilePlanHere(request); },
                    llvm::join(request.paths, ", ") + " for " +
                        llvm::join(request.plan.targets, ", "));
}
