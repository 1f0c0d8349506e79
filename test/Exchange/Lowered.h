//===- Lowered.h - Schedules as programs ------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_EXCHANGE_LOWERED_H
#define SCCL_TEST_EXCHANGE_LOWERED_H

#include "Exchange/UsedLinks.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Pipelines/Ways.h"

#include <gtest/gtest.h>

namespace sccl::exchange::testing {

/// The program of a schedule on the links that it uses.
inline Program lowered(Implementation made, const coll::Way &way = {}) {
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  Topology topology = usedLinks(made.schedule, made.collective.numRanks());
  fitRounds(made.schedule, topology);
  mlir::OwningOpRef<mlir::ModuleOp> module = coll::exportModule(
      context, "schedule", topology, made.collective, made.schedule);
  mlir::FailureOr<Program> program =
      programOf(*module->getOps<coll::ScheduleOp>().begin(), way);
  EXPECT_TRUE(succeeded(program)) << made.collective.name();
  return failed(program) ? Program{} : std::move(*program);
}

} // namespace sccl::exchange::testing

#endif // SCCL_TEST_EXCHANGE_LOWERED_H
