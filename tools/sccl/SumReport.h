//===- SumReport.h - What is said of errors of sums -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_SUMREPORT_H
#define SCCL_TOOLS_SCCL_SUMREPORT_H

#include "sccl/Advice/Advice.h"
#include "sccl/Analysis/SumErrors.h"
#include "sccl/Plan/Plan.h"

#include "llvm/Support/JSON.h"

namespace sccl::driver {

/// What errors of sums hold for, where some programs add up in switches.
inline constexpr const char *whereNoSwitchAdds = "where no switch adds up, ";

/// True if what `options` ask for of `collective` has error bounds: sums and
/// averages of floats.
bool hasErrors(const Collective &collective, const LoweringOptions &options);

/// By number of the size, the largest error of the program that `advice` takes;
/// nothing of programs that have none, were not simulated, or have so many
/// sends that it would take long. `ways` are those that were tried. A program
/// in several pieces adds up as in one.
std::vector<std::optional<coll::SumError>>
errorsOf(mlir::MLIRContext &context, const Topology &topology,
         const Advice &advice, llvm::ArrayRef<LoweringWay> ways);

/// Of the plan at `path`, by types and reductions of floats: the largest error
/// of its programs, in words, without those whose schedules the plan does not
/// hold. Nothing if it cannot be read, which prints an error.
std::optional<std::vector<std::string>>
errorsOfPlan(llvm::StringRef path, const plan::Manifest &manifest);

/// Adds the fields for `error` to `object`.
void addError(const coll::SumError &error, llvm::json::Object &object);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_SUMREPORT_H
