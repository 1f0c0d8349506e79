//===- HeldDiagnostics.h - What may not count -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_PLAN_HELDDIAGNOSTICS_H
#define SCCL_PLAN_HELDDIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Threading.h"

#include <optional>
#include <string>
#include <vector>

namespace sccl {

/// Holds back what this thread says while it lives, until it is clear whether
/// it counts. What threads say that compile beside it is lost; passes of MLIR
/// leave what theirs say to the thread that has run them.
class HeldDiagnostics {
public:
  explicit HeldDiagnostics(mlir::MLIRContext *context)
      : context(context), handler(std::in_place, context,
                                  [this, own = llvm::get_threadid()](
                                      mlir::Diagnostic &diagnostic) {
                                    if (llvm::get_threadid() == own)
                                      held.push_back(std::move(diagnostic));
                                    return mlir::success();
                                  }) {}

  /// What was said first, if anything was.
  std::string first() const { return held.empty() ? "" : held[0].str(); }

  /// Says all of it after all.
  void release() {
    handler.reset();
    for (mlir::Diagnostic &diagnostic : held)
      context->getDiagEngine().emit(std::move(diagnostic));
    held.clear();
  }

private:
  mlir::MLIRContext *context;
  std::vector<mlir::Diagnostic> held;
  std::optional<mlir::ScopedDiagnosticHandler> handler;
};

} // namespace sccl

#endif // SCCL_PLAN_HELDDIAGNOSTICS_H
