//===- sccl.cpp - The driver for people -----------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Driver.h"
#include "Manual.h"
#include "Overview.h"

#include "sccl/Measure/Ranks.h"
#include "sccl/Optimize/Constant.h"
#include "sccl/Options/Help.h"
#include "sccl/Options/Log.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Solver/Makers.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/InitLLVM.h"

using namespace sccl::driver;

/// Lets every subcommand take MLIR's options for looking at passes.
static void registerPassOptions() {
  mlir::registerAsmPrinterCLOptions();
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
  for (auto &&entry : llvm::cl::getRegisteredOptions())
    if (entry.first.starts_with("mlir-"))
      for (llvm::cl::SubCommand *command : llvm::cl::getRegisteredSubcommands())
        if (!command->getName().empty())
          llvm::cl::getRegisteredOptions(*command)[entry.first] = entry.second;
}

int main(int argc, char **argv) {
  rememberArguments(argc, argv);
  llvm::InitLLVM init(argc, argv);
  llvm::setBugReportMsg("");
  sccl::registerPipelinePasses();
  registerPassOptions();
  sccl::registerLogOption();
  sccl::hideForeignOptions({"manual", "completion"});
  llvm::cl::SetVersionPrinter(printVersion);
  if (asksForOverview(argc, argv)) {
    printOverview(llvm::outs());
    return sccl::afterFlush(Done);
  }
  if (!parseArguments(argc, argv))
    return BadInput;
  if (std::string_view name = sccl::unknownMaker(); !name.empty())
    return fail("SCCL_WITHOUT_MAKER: there is no maker '" + std::string(name) +
                "', docs/Makers.md lists them");
  if (std::string error = sccl::badConstant(); !error.empty())
    return fail("SCCL_CONSTANT: " + error);
  if (std::optional<int> code = writeManual())
    return sccl::afterFlush(*code);
  using Subcommand = std::pair<bool (*)(), int (*)()>;
  for (auto [chosen, run] :
       {Subcommand{machineChosen, machineMain},
        Subcommand{planChosen, planMain}, Subcommand{paretoChosen, paretoMain},
        Subcommand{synthChosen, synthMain},
        Subcommand{explainChosen, explainMain},
        Subcommand{simulateChosen, simulateMain},
        Subcommand{checkChosen, checkMain},
        Subcommand{compileChosen, compileMain}, Subcommand{runChosen, runMain},
        Subcommand{benchChosen, benchMain},
        Subcommand{convertChosen, convertMain},
        Subcommand{demoChosen, demoMain}})
    if (chosen())
      return sccl::afterFlush(run());
  return fail("no subcommand given; try sccl --help");
}
