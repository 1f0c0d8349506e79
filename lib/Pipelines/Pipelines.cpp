//===- Pipelines.cpp - Named pass pipelines -------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Pipelines/Pipelines.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace sccl;

std::string sccl::loweringPipeline(const LoweringOptions &options) {
  std::string links = llvm::join(options.links, ",");
  std::string sync = "coll-insert-flag-sync,coll-remove-redundant-sync";
  if (options.explain)
    sync += "{explain=true}";
  // LL words are pushed, whatever is estimated.
  bool isPush = options.ll && options.transport == "auto";
  return llvm::formatv(
      "coll-check-schedule,"
      "coll-choose-transport{{transport={0} bytes={1} engines={2} explain={9} "
      "alpha={12:e17} beta={13:e17}{10}{11}},"
      "coll-lower-schedule{{blocks={3} through-scratch={4} alternate={5} "
      "ll={6}},coll-fuse-reductions{{explain={9}},{7},"
      "coll-check-program{{identical={8}}",
      isPush ? "push" : options.transport, options.bytes, options.steps,
      options.blocks, options.throughScratch, options.alternate, options.ll,
      options.steps ? "coll-insert-step-barriers" : sync, options.identical,
      options.explain, links.empty() ? "" : " links=", links, options.alpha,
      options.beta);
}

/// The check that comes before the conversion, unless it is switched off.
static std::string residencyCheck(const LoweringOptions &options,
                                  StringRef chip) {
  if (!options.residency)
    return "";
  return llvm::formatv("coll-check-residency{{chip={0} resident-blocks={1} "
                       "virtual-ranks={2}},",
                       chip, options.residentBlocks, options.virtualRanks);
}

/// `vendor` is "nvvm" or "rocdl".
static std::string gpuPipeline(const LoweringOptions &options, StringRef vendor,
                               StringRef attachOptions,
                               StringRef convertOptions) {
  return llvm::formatv(
      "convert-coll-to-gpu{{target={0} block-size={1} element={2} "
      "reduction={3} shape={4}{7}},{0}-attach-target{{{5}},"
      "gpu.module(canonicalize,cse,convert-scf-to-cf,convert-gpu-to-{0}{6},"
      "canonicalize,reconcile-unrealized-casts)",
      vendor, options.blockSize, options.element, options.reduction,
      options.shape, attachOptions, convertOptions,
      options.virtualRanks ? " virtual-ranks=true" : "");
}

std::string sccl::nvvmConversionPipeline(const LoweringOptions &options,
                                         StringRef chip) {
  // Without features LLVM takes the oldest PTX version that has the chip.
  return residencyCheck(options, chip) +
         gpuPipeline(options, "nvvm", ("chip=" + chip + " O=3").str(), "");
}

std::string sccl::rocdlConversionPipeline(const LoweringOptions &options,
                                          StringRef chip) {
  return residencyCheck(options, chip) +
         gpuPipeline(options, "rocdl", ("chip=" + chip + " O=3 abi=500").str(),
                     ("{chipset=" + chip + " runtime=HIP}").str());
}

std::string sccl::hostConversionPipeline(const LoweringOptions &options) {
  return llvm::formatv(
      "convert-coll-to-host{{element={0} reduction={1} shape={2} "
      "cache-bytes={3}},canonicalize,cse,"
      "convert-scf-to-cf,convert-arith-to-llvm,convert-cf-to-llvm,"
      "reconcile-unrealized-casts",
      options.element, options.reduction, options.shape, options.cacheBytes);
}

std::string sccl::hostPipeline(const LoweringOptions &options) {
  return loweringPipeline(options) + "," + hostConversionPipeline(options);
}

LogicalResult sccl::appendPipeline(OpPassManager &manager, StringRef text) {
  return parsePassPipeline(text, manager);
}

namespace {
/// Command-line options of a pipeline.
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<std::string> chip{*this, "chip",
                           llvm::cl::desc("Chip to compile for")};
  Option<unsigned> blocks{*this, "blocks",
                          llvm::cl::desc("Thread blocks per channel"),
                          llvm::cl::init(LoweringOptions().blocks)};
  Option<unsigned> blockSize{*this, "block-size",
                             llvm::cl::desc("Threads per block"),
                             llvm::cl::init(LoweringOptions().blockSize)};
  Option<std::string> element{*this, "element",
                              llvm::cl::desc("Element type of reductions"),
                              llvm::cl::init(LoweringOptions().element)};
  Option<std::string> reduction{*this, "reduction",
                                llvm::cl::desc("sum, prod, min, max or avg"),
                                llvm::cl::init(LoweringOptions().reduction)};

  Option<std::string> transport{
      *this, "transport", llvm::cl::desc("given, push, pull, dma or auto"),
      llvm::cl::init(LoweringOptions().transport)};
  Option<bool> steps{*this, "steps",
                     llvm::cl::desc("A kernel per step, as with dma"),
                     llvm::cl::init(false)};
  Option<bool> throughScratch{
      *this, "through-scratch",
      llvm::cl::desc("Let peers touch nothing but scratch"),
      llvm::cl::init(false)};
  Option<bool> alternate{
      *this, "alternate",
      llvm::cl::desc("Take turns between two halves of scratch"),
      llvm::cl::init(false)};
  Option<bool> ll{*this, "ll",
                  llvm::cl::desc("Send LL words in place of flags")};
  Option<std::string> shape{*this, "shape",
                            llvm::cl::desc("auto, unrolled or table"),
                            llvm::cl::init(LoweringOptions().shape)};
  Option<bool> virtualRanks{
      *this, "virtual-ranks",
      llvm::cl::desc("Add a kernel that runs all ranks, on GPUs")};
  Option<bool> residency{
      *this, "residency",
      llvm::cl::desc("Check that all blocks of a rank run at once, on GPUs"),
      llvm::cl::init(LoweringOptions().residency)};
  Option<unsigned> residentBlocks{
      *this, "resident-blocks",
      llvm::cl::desc(
          "Blocks that the GPU holds at once; 0 means what a product "
          "with the chip holds"),
      llvm::cl::init(LoweringOptions().residentBlocks)};
  Option<bool> identical{
      *this, "identical",
      llvm::cl::desc("Require bit-identical reductions on all ranks")};

  LoweringOptions lowering() const {
    LoweringOptions options;
    options.blocks = blocks;
    options.blockSize = blockSize;
    options.element = element;
    options.reduction = reduction;
    options.transport = transport;
    options.steps = steps || transport == "dma";
    options.throughScratch = throughScratch;
    options.alternate = alternate;
    options.ll = ll;
    options.shape = shape;
    options.virtualRanks = virtualRanks;
    options.identical = identical;
    options.residency = residency;
    options.residentBlocks = residentBlocks;
    return options;
  }
};
} // namespace

/// Registers one pipeline whose text `build` makes from its options.
template <typename Build>
static void registerPipeline(StringRef name, StringRef description,
                             Build build) {
  PassPipelineRegistration<PipelineOptions>(
      name, description,
      [build](OpPassManager &manager, const PipelineOptions &options) {
        if (failed(appendPipeline(manager, build(options))))
          llvm::report_fatal_error("a pass of an sccl pipeline is missing");
      });
}

/// The chip that a pipeline is for.
static std::string chipOr(const PipelineOptions &options, StringRef fallback) {
  return options.chip.empty() ? fallback.str() : options.chip.getValue();
}

void sccl::registerPipelines() {
  registerPipeline("sccl-lower", "Schedules to synchronized, checked programs",
                   [](const PipelineOptions &options) {
                     return loweringPipeline(options.lowering());
                   });
  registerPipeline("sccl-to-nvvm", "Schedules to kernels in the NVVM dialect",
                   [](const PipelineOptions &options) {
                     return loweringPipeline(options.lowering()) + "," +
                            nvvmConversionPipeline(options.lowering(),
                                                   chipOr(options, "sm_90"));
                   });
  registerPipeline("sccl-to-rocdl", "Schedules to kernels in the ROCDL dialect",
                   [](const PipelineOptions &options) {
                     return loweringPipeline(options.lowering()) + "," +
                            rocdlConversionPipeline(options.lowering(),
                                                    chipOr(options, "gfx942"));
                   });
  registerPipeline("sccl-to-host", "Schedules to functions for this machine",
                   [](const PipelineOptions &options) {
                     return hostPipeline(options.lowering());
                   });
}
