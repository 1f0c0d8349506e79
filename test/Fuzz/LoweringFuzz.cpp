//===- LoweringFuzz.cpp - Schedules and programs, lowered -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"

#include "sccl/Dialect/Coll/CollDialect.h"
#include "sccl/Dialect/CollKernel/CollKernelOps.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace sccl;

/// The bytes, as choices of options: always the same for the same bytes.
class Choices {
public:
  Choices(llvm::StringRef text) {
    for (char letter : text)
      state = (state ^ uint8_t(letter)) * 0x100000001b3;
  }
  unsigned below(unsigned end) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (state >> 33) % end;
  }
  bool flip() { return below(2) == 1; }

private:
  uint64_t state = 0xcbf29ce484222325;
};

static LoweringOptions choose(Choices &choices) {
  LoweringOptions options;
  options.pieces = choices.flip() ? 1 : 1 + choices.below(3);
  options.pieceDistance = 1 + choices.below(4);
  options.pieceRounds = choices.flip();
  options.transport = TransportChoice(choices.below(5));
  options.bytes = uint64_t(1) << choices.below(40);
  options.steps = choices.below(4) == 0;
  options.throughScratch = choices.below(4) == 0;
  options.doubleBuffer = choices.below(3) == 0;
  options.ll = choices.below(3) == 0;
  options.blocksPerLink = 1 + choices.below(3);
  options.codeShape = CodeShapeChoice(choices.below(3));
  return options;
}

/// Ends the process where passes fail without a word.
static bool runPasses(ModuleOp module,
                      llvm::function_ref<void(PassManager &)> add) {
  bool isExplained = false;
  ScopedDiagnosticHandler quiet(module.getContext(), [&](Diagnostic &said) {
    isExplained |= said.getSeverity() == DiagnosticSeverity::Error;
  });
  PassManager manager(module.getContext());
  add(manager);
  bool isDone = succeeded(manager.run(module));
  demand(isDone || isExplained, "a pass failed without an error");
  return isDone;
}

/// What the checks accept is lowered, or refused with the reason: schedules to
/// programs, and those to kernels for blocks or for threads of a host.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context
      .loadDialect<coll::CollDialect, collk::CollKernelDialect,
                   arith::ArithDialect, func::FuncDialect, scf::SCFDialect>();
  // With a zero at its end, as files have in memory: the lexer stops there.
  std::string copy(reinterpret_cast<const char *>(data), size);
  llvm::StringRef text = copy;
  if (text.starts_with("ML\xefR"))
    return 0; // bytecode, which the tools refuse
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
    module = parseSourceString<ModuleOp>(text, &context);
  }
  if (!module)
    return 0;
  Choices choices(text);
  LoweringOptions options = choose(choices);
  bool host = choices.flip();
  bool isLowered = runPasses(*module, [&](PassManager &manager) {
    if (choices.below(4) == 0)
      manager.addPass(coll::createInvert());
    addLowering(manager, options);
  });
  if (isLowered)
    runPasses(*module, [&](PassManager &manager) {
      addKernelConversion(manager, options, host);
    });
  return 0;
}
