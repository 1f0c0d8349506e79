//===- Lowering.td - The pipelines that lower --------------*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "sccl/Options/LoweringOptions.td"

/// No pass: the pipelines, for the documentation and for LoweringOptions.
def Lowering : Pass<"sccl-lower", "::mlir::ModuleOp"> {
  let summary = "Schedules to synchronized, checked programs (a pipeline)";
  let description = [{
    Runs coll-check-schedule, coll-choose-transport, coll-lower-schedule,
    coll-fuse-reductions, then coll-insert-flag-sync and
    coll-remove-redundant-sync or, with `steps`, coll-insert-step-barriers, and
    at last coll-check-program.

    No pipeline takes `audit`, which is for those who make assembly. The pipelines
    sccl-to-nvvm, sccl-to-rocdl and sccl-to-host take the same options and go on to the NVVM, ROCDL or LLVM dialect; the first two also take
    `chip`.

    Example: test/Pipelines/sccl-lower.mlir.
  }];
  let options = Lowering_all;
}
