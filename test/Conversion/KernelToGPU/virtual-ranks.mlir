// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu=virtual-ranks=true -canonicalize | FileCheck %s
// RUN: sccl-opt %s -convert-coll-to-kernel -collk-tabulate=code-shape=table -convert-kernel-to-gpu=virtual-ranks=true -canonicalize | FileCheck %s --check-prefix=TABLE
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu="virtual-ranks=true target=rocdl" -canonicalize | FileCheck %s
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu -o %t.plain.mlir
// RUN: sccl-opt %s -convert-coll-to-kernel -convert-kernel-to-gpu=virtual-ranks=true -o %t.virtual.mlir
// RUN: not diff %t.plain.mlir %t.virtual.mlir > %t.diff
// RUN: FileCheck %s --check-prefix=DIFF --input-file=%t.diff --implicit-check-not="{{^-[^-]}}"
// RUN: not sccl-opt %S/steps.mlir -convert-coll-to-kernel -convert-kernel-to-gpu=virtual-ranks=true 2>&1 | FileCheck %s --check-prefix=STEPS

// Ranks that share a GPU run in one grid: the blocks of rank 0, then those of
// rank 1. Each reads its arguments from its part of the array, for each call anew;
// without control memory, a rank is elsewhere.
// CHECK-LABEL: gpu.func @swap_rank0(
// CHECK-LABEL: gpu.func @swap_rank1(
// CHECK-LABEL: gpu.func @swap_virtual(
// CHECK-SAME:    %[[RANKS:.*]]: !llvm.ptr<1>) kernel
// CHECK:         %[[FIRST:.*]] = llvm.getelementptr %[[RANKS]][80] : {{.*}}, i8
// CHECK-NEXT:    %[[COUNT:.*]] = llvm.load %[[FIRST]]
// CHECK-NEXT:    %[[BLOCKS:.*]] = arith.trunci %[[COUNT]]
// CHECK:         %[[INDEX:.*]] = gpu.block_id x
// CHECK:         %[[NUMBER:.*]] = arith.index_cast %[[INDEX]] : index to i32
// CHECK:         %[[GROUP:.*]] = arith.divui %[[NUMBER]], %[[BLOCKS]]
// CHECK:         %[[CHANNEL:.*]] = arith.index_castui %[[GROUP]]
// CHECK:         scf.index_switch %[[CHANNEL]]
// CHECK:         case 0 {
// CHECK:           %[[PLACE:.*]] = llvm.getelementptr %[[RANKS]][24] : {{.*}}, i8
// CHECK-NEXT:      %[[CONTROL:.*]] = llvm.load %[[PLACE]]
// CHECK-NEXT:      %[[PRESENT:.*]] = llvm.icmp "ne" %[[CONTROL]],
// CHECK-NEXT:      scf.if %[[PRESENT]] {
// CHECK:             llvm.call @coll_begin(%{{.*}}, %{{.*}}, %[[NUMBER]], %{{.*}}, %c2
// CHECK:             llvm.call @coll_signal(
// CHECK:             llvm.call @coll_end(
// CHECK:         case 1 {
// CHECK:           %[[RECORD:.*]] = llvm.getelementptr %[[RANKS]][88] : {{.*}}, i8
// CHECK:           llvm.getelementptr %[[RECORD]][24] : {{.*}}, i8
// CHECK:           scf.if
// CHECK:             llvm.call @coll_begin(
// CHECK:             llvm.getelementptr %[[RECORD]][24] : {{.*}}, i8
// CHECK-NEXT:        %[[AGAIN:.*]] = llvm.load
// CHECK:             llvm.call @coll_wait(%{{.*}}, %{{.*}}, %[[AGAIN]],
// CHECK:         default {
// CHECK-NEXT:    }
// CHECK-NEXT:    gpu.return

// With tables there is one kernel that finds out which rank it is: by the numbers
// of channels that every table lists.
// TABLE-LABEL: gpu.func @sccl_table(
// TABLE-LABEL: gpu.func @sccl_table_virtual(
// TABLE-SAME:    %[[RANKS:.*]]: !llvm.ptr<1>) kernel
// TABLE:         %[[FOUND:.*]]:2 = scf.for
// TABLE:           llvm.load
// TABLE:           arith.cmpi ule
// TABLE:         arith.muli %{{.*}}, %c88_i64
// TABLE:         llvm.icmp "ne"
// TABLE:         scf.if
// TABLE:           scf.while
// TABLE:             llvm.call @coll_signal(
// TABLE-NOT:   @swap_rank

// Nothing else changes.
// DIFF: {{^}}+ gpu.func @swap_virtual(

// STEPS: error: 'collk.program' op has a kernel for each step, which virtual ranks do not need
coll.topology @pair ranks = 2 {
  coll.link 0 -> 1 unlimited
}
coll.program @swap of broadcast on @pair chunks = 1 root = 0 blocks = 2 {
  coll.rank 0 scratch = 0 {
    coll.channel to 1 {
      coll.signal arrival to 1 value = 1
    }
  }
  coll.rank 1 scratch = 0 {
    coll.channel to 0 {
      coll.wait arrival from 0 value = 1
    }
  }
}
