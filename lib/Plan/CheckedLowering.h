//===- CheckedLowering.h - Lowering with its checks beside ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_PLAN_CHECKEDLOWERING_H
#define SCCL_LIB_PLAN_CHECKEDLOWERING_H

#include "KernelCompiler.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Model/Threads.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace sccl {

/// The check of a schedule. Where the context has threads it runs beside what
/// is done until somebody asks for its end.
class ScheduleCheck {
public:
  /// Begins to check the schedule in `module`, if it has one. The two must stay
  /// as they are until the end.
  explicit ScheduleCheck(mlir::ModuleOp module);
  /// Ends the check. True if nothing is wrong.
  bool holds() { return !isRight || isRight->get(); }
  /// Ends the check. Emits an error and fails if the schedule is wrong.
  llvm::LogicalResult finish();

private:
  mlir::ModuleOp module;
  std::optional<Beside<bool>> isRight; ///< none without a schedule
};

/// What the check of a program finds.
struct ProgramVerdict {
  bool isRight = false;
  bool inPlace = false; ///< see coll::allowsInPlace
};

/// The schedule or program in `module`, which stays, as a synchronized program.
/// Its own check is still to come; that of the schedule is `check`. Emits an
/// error and fails if the schedule is wrong or cannot be lowered.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
lowerChecked(mlir::ModuleOp module, const LoweringOptions &options,
             ScheduleCheck &check);

/// In which orders ranks reduce, as "combines chunk 0 in different orders:
/// ...", if the schedule in `module` is lowered with `options`; empty if all
/// reduce in the same, or if something else is wrong with the schedule or the
/// program. Emits nothing.
std::string findOrders(mlir::ModuleOp module, const LoweringOptions &options,
                       ScheduleCheck &check, const Collective &collective);

/// Makes the kernels of `program`, for a host or for thread blocks, whichever
/// there are, and checks it meanwhile. What somebody else has written,
/// `isGiven`, is checked first. Emits an error and fails if the program is
/// wrong or cannot be lowered.
mlir::FailureOr<std::pair<Kernels *, ProgramVerdict>>
makeChecked(LoweredProgram &program, const Collective &collective,
            const SumContract &contract, bool isGiven);

} // namespace sccl

#endif // SCCL_LIB_PLAN_CHECKEDLOWERING_H
