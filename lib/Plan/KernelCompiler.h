//===- KernelCompiler.h - Machine code for programs -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_PLAN_KERNELCOMPILER_H
#define SCCL_LIB_PLAN_KERNELCOMPILER_H

#include "sccl/Codegen/Target.h"
#include "sccl/Conversion/Kernels.h"
#include "sccl/Plan/Plan.h"
#include "sccl/Plan/PlanBuilder.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/Support/ThreadPool.h"

#include <future>
#include <map>
#include <memory>

namespace sccl {

/// A synchronized program on the way to machine code. It is lowered as far as
/// targets, element types and reductions have in common, once for thread blocks
/// and once for a host.
class LoweredProgram {
public:
  /// `program` is in a module of its own.
  LoweredProgram(mlir::OwningOpRef<mlir::ModuleOp> program,
                 const LoweringOptions &options)
      : program(std::move(program)), options(options) {}

  mlir::ModuleOp module() const { return *program; }
  /// The kernels, whose module is to be cloned, and tables. Emits an error and
  /// fails if the program cannot be lowered.
  mlir::FailureOr<Kernels *> kernels(bool host);
  /// Fails if the blocks of a rank may not all run at once on `chip` (D3).
  llvm::LogicalResult checkResidency(const Chip &chip) const;
  /// The kernels for a host or for thread blocks, whichever there are.
  mlir::FailureOr<Kernels *> anyKernels();

private:
  mlir::OwningOpRef<mlir::ModuleOp> program;
  LoweringOptions options;
  std::optional<Kernels> forBlocks, forHost;
};

/// Compiles kernels, the same ones once: functions that read tables are the
/// same in most programs.
class KernelCompiler {
public:
  explicit KernelCompiler(const PlanRequest &request);

  /// The code for `kernel`, whose format it sets, and all reductions of `set`,
  /// or what stands for it until await(), if it is compiled apart
  /// (PlanRequest::threads). Emits an error and fails if there can be none.
  mlir::FailureOr<std::string> compile(LoweredProgram &program,
                                       const LoweringOptions &options,
                                       const ReductionSet &set,
                                       plan::KernelInfo &kernel);

  /// The code that `name` stands for, once. Fails if there can be none.
  mlir::FailureOr<std::string> await(const std::string &name);

private:
  mlir::FailureOr<Kernels *> kernelsFor(LoweredProgram &program,
                                        const plan::KernelInfo &kernel) const;
  mlir::FailureOr<std::string> compileNew(mlir::ModuleOp kernels,
                                          const LoweringOptions &options,
                                          const ReductionSet &set,
                                          const plan::KernelInfo &kernel) const;

  bool assemble, asText;
  Instrument instrument;
  KnownCode own, &known;
  using Code = mlir::FailureOr<std::string>;
  std::map<std::string, std::shared_future<Code>> apart;
  /// Ends before what it works on.
  std::unique_ptr<llvm::DefaultThreadPool> threads;
};

} // namespace sccl

#endif // SCCL_LIB_PLAN_KERNELCOMPILER_H
