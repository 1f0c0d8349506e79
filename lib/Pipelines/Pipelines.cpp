//===- Pipelines.cpp - Named pass pipelines -------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Pipelines/Pipelines.h"

#include "sccl/Conversion/Passes.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

#include <functional>

using namespace mlir;
using namespace sccl;

/// LL words are pushed, whatever is estimated.
static TransportChoice transportFor(const LoweringOptions &options) {
  bool isPush = options.ll && options.transport == TransportChoice::Auto;
  return isPush ? TransportChoice::Push : options.transport;
}

void sccl::addPieces(OpPassManager &manager, unsigned pieces,
                     const LoweringOptions &options) {
  if (pieces == 1)
    return;
  manager.addNestedPass<coll::ScheduleOp>(coll::createCheckSchedule());
  manager.addPass(
      coll::createCutIntoPieces({.pieces = pieces,
                                 .pieceDistance = options.pieceDistance,
                                 .pieceRounds = options.pieceRounds}));
}

/// Appends what makes programs without any synchronization of schedules.
static void addProgram(OpPassManager &manager, const LoweringOptions &options,
                       bool steps) {
  manager.addNestedPass<coll::ScheduleOp>(
      coll::createChooseTransport({.transport = transportFor(options),
                                   .links = options.links,
                                   .bytes = options.bytes,
                                   .alpha = options.alpha,
                                   .beta = options.beta,
                                   .steps = steps,
                                   .inNetwork = options.inNetwork,
                                   .explain = options.explain}));
  manager.addPass(coll::createLowerSchedule(
      {.blocksPerLink = options.blocksPerLink,
       .throughScratch = options.throughScratch,
       .doubleBuffer = options.doubleBuffer,
       .ll = options.ll,
       .sumOrder = orderFor(options),
       .oneRounding = contractFor(options).addsInputs()}));
}

/// Appends what combines transfers and repeats those of segments.
static void addFusion(OpPassManager &programs, const LoweringOptions &options) {
  SumContract contract = contractFor(options);
  programs.addPass(
      coll::createFuseReductions({.explain = options.explain,
                                  .oneByOne = contract.isOneByOne(),
                                  .unweighted = contract.isUnweighted(),
                                  .sumWidth = contract.sumWidth}));
  if (options.inNetwork)
    programs.addPass(coll::createUseSwitches({.explain = options.explain}));
  programs.addPass(coll::createRepeatTransfers({.explain = options.explain}));
}

void sccl::addUncheckedLowering(OpPassManager &manager,
                                const LoweringOptions &options) {
  bool steps = runsBySteps(options);
  addProgram(manager, options, steps);
  OpPassManager &programs = manager.nest<coll::ProgramOp>();
  addFusion(programs, options);
  if (steps) {
    programs.addPass(coll::createInsertStepBarriers());
  } else {
    programs.addPass(coll::createInsertFlagSync());
    programs.addPass(
        coll::createRemoveRedundantSync({.explain = options.explain}));
  }
  programs.addPass(coll::createSpreadChannels(
      {.blocksPerLink = options.blocksPerLink, .smBudget = options.smBudget}));
}

void sccl::addUncheckedMessageLowering(OpPassManager &manager,
                                       const LoweringOptions &options) {
  addProgram(manager, options, /*steps=*/false);
  OpPassManager &programs = manager.nest<coll::ProgramOp>();
  addFusion(programs, options);
  programs.addPass(coll::createInsertFlagSync());
}

void sccl::addLowering(OpPassManager &manager, const LoweringOptions &options) {
  addLowering(manager, options, contractFor(options));
}

void sccl::addLowering(OpPassManager &manager, const LoweringOptions &options,
                       const SumContract &contract) {
  addPieces(manager, options.pieces, options);
  manager.addNestedPass<coll::ScheduleOp>(coll::createCheckSchedule());
  addUncheckedLowering(manager, options);
  addProgramCheck(manager, contract);
}

void sccl::addMessageLowering(OpPassManager &manager,
                              const LoweringOptions &options) {
  manager.addNestedPass<coll::ScheduleOp>(coll::createCheckSchedule());
  addUncheckedMessageLowering(manager, options);
  addProgramCheck(manager, contractFor(options));
}

void sccl::addProgramCheck(OpPassManager &manager,
                           const SumContract &contract) {
  manager.addNestedPass<coll::ProgramOp>(
      coll::createCheckProgram({.sumOrder = contract.order,
                                .oneRounding = contract.oneRounding,
                                .smallFloats = contract.roundsOnce}));
}

LoweringOptions sccl::messageLowering(LoweringOptions options) {
  options.pieces = 1;
  options.transport = TransportChoice::Push;
  options.links = {};
  options.steps = options.throughScratch = options.doubleBuffer = false;
  options.ll = options.virtualRanks = options.traced = false;
  options.inNetwork = false;
  // Messages have elements of one type, so that only inputs are added up.
  options.oneRounding = contractFor(options).oneRounding;
  options.wire = Wire::Element;
  options.blocksPerLink = 1;
  options.smBudget = 0;
  options.codeShape = CodeShapeChoice::Table;
  return options;
}

void sccl::addUpstream(OpPassManager &manager, const llvm::Twine &text) {
  if (failed(parsePassPipeline(text.str(), manager)))
    llvm::report_fatal_error("a pass of MLIR is missing");
}

void sccl::addResidencyCheck(OpPassManager &manager,
                             const LoweringOptions &options, const Chip &chip) {
  if (options.residency)
    manager.addPass(
        coll::createCheckResidency({.chip = std::string(chip.name),
                                    .residentBlocks = options.residentBlocks,
                                    .blockSize = options.blockSize,
                                    .virtualRanks = options.virtualRanks}));
}

void sccl::addKernelConversion(OpPassManager &manager,
                               const LoweringOptions &options, bool host) {
  manager.addPass(coll::createConvertCollToKernel(
      {.host = host,
       .traced = options.traced,
       .unweighted = contractFor(options).isUnweighted()}));
  manager.addPass(coll::createTabulateKernels(
      {.codeShape =
           options.traced ? CodeShapeChoice::Unrolled : options.codeShape}));
}

/// As options of passes have it.
template <typename T> static SmallVector<T> listOf(const std::vector<T> &list) {
  return llvm::to_vector(list);
}

/// Appends what makes LLVM's dialect, with intrinsics for `chip`, of the code
/// in a gpu.module.
static void addGPUToLLVM(OpPassManager &manager, const Chip &chip) {
  std::string name(chip.name);
  std::string dialect = chip.isNVIDIA() ? "nvvm" : "rocdl";
  // Without features LLVM takes the oldest PTX version that has the chip.
  addUpstream(manager, dialect + "-attach-target{chip=" + name + " O=3" +
                           (chip.isNVIDIA() ? "" : " abi=500") + "}");
  std::string convert =
      chip.isNVIDIA()
          ? "convert-gpu-to-nvvm"
          : "convert-gpu-to-rocdl{chipset=" + name + " runtime=HIP}";
  addUpstream(manager, "gpu.module(canonicalize,cse,convert-scf-to-cf," +
                           convert +
                           ",canonicalize,reconcile-unrealized-casts)");
}

void sccl::addKernelToGPU(OpPassManager &manager,
                          const LoweringOptions &options, const Chip &chip,
                          bool embedTables, const ReductionSet &set) {
  std::string dialect = chip.isNVIDIA() ? "nvvm" : "rocdl";
  manager.addPass(
      coll::createConvertKernelToGPU({.target = dialect,
                                      .chip = std::string(chip.name),
                                      .blockSize = options.blockSize,
                                      .element = options.element,
                                      .reduction = options.reduction,
                                      .elements = listOf(set.elements),
                                      .reductions = listOf(set.reductions),
                                      .virtualRanks = options.virtualRanks,
                                      .embedTables = embedTables}));
  addGPUToLLVM(manager, chip);
}

void sccl::addKernelToHost(OpPassManager &manager,
                           const LoweringOptions &options,
                           const ReductionSet &set) {
  manager.addPass(
      coll::createConvertKernelToHost({.element = options.element,
                                       .reduction = options.reduction,
                                       .elements = listOf(set.elements),
                                       .reductions = listOf(set.reductions),
                                       .cacheBytes = options.cacheBytes}));
  addUpstream(manager, "canonicalize,cse,convert-scf-to-cf,"
                       "convert-arith-to-llvm,convert-cf-to-llvm,"
                       "reconcile-unrealized-casts");
}

void sccl::addGPUConversion(OpPassManager &manager,
                            const LoweringOptions &options, const Chip &chip) {
  addResidencyCheck(manager, options, chip);
  addKernelConversion(manager, options, /*host=*/false);
  addKernelToGPU(manager, options, chip, /*embedTables=*/true);
}

void sccl::addHostConversion(OpPassManager &manager,
                             const LoweringOptions &options) {
  addKernelConversion(manager, options, /*host=*/true);
  addKernelToHost(manager, options);
}

void sccl::addMessageConversion(OpPassManager &manager,
                                const LoweringOptions &options) {
  manager.addPass(coll::createConvertCollToMPI(
      {.element = options.element, .reduction = options.reduction}));
  addUpstream(manager, "canonicalize,cse");
}

std::optional<std::string> sccl::findNcclMistake(const LoweringOptions &options,
                                                 const Chip &chip) {
  if (!chip.isNVIDIA())
    return "NCCL is for NVIDIA chips, and " + std::string(chip.name) +
           " is an AMD chip";
  if (options.codeShape == CodeShapeChoice::Table)
    return "code-shape = table is not for kernels that call NCCL's device "
           "functions, which are code of single ranks";
  if (options.traced)
    return "traced is not for kernels that call NCCL's device functions";
  if (options.virtualRanks)
    return "virtual-ranks is not for kernels that call NCCL's device "
           "functions, whose ranks do not share a GPU";
  return std::nullopt;
}

void sccl::addNcclLowering(OpPassManager &manager,
                           const LoweringOptions &options) {
  addPieces(manager, options.pieces, options);
  manager.addNestedPass<coll::ScheduleOp>(coll::createCheckSchedule());
  addProgram(manager, options, runsBySteps(options));
  OpPassManager &programs = manager.nest<coll::ProgramOp>();
  programs.addPass(coll::createRepeatTransfers({.explain = options.explain}));
  if (runsBySteps(options))
    programs.addPass(coll::createInsertStepBarriers());
  else
    programs.addPass(coll::createInsertFlagSync());
  programs.addPass(coll::createCheckProgram(
      {.sumOrder = orderFor(options),
       .oneRounding = contractFor(options).oneRounding}));
}

void sccl::addNcclConversion(OpPassManager &manager,
                             const LoweringOptions &options, const Chip &chip,
                             unsigned ranksPerBox) {
  addResidencyCheck(manager, options, chip);
  manager.addPass(
      coll::createConvertCollToNCCLDevice({.ranksPerBox = ranksPerBox,
                                           .blockSize = options.blockSize,
                                           .element = options.element,
                                           .reduction = options.reduction}));
  addGPUToLLVM(manager, chip);
}

LogicalResult sccl::runPasses(ModuleOp module,
                              function_ref<void(OpPassManager &)> add) {
  PassManager manager(module.getContext());
  // Fails in programs that have not registered them, too.
  (void)applyPassManagerCLOptions(manager);
  applyDefaultTimingPassManagerCLOptions(manager);
  add(manager);
  return manager.run(module);
}

namespace {
/// The options of a pipeline: all of lowering but those of the tool, and a
/// chip.
template <typename Self>
struct LoweringPipelineOptions : PassPipelineOptions<Self> {
  LoweringPipelineOptions() {
    for (const LoweringOptionRow &row : loweringOptionRows())
      if (row.group != OptionGroup::Code)
        std::visit([&](auto member) { declare(row, member); }, row.member);
  }

  LoweringOptions lowering() const {
    LoweringOptions options;
    for (const auto &read : readers)
      read(options);
    return options;
  }

  /// The chip that the pipeline is for.
  Result<Chip> chipOr(StringRef fallback) const {
    return findChip(chip.empty() ? fallback : StringRef(chip.getValue()));
  }

private:
  template <typename T>
  void declare(const LoweringOptionRow &row, T LoweringOptions::*member) {
    auto option = std::make_shared<detail::PassOptions::Option<T>>(
        *this, row.word, llvm::cl::desc(row.description),
        llvm::cl::init(LoweringOptions().*member));
    readers.push_back([option, member](LoweringOptions &options) {
      options.*member = option->getValue();
    });
  }

  detail::PassOptions::Option<std::string> chip{
      *this, "chip", llvm::cl::desc("Chip to compile for")};
  std::vector<std::function<void(LoweringOptions &)>> readers;
};

struct PipelineOptions : LoweringPipelineOptions<PipelineOptions> {};

struct NcclPipelineOptions : LoweringPipelineOptions<NcclPipelineOptions> {
  Option<unsigned> ranksPerBox{
      *this, "ranks-per-box",
      llvm::cl::desc("Ranks of a box, in a row; 0 means those of the machine")};
};
} // namespace

/// Registers a pipeline that appends what `add` does, which returns what is
/// wrong, if anything.
template <typename Options, typename Add>
static void registerWith(StringRef name, StringRef description, Add add) {
  registerPassPipeline(
      name, description,
      [add](OpPassManager &manager, StringRef text,
            function_ref<LogicalResult(const Twine &)> emitError) {
        auto options = Options::createFromString(text);
        if (!options)
          return failure();
        std::optional<std::string> mistake = add(manager, *options);
        return mistake ? emitError(*mistake) : success();
      },
      [](function_ref<void(const detail::PassOptions &)> handle) {
        handle(Options());
      });
}

/// Registers a pipeline that lowers schedules and goes on with `convert`.
template <typename Convert>
static void registerPipeline(StringRef name, StringRef description,
                             Convert convert) {
  registerWith<PipelineOptions>(
      name, description,
      [convert](OpPassManager &manager, const PipelineOptions &options) {
        addLowering(manager, options.lowering());
        return std::optional<std::string>(convert(manager, options));
      });
}

/// Registers a pipeline for GPUs, which takes a chip.
static void registerGPUPipeline(StringRef name, StringRef description,
                                StringRef fallback) {
  registerPipeline(
      name, description,
      [fallback](OpPassManager &manager,
                 const PipelineOptions &options) -> std::optional<std::string> {
        Result<Chip> chip = options.chipOr(fallback);
        if (!chip)
          return chip.error();
        addGPUConversion(manager, options.lowering(), *chip);
        return std::nullopt;
      });
}

void sccl::registerPipelines() {
  using Nothing = std::optional<std::string>;
  registerPipeline("sccl-lower", "Schedules to synchronized, checked programs",
                   [](auto &...) { return Nothing(); });
  registerGPUPipeline("sccl-to-nvvm",
                      "Schedules to kernels in the NVVM dialect", "sm_90");
  registerGPUPipeline("sccl-to-rocdl",
                      "Schedules to kernels in the ROCDL dialect", "gfx942");
  registerPipeline("sccl-to-host", "Schedules to functions for this machine",
                   [](OpPassManager &manager, const PipelineOptions &options) {
                     addHostConversion(manager, options.lowering());
                     return Nothing();
                   });
  registerPipeline("sccl-to-mpi", "Schedules to messages of MPI",
                   [](OpPassManager &manager, const PipelineOptions &options) {
                     addMessageConversion(manager, options.lowering());
                     return Nothing();
                   });
  registerWith<NcclPipelineOptions>(
      "sccl-to-nccl-device",
      "Schedules to kernels that call NCCL's device functions, in the NVVM "
      "dialect",
      [](OpPassManager &manager, const NcclPipelineOptions &options) {
        Result<Chip> chip = options.chipOr("sm_90");
        if (!chip)
          return Nothing(chip.error());
        if (Nothing mistake = findNcclMistake(options.lowering(), *chip))
          return mistake;
        addNcclLowering(manager, options.lowering());
        addNcclConversion(manager, options.lowering(), *chip,
                          options.ranksPerBox);
        return Nothing();
      });
}
