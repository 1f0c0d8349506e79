//===- IRFuzz.cpp - IR text ---------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

/// What the verifiers accept can be checked.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A context keeps each attribute that it has seen.
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<sccl::coll::CollDialect>();
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
  // With a zero at its end, as files have in memory: the lexer stops there.
  std::string copy(reinterpret_cast<const char *>(data), size);
  llvm::StringRef text = copy;
  if (text.starts_with("ML\xefR"))
    return 0; // bytecode, which the tools try in a child process
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return 0;
  PassManager check(&context);
  check.addNestedPass<sccl::coll::ScheduleOp>(
      sccl::coll::createCheckSchedule());
  check.addNestedPass<sccl::coll::ProgramOp>(sccl::coll::createCheckProgram());
  (void)check.run(*module);
  return 0;
}
