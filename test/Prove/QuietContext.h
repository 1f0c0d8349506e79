//===- QuietContext.h - Cases as IR -----------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_PROVE_QUIETCONTEXT_H
#define SCCL_TEST_PROVE_QUIETCONTEXT_H

#include "RandomCase.h"

#include "sccl/Pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace sccl::test {

/// A context with all dialects, and what was said in it.
class QuietContext {
public:
  QuietContext()
      : context(registry(), mlir::MLIRContext::Threading::DISABLED),
        handler(&context, [this](mlir::Diagnostic &diagnostic) {
          said += (said.empty() ? "" : "; ") + diagnostic.str();
          return mlir::success();
        }) {}

  mlir::MLIRContext context;
  std::string said;

private:
  static const mlir::DialectRegistry &registry() {
    static const mlir::DialectRegistry all = [] {
      registerPipelinePasses();
      mlir::DialectRegistry made;
      registerPipelineDialects(made);
      return made;
    }();
    return all;
  }
  mlir::ScopedDiagnosticHandler handler;
};

/// The schedule of `given` and its topology.
mlir::OwningOpRef<mlir::ModuleOp> moduleOf(mlir::MLIRContext &context,
                                           const RandomCase &given);

/// Compiles and runs the schedule or the program in `module`, with the options
/// of `given`. Returns what is wrong, or nothing. If it does not compile, that
/// is `doesNotCompile`.
inline constexpr const char *doesNotCompile = "does not compile";
std::optional<std::string> runModule(mlir::ModuleOp module,
                                     const RandomCase &given);

} // namespace sccl::test

#endif // SCCL_TEST_PROVE_QUIETCONTEXT_H
