//===- Changes.h - How mutants are made -------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_PROVE_CHANGES_H
#define SCCL_TEST_PROVE_CHANGES_H

#include "RandomCase.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <vector>

namespace sccl::test {

/// A class of mutants of programs.
struct ProgramChange {
  /// Changes an op; returns false if it has nothing of the kind.
  using Change = std::function<bool(mlir::Operation *op, Random &random)>;
  const char *name;
  Change change;
};
/// Of any kind.
const std::vector<ProgramChange> &programChanges();
/// Those that keep all contributions, but not their order.
const std::vector<ProgramChange> &programOrderChanges();
/// Applies `one` to an op of the program in `module`. Returns false if no op
/// has it.
bool changeOne(mlir::ModuleOp module, const ProgramChange &one, Random &random);

/// A class of mutants of schedules.
struct ScheduleChange {
  /// Changes send `index` of step `step`; returns false if it cannot be changed
  /// so.
  using Change = std::function<bool(const RandomCase &given, Schedule &schedule,
                                    size_t step, size_t index, Random &random)>;
  const char *name;
  Change change;
};
const std::vector<ScheduleChange> &scheduleChanges();
const std::vector<ScheduleChange> &scheduleOrderChanges();
/// Applies `one` to the schedule of `mutant`, whose original it has not
/// changed if it returns false.
bool changeOne(RandomCase &mutant, const ScheduleChange &one, Random &random);

} // namespace sccl::test

#endif // SCCL_TEST_PROVE_CHANGES_H
