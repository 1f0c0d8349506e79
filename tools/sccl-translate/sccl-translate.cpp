//===- sccl-translate.cpp - Schedules to and from other formats -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Formats.h"

#include "sccl/Codegen/Target.h"
#include "sccl/Options/Help.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Pipelines/TextLimits.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

static llvm::cl::opt<std::string>
    chip("chip",
         llvm::cl::desc("Chip to compile for (default: that of kernels, "
                        "else sm_90 or gfx942)"));
static llvm::cl::opt<unsigned>
    blocks("blocks-per-link", llvm::cl::desc("Thread blocks for each link"),
           llvm::cl::init(1));

mlir::OwningOpRef<mlir::ModuleOp>
sccl::translate::parseInput(const std::shared_ptr<llvm::SourceMgr> &source,
                            mlir::MLIRContext *context) {
  const llvm::MemoryBuffer *buffer =
      source->getMemoryBuffer(source->getMainFileID());
  if (!sccl::checkText(*buffer))
    return nullptr;
  mlir::DialectRegistry registry;
  sccl::registerPipelineDialects(registry);
  context->appendDialectRegistry(registry);
  // The source line says it better than the generic form of the op.
  context->printOpOnDiagnostic(false);
  return mlir::parseSourceFile<mlir::ModuleOp>(source, context);
}

/// Registers --NAME, which writes `kind` for `chip` or else for `fallback`.
static void registerOutput(llvm::StringRef name, llvm::StringRef description,
                           sccl::OutputKind kind, llvm::StringRef fallback) {
  mlir::TranslateRegistration(
      name, description,
      [kind, fallback](const std::shared_ptr<llvm::SourceMgr> &source,
                       llvm::raw_ostream &stream, mlir::MLIRContext *context) {
        mlir::OwningOpRef<mlir::ModuleOp> module =
            sccl::translate::parseInput(source, context);
        if (!module)
          return mlir::failure();
        std::optional<std::string> loweredFor = sccl::chipOfKernels(*module);
        if (loweredFor && blocks.getNumOccurrences())
          return llvm::LogicalResult(module->emitError(
              "--blocks-per-link is for schedules, and this is lowered"));
        sccl::Result<sccl::Chip> target =
            sccl::findChip(chip.empty() ? loweredFor.value_or(fallback.str())
                                        : chip.getValue());
        if (!target)
          return llvm::LogicalResult(module->emitError(target.error()));
        sccl::LoweringOptions options;
        options.blocksPerLink = blocks;
        mlir::FailureOr<std::string> bytes =
            sccl::compileFor(*module, *target, kind, options);
        if (mlir::succeeded(bytes))
          stream << *bytes;
        return llvm::LogicalResult(bytes);
      });
}

int main(int argc, char **argv) {
  sccl::registerPipelinePasses();
  using enum sccl::OutputKind;
  registerOutput("coll-to-ptx", "Schedule or kernels to PTX", PTX, "sm_90");
  registerOutput("coll-to-cubin", "Schedule or kernels to cubin", Cubin,
                 "sm_90");
  registerOutput("coll-to-fatbin", "Schedule or kernels to fatbin", Fatbin,
                 "sm_90");
  registerOutput("coll-to-gcn", "Schedule or kernels to GCN assembly", GCN,
                 "gfx942");
  registerOutput("coll-to-hsaco", "Schedule or kernels to HSACO", HSACO,
                 "gfx942");
  sccl::translate::registerFormats();
  sccl::hideForeignOptions({"chip", "blocks-per-link", "root", "ranks-per-box",
                            "use-ll", "rank", "bytes"});
  return mlir::failed(mlir::mlirTranslateMain(argc, argv, "sccl translator\n"));
}
