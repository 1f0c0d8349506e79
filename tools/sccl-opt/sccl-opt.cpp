//===- sccl-opt.cpp - Run passes on .mlir files ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Options/Help.h"
#include "sccl/Options/Log.h"
#include "sccl/Pipelines/InputFile.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Pipelines/TextLimits.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

/// Makes diagnostics end with the source line, unless more is asked for: the
/// generic form of an op may be thousands of lines.
static void keepDiagnosticsShort() {
  mlir::registerMLIRContextCLOptions();
  llvm::StringRef name = "mlir-print-op-on-diagnostic";
  llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup(name);
  if (!option)
    return;
  option->setNumOccurrencesFlag(llvm::cl::ZeroOrMore);
  option->addOccurrence(/*pos=*/0, name, "false");
}

/// Does as the function of MLIR that takes the names of the files, but checks
/// the input before it is parsed.
static mlir::LogicalResult optimize(llvm::StringRef inputName,
                                    llvm::StringRef outputName,
                                    mlir::DialectRegistry &registry,
                                    const mlir::MlirOptMainConfig &config) {
  auto input = sccl::readInput(inputName);
  if (!input) {
    llvm::errs() << input.error() << '\n';
    return mlir::failure();
  }
  if (!sccl::checkText(**input))
    return mlir::failure();
  std::string message;
  std::unique_ptr<llvm::ToolOutputFile> output =
      mlir::openOutputFile(outputName, &message);
  if (!output) {
    llvm::errs() << message << '\n';
    return mlir::failure();
  }
  if (mlir::failed(
          mlir::MlirOptMain(output->os(), std::move(*input), registry, config)))
    return mlir::failure();
  output->keep();
  return mlir::success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mlir::DialectRegistry registry;
  sccl::registerPipelineDialects(registry);
  sccl::registerPipelinePasses();
  sccl::hideForeignOptions();
  sccl::registerLogOption();
  keepDiagnosticsShort();
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "sccl optimizer\n", registry);
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  // The last version that has attributes by name: ops may get more of them, and
  // older files can still be read.
  if (config.shouldEmitBytecode() && !config.bytecodeVersionToEmit())
    config.setEmitBytecodeVersion(4);
  bool isQuestion = config.shouldShowDialects() || config.shouldListPasses();
  return mlir::asMainReturnCode(
      isQuestion ? mlir::MlirOptMain(argc, argv, input, output, registry)
                 : optimize(input, output, registry, config));
}
