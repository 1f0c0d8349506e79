// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu | FileCheck %s --check-prefix=CHECK --implicit-check-not="llvm.call @coll_signal" --implicit-check-not="llvm.call @coll_wait" --implicit-check-not="llvm.call @coll_begin" --implicit-check-not="llvm.call @coll_end"
// RUN: sccl-opt %s -convert-coll-to-kernel -collk-tabulate=code-shape=table -convert-kernel-to-gpu | FileCheck %s --check-prefix=TABLE --implicit-check-not="llvm.call @coll_{{signal|begin|end}}"
// RUN: sccl-opt %s -convert-coll-to-kernel=host -convert-kernel-to-host | FileCheck %s --check-prefix=HOST --implicit-check-not="llvm.call @coll_{{signal|wait|begin|end}}"
// RUN: sccl-opt %s -convert-coll-to-kernel=host -collk-tabulate=code-shape=table -convert-kernel-to-host | FileCheck %s --check-prefix=HOST-TABLE

// A program with barriers becomes a kernel for each rank and step. Nobody counts
// launches, and what copy engines do is left to the host.
coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 2 unlimited
}

// CHECK-LABEL: gpu.func @bc_rank0_step0(
// CHECK-SAME:    known_grid_size = array<i32: 2, 1, 1>
// CHECK:         case 0 {
// CHECK-NEXT:      arith.constant
// CHECK:           llvm.call @coll_transfer(
// CHECK:           scf.yield
// CHECK:         case 1 {
// CHECK-NOT:       llvm.call
// CHECK:           scf.yield
// CHECK-LABEL: gpu.func @bc_rank0_step1(
// CHECK-NOT:     llvm.call
// CHECK-LABEL: gpu.func @bc_rank1_step0(
// CHECK-NOT:     llvm.call
// CHECK-LABEL: gpu.func @bc_rank1_step1(
// CHECK:         llvm.call @coll_transfer(
// CHECK-LABEL: gpu.func @bc_rank2_step0(
// CHECK-LABEL: gpu.func @bc_rank2_step1(
// CHECK-NOT:     step2

// HOST-LABEL: llvm.func @bc_rank0_step0(
// HOST:         llvm.call @coll_transfer(
// HOST-NOT:     llvm.call
// HOST:         llvm.return
// HOST-LABEL: llvm.func @bc_rank0_step1(
// HOST-NOT:     llvm.call
// HOST-LABEL: llvm.func @bc_rank1_step0(
// HOST-NOT:     llvm.call
// HOST-LABEL: llvm.func @bc_rank1_step1(
// HOST:         llvm.call @coll_transfer(
// HOST-NOT:     llvm.call
// HOST-LABEL: llvm.func @bc_rank2_step0(
// HOST-LABEL: llvm.func @bc_rank2_step1(
// HOST-NOT:     step2

// With tables, a function for each step that serves all ranks.
// TABLE-LABEL: gpu.func @sccl_table_step0(
// TABLE:         llvm.call @coll_transfer(
// TABLE:         llvm.call @coll_wait(
// TABLE-LABEL: gpu.func @sccl_table_step1(
// TABLE:         llvm.call @coll_transfer(
// TABLE-NOT:     step2
// HOST-TABLE-LABEL: llvm.func @sccl_table_step0(
// HOST-TABLE:         llvm.call @coll_transfer(
// HOST-TABLE-LABEL: llvm.func @sccl_table_step1(
// HOST-TABLE:         llvm.call @coll_transfer(
coll.program @bc of broadcast on @line3 chunks = 1 root = 0 blocks = 1 {
  coll.rank 0 scratch = 0 {
    coll.channel to 0 {
      coll.barrier
      coll.copy chunk 0 from input[0] to output[0] step = 0
      coll.barrier
      coll.barrier
    }
    coll.channel to 1 {
      coll.barrier
      coll.put dma chunk 0 from input[0] to output[0] step = 0
      coll.barrier
      coll.barrier
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 2 {
      coll.barrier
      coll.barrier
      coll.put chunk 0 from output[0] to output[0] step = 1
      coll.barrier
    }
  }
  coll.rank 2 scratch = 0 {
  }
}
