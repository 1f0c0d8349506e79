// RUN: sccl-opt %s --sccl-lower='transport=push' --convert-coll-to-kernel \
// RUN:   --convert-kernel-to-host | FileCheck %s
// RUN: not sccl-opt %s --sccl-lower='transport=push blocks-per-link=2' \
// RUN:   --convert-coll-to-kernel --convert-kernel-to-host 2>&1 \
// RUN:   | FileCheck %s --check-prefix=BLOCKS

// Kernels for thread blocks become a function for each channel, with a thread of
// the host for a block's threads.

// CHECK: llvm.func @ag_rank0_channel0(
// CHECK: llvm.call @coll_begin(
// CHECK: llvm.call @coll_end(
// CHECK: llvm.func @ag_rank0_channel1(
// CHECK: llvm.func @ag_rank1_channel0(
// CHECK: llvm.func @ag_rank1_channel1(
// CHECK-NOT: llvm.func @ag_rank

// BLOCKS: error: 'collk.program' op is for the threads of thread blocks

coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
  coll.link 1 -> 0 unlimited
}
coll.schedule @ag of all_gather on @pair chunks = 1 {
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1
    coll.send 1 over 1 -> 0
  }
}
