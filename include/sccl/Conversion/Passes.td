//===- Passes.td - Conversions out of the coll dialect -----*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_CONVERSION_PASSES
#define SCCL_CONVERSION_PASSES

include "sccl/Options/LoweringOptions.td"

def CheckResidency : Pass<"coll-check-residency", "::mlir::ModuleOp"> {
  let summary = "Check that all blocks of a rank run at once";
  let description = [{
    Fails if a kernel that waits for others has more blocks than the GPU holds at
    once: those that run would wait for those that do not (check D3). Kernels of a
    step never wait. Changes nothing.

    How many that is `resident-blocks` says, or else the number of multiprocessors
    of a product with the chip, each of which holds one block in any case
    (`Chip.h`). There are smaller products with some chips, so libsccl asks
    the driver once more before it launches.

    Example: test/Conversion/CollToGPU/check-residency.mlir.
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_90\"", "Chip to check for">,
    Lowering_residentBlocks, Lowering_virtualRanks
  ];
}

def ConvertCollToGPU : Pass<"convert-coll-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Convert programs to GPU kernels, one per rank";
  let description = [{
    Turns each `coll.program @p` into a `gpu.module @p` with one kernel
    `@p_rankN` per rank. Block b of the grid serves channel b / blocks. Each
    transfer, signal and wait becomes a call of a helper function that is not
    inlined, so that code grows by one call per op. `KernelABI.h` documents the
    arguments.

    Signals that follow each other are: block barrier, then a thread for each of
    them stores its flag with release at system scope. For `target=rocdl` every
    thread fences and waits for its stores before the barrier, because on gfx90a
    and gfx942 LLVM 22 joins a block without doing so. Waits are: a thread for
    each polls with acquire at system scope, then block barrier. Flags never use
    read-modify-write atomics, which LLVM 22 lowers without order or scope on
    NVPTX.

    A program with barriers becomes a kernel for each rank and step,
    `@p_rankN_stepK`. What a copy engine does is not in it.

    With `virtual-ranks` there is one more kernel, `@p_virtual`, which runs all
    ranks in the blocks of a single grid, for ranks that share a GPU.

    For `reduction=avg` a `final` reduction also divides by the number of ranks that
    contribute. docs/Rationale/ElementTypes.md has the rules for every type.

    Expects programs with signals and waits, and fails on schedules. After this
    pass no op of the coll dialect remains.

    Example: test/Conversion/CollToGPU/convert-coll-to-gpu.mlir.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"nvvm\"",
           "Whose memory model to serve: nvvm or rocdl">,
    Lowering_blockSize, Lowering_element, Lowering_reduction,
    Lowering_codeShape, Lowering_virtualRanks
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::ROCDL::ROCDLDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def ConvertCollToHost : Pass<"convert-coll-to-host", "::mlir::ModuleOp"> {
  let summary = "Convert programs to host functions, one per rank";
  let description = [{
    Turns each `coll.program @p` into functions `@p_rankN` for the CPU, each to
    be run by one thread. The channels of a rank are interleaved in an order in
    which the program can execute, so that one thread per rank is enough. Flags
    are words in shared memory, stored with release and polled with acquire; a
    waiting thread yields. Where the buffers of all ranks together do not fit in
    the cache, copies bypass it.

    Element types and reductions are those of `convert-coll-to-gpu`. f16 and bf16
    are converted with integers, so that the code needs no run-time library.

    Expects programs with signals and waits and one block per channel, and fails
    on schedules. After this pass no op of the coll dialect remains.

    Example: test/Conversion/CollToHost/convert-coll-to-host.mlir.
  }];
  let options = [
    Lowering_element, Lowering_reduction, Lowering_codeShape,
    Lowering_cacheBytes
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::scf::SCFDialect"
  ];
}

#endif // SCCL_CONVERSION_PASSES
