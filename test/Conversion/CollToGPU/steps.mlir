// RUN: sccl-opt %s -convert-coll-to-gpu | FileCheck %s --check-prefixes=CHECK,CALLS --implicit-check-not="llvm.call @coll_signal" --implicit-check-not="llvm.call @coll_wait" --implicit-check-not="llvm.call @coll_begin" --implicit-check-not="llvm.call @coll_end"
// RUN: sccl-opt %s -convert-coll-to-gpu=code-shape=table | FileCheck %s --check-prefixes=CHECK,TABLE
// RUN: sccl-opt %s -convert-coll-to-host | FileCheck %s --check-prefix=HOST --implicit-check-not="llvm.call @coll_{{signal|wait|begin|end}}"
// RUN: sccl-opt %s -convert-coll-to-host=code-shape=table | FileCheck %s --check-prefix=HOST-TABLE

// A program with barriers becomes a kernel for each rank and step. Nobody counts
// launches, and what copy engines do is left to the host.
coll.topology @line3 ranks = 3 {
  coll.link 0 -> 1
  coll.link 1 -> 2
}

// CHECK-LABEL: gpu.func @bc_rank0_step0(
// CHECK-SAME:    known_grid_size = array<i32: 2, 1, 1>
// CHECK:         case 0 {
// CALLS-NEXT:      arith.constant
// CALLS:           llvm.call @coll_transfer(
// TABLE:           arith.constant 1 : i32
// TABLE:           llvm.call @coll_execute(
// CHECK:           scf.yield
// CHECK:         case 1 {
// CALLS-NOT:       llvm.call
// CHECK:           scf.yield
// CHECK-LABEL: gpu.func @bc_rank0_step1(
// CALLS-NOT:     llvm.call
// CHECK-LABEL: gpu.func @bc_rank1_step0(
// CALLS-NOT:     llvm.call
// CHECK-LABEL: gpu.func @bc_rank1_step1(
// CALLS:         llvm.call @coll_transfer(
// TABLE:         llvm.call @coll_execute(
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

// HOST-TABLE-LABEL: llvm.func @bc_rank0_step0(
// HOST-TABLE:         llvm.call @coll_execute(
// HOST-TABLE-LABEL: llvm.func @bc_rank2_step1(
// HOST-TABLE:         llvm.call @coll_execute(
// HOST-TABLE:       llvm.mlir.global internal @bc_flags(dense<0>
// HOST-TABLE:       llvm.mlir.global internal @bc_code(dense<[0, -2, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 9, 0, 0, 0, -2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]> : tensor<32xi32>)
// HOST-TABLE-LABEL: llvm.func internal @coll_execute(
// HOST-TABLE:         llvm.freeze
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
