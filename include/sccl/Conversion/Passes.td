//===- Passes.td - Conversions out of the coll dialect -----*- tablegen -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_CONVERSION_PASSES
#define SCCL_CONVERSION_PASSES

include "sccl/Options/LoweringOptions.td"

def Option_elements
    : ListOption<"elements", "elements", "::sccl::Element",
                 "In place of element: several, each with each reduction. A "
                 "launch says which, see KernelABI.h">;
def Option_reductions
    : ListOption<"reductions", "reductions", "::sccl::Reduction",
                 "In place of reduction: several, each on each element type">;

def CheckResidency : Pass<"coll-check-residency", "::mlir::ModuleOp"> {
  let summary = "Check that all blocks of a rank run at once";
  let description = [{
    Fails if a kernel that waits for others has more blocks than the GPU holds at
    once: those that run would wait for those that do not (check D3). Kernels of a
    step never wait. Changes nothing.

    How many that is `resident-blocks` says, or else what the multiprocessors of a
    product with the chip hold: each 512 threads, or one block that is larger,
    since kernels are compiled for so few registers (`Chip.h`). There are smaller
    products with some chips, so libsccl asks the driver once more before it
    launches.

    Example: test/Conversion/KernelToGPU/check-residency.mlir.
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_90\"", "Chip to check for">,
    Lowering_residentBlocks, Lowering_blockSize, Lowering_virtualRanks
  ];
}

def ConvertCollToKernel : Pass<"convert-coll-to-kernel", "::mlir::ModuleOp"> {
  let summary = "Convert programs to what blocks or threads execute";
  let description = [{
    Turns each `coll.program @p` into a `collk.program @p` with a kernel
    `@p_rankN` for each rank; for a program with barriers, a kernel
    `@p_rankN_stepK` for each rank and step. What a copy engine does is not in
    it. Signals that follow each other become one op, and so do waits. The
    threads of a block join where one of them may access what another has
    written.

    With `host` one thread executes a rank: its channels become one, in an order
    in which the program can execute. With `traced` a `collk.mark` before each op
    says which channel it is of; signals and waits are then single ones. Tables
    have no marks.

    Expects programs with signals and waits, for a host with one block per
    channel, and fails on schedules. After this pass no op of the coll dialect
    remains.

    Example: test/Conversion/CollToKernel/tabulate.mlir.
  }];
  let options = [
    Option<"host", "host", "bool", "false", "One thread executes a rank">,
    Option<"traced", "traced", "bool", "false", "Mark what is executed">,
    Option<"unweighted", "unweighted", "bool", "false",
           "Take terms with any contributions: no average is formed">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::sccl::collk::CollKernelDialect"
  ];
}

def ConvertCollToMPI : Pass<"convert-coll-to-mpi", "::mlir::ModuleOp"> {
  let summary = "Convert programs to messages of MPI";
  let description = [{
    Turns each `coll.program @p` into a function `@p_rankN` for each rank, in
    which transfers between ranks are `mpi.isend` and `mpi.irecv`: receives that
    wait for nothing come first, and each request is waited for where what it
    brings, or the memory that it reads, is needed. Reductions are loops. Signals
    and waits have no use any more.

    The arguments are the input, the output and the scratch memory of the rank,
    and the number of elements of a chunk; all chunks have as many. Ranks are those
    of `MPI_COMM_WORLD`.

    This shows what ranks say to each other, and is for passes of MLIR; LLVM 22
    does not lower `mpi.isend`. Plans for the target `mpi` have the same
    messages as tables that libsccl executes, see docs/Rationale/Messages.md.

    Expects programs with signals and waits, or barriers, and fails on schedules.
    After this pass no op of the coll dialect remains.

    Example: test/Conversion/CollToMPI/convert-coll-to-mpi.mlir.
  }];
  let options = [Lowering_element, Lowering_reduction];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::mpi::MPIDialect", "::mlir::scf::SCFDialect"
  ];
}

def ConvertCollToNCCLDevice
    : Pass<"convert-coll-to-nccl-device", "::mlir::ModuleOp"> {
  let summary = "Convert programs to kernels that call NCCL's device functions";
  let description = [{
    Turns each `coll.program @p` into a `gpu.module @p` with a kernel `@p_rankN`
    for each rank, as `convert-kernel-to-gpu` does, for ranks in several boxes.
    Within a box nothing changes: peers' memory is where `ncclGetPeerPointer`
    says, which a kernel of its own enters into the table of peers. To other boxes
    a copy becomes `ncclGinPut`, a signal `ncclGinSignal`, and a wait polls
    `ncclGinReadSignal`. `sccl/ABI/NcclDevice.h` documents the arguments.

    A box has `ranks-per-box` ranks in a row; without the option, those of the
    machine in the module, and without a machine all ranks are in one box.

    Each block has a context of GIN of its own. A signal of GIN comes after the puts
    of its context to the same peer and says nothing about others, so the pass fails
    on programs in which a rank learns from a third one that a chunk has come from
    another box: it takes programs without `coll-remove-redundant-sync`. It fails as
    well where a rank reads from another box, reduces into it or sends LL words
    there, and on programs with barriers.

    Expects programs with signals and waits, and fails on schedules. After this
    pass no op of the coll dialect remains. No GPU has run this code:
    docs/NcclDevice.md.

    Example: test/Conversion/CollToNCCLDevice/convert-coll-to-nccl-device.mlir.
  }];
  let options = [
    Option<"ranksPerBox", "ranks-per-box", "unsigned", "0",
           "Ranks of a box, in a row; 0 means those of the machine">,
    Lowering_blockSize, Lowering_element, Lowering_reduction
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
    "::sccl::collk::CollKernelDialect"
  ];
}

def TabulateKernels : Pass<"collk-tabulate", "::mlir::ModuleOp"> {
  let summary = "Turn kernels of ranks into tables and one kernel for all";
  let description = [{
    Kernels of single ranks grow with the schedule and the number of ranks. This
    pass makes them data: a `collk.table` for each, and one kernel `@sccl_table`
    that loops over the rows of its rank's table and performs the same ops with
    operands that it loads. Its code depends only on which kinds of rows there
    are: copies and flags always, reductions and LL words where the module has
    them. A program with steps gets `@sccl_table_stepK` for each of them, which
    count no launches and have no flags.

    With `code-shape=auto` it does so for more than 8 ranks, and where a kernel would
    have more than 512 rows.

    Example: test/Conversion/CollToKernel/tabulate.mlir.
  }];
  let options = [
    Lowering_codeShape
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"
  ];
}

def ConvertKernelToGPU : Pass<"convert-kernel-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Convert kernels to the GPU dialect";
  let description = [{
    Turns each `collk.program @p` into a `gpu.module @p` with a function for each
    kernel. In those of single ranks block b of the grid serves channel
    b / blocks. Each copy, reduction, signal and wait becomes a call of a helper
    function that is not inlined. `KernelABI.h` documents the arguments.

    Signals are: block barrier, then a thread for each of them stores its flag
    with release at system scope. For `target=rocdl` every thread fences and waits
    for its stores before the barrier, because on gfx90a and gfx942 LLVM 22 joins
    a block without doing so. Waits are: a thread for each polls with acquire at
    system scope, then block barrier. Flags never use read-modify-write atomics,
    which LLVM 22 lowers without order or scope on NVPTX.

    With `virtual-ranks` there is one more kernel, which runs all ranks in the
    blocks of a single grid, for ranks that share a GPU: `@p_virtual`, or for
    tables `@sccl_table_virtual`. Tables are dropped, or with `embed-tables`
    become data with the symbols `@p_table_rankN`. Kernels of single ranks that
    have marks read tables, too: where to write the times (`TraceTable.h`).

    For `reduction=avg` a reduction weighs its operands as its `average` says.
    docs/Rationale/ElementTypes.md has the rules for every type. With several
    `elements` or `reductions` the code has a loop for each pair, and functions
    take from their arguments which to use: what plans for many types hold.

    Transfers through a switch become `multimem` of PTX, between two
    `fence.proxy.alias`. Fails on them for a `chip` without the instructions, and
    on a reduction that no switch computes for an element type (`SwitchAccess.h`).

    Example: test/Conversion/KernelToGPU/convert-kernel-to-gpu.mlir.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"nvvm\"",
           "Whose memory model to serve: nvvm or rocdl">,
    Option<"chip", "chip", "std::string", "\"sm_90\"",
           "Chip that transfers through a switch are for, if NVIDIA's">,
    Lowering_blockSize, Lowering_element, Lowering_reduction,
    Option_elements, Option_reductions, Lowering_virtualRanks,
    Option<"embedTables", "embed-tables", "bool", "false",
           "Add the tables of all ranks, as data">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::ROCDL::ROCDLDialect",
    "::mlir::scf::SCFDialect", "::sccl::collk::CollKernelDialect"
  ];
}

def ConvertKernelToHost : Pass<"convert-kernel-to-host", "::mlir::ModuleOp"> {
  let summary = "Convert kernels to functions for the CPU";
  let description = [{
    Turns each kernel into a function of the same name, to be run by one thread
    for each rank. Flags are words in shared memory, stored with release and
    polled with acquire; a waiting thread yields. Where the buffers of all ranks
    together do not fit in the cache, copies bypass it. Tables are dropped.

    Element types and reductions are those of `convert-kernel-to-gpu`. f16 and
    bf16 are converted with integers, so that the code needs no run-time library.

    Expects kernels for a host. Kernels for thread blocks, with one block in a
    channel, become a function for each channel, NAME_channelC: tests execute them
    by a thread each.

    Example: test/Conversion/KernelToHost/convert-kernel-to-host.mlir.
  }];
  let options = [
    Lowering_element, Lowering_reduction, Option_elements, Option_reductions,
    Lowering_cacheBytes
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::scf::SCFDialect", "::sccl::collk::CollKernelDialect"
  ];
}

#endif // SCCL_CONVERSION_PASSES
